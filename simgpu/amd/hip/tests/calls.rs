//! Function pointers and recursion through the interface: a table of functions in a module, and the
//! limit of the stack.

mod common;

use common::kernels::compile;
use common::{Buffer, configure, get, kinds, ok, report};
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::copy::hipMemcpy;
use isobit_simgpu_hip::copy_kinds::DEVICE_TO_HOST;
use isobit_simgpu_hip::launch::hipModuleLaunchKernel;
use isobit_simgpu_hip::limits::{hipDeviceGetLimit, hipDeviceSetLimit};
use isobit_simgpu_hip::module::*;
use isobit_simgpu_hip::reset::hipDeviceReset;
use isobit_simgpu_hip::stream::hipStreamSynchronize;
use std::ffi::c_void;
use std::ptr::null_mut;

const SOURCE: &str = r#"
#define DEVICE __attribute__((device)) __attribute__((noinline))
typedef unsigned u32;
DEVICE u32 sum(u32 n) {
    volatile u32 own[16];
    own[n % 16] = n;
    return n == 0 ? 0 : sum(n - 1) + own[n % 16];
}
DEVICE u32 square(u32 n) { return n * n; }
__attribute__((constant)) u32 (*table[2])(u32) = {sum, square};
extern "C" __attribute__((global)) void apply(u32* out, unsigned long long which, unsigned long long n) {
    u32 i = __builtin_amdgcn_workitem_id_x();
    out[i] = table[which]((u32)n + i);
}
"#;

const STACK: i32 = 0;

#[test]
fn tables_of_functions_and_the_limit_of_the_stack() {
    configure(&[("ISOBIT_SIM_ROCM", "gfx942"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    let code = compile(SOURCE, "gfx942");
    // SAFETY: the image is complete, the arguments match the kernel's, and the helper supplies the
    // other pointers.
    unsafe {
        let module = get(|to| hipModuleLoadData(to, code.as_ptr().cast()));
        let kernel = get(|to| hipModuleGetFunction(to, module, c"apply".as_ptr()));
        let out = Buffer::new(256);
        let launch = |which: u64, n: u64| {
            let mut arguments = [out.0 as u64, which, n];
            let mut params = arguments.each_mut().map(|value| std::ptr::from_mut(value).cast::<c_void>());
            let (params, stream) = (params.as_mut_ptr(), null_mut());
            ok(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, params, null_mut()));
            hipStreamSynchronize(stream)
        };
        let results = || {
            let mut words = [0u32; 64];
            ok(hipMemcpy(words.as_mut_ptr().cast(), out.0, 256, DEVICE_TO_HOST));
            words
        };
        ok(launch(1, 5));
        assert_eq!(results(), std::array::from_fn(|i| (i as u32 + 5).pow(2)));
        assert_eq!(get(|to| hipDeviceGetLimit(to, STACK)), 16 << 10);
        ok(launch(0, 20));
        let sums = |first: u32| std::array::from_fn(|i| (first + i as u32) * (first + i as u32 + 1) / 2);
        assert_eq!(results(), sums(20));
        ok(hipDeviceSetLimit(STACK, 100_000));
        assert_eq!(get(|to| hipDeviceGetLimit(to, STACK)), 100_000);
        ok(launch(0, 500));
        assert_eq!(results(), sums(500));
        assert!(kinds().is_empty());

        ok(hipDeviceSetLimit(STACK, 4096));
        assert_eq!(launch(0, 500), Code::LAUNCH_FAILURE);
        let findings = report()["findings"].as_array().unwrap().clone();
        assert_eq!((findings.len(), findings[0]["kind"].as_str()), (1, Some("fault")), "{findings:#?}");
        let message = findings[0]["message"].as_str().unwrap();
        assert!(message.contains("apply: stack overflow") && message.contains("thread ["), "{message}");

        assert_eq!(hipDeviceSetLimit(STACK, 1 << 20), Code::INVALID_VALUE);
        assert_eq!(hipDeviceSetLimit(2, 1 << 20), Code::UNSUPPORTED_LIMIT);
        assert_eq!(hipDeviceGetLimit(&mut 0, 7), Code::INVALID_VALUE);
        assert_eq!(hipModuleUnload(module), Code::LAUNCH_FAILURE, "the card has failed");
        ok(hipDeviceReset());
    }
}
