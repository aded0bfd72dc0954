//! Function pointers and recursion through the interface: a table of functions in a module, the
//! limit of the stack, and the codes of an overflow and of a call of what is no function.

mod common;

use common::{Buffer, Code, NULL, configure, context, download, get, kernel, load, ok, report};
use isobit_simgpu_cuda::context::{cuCtxCreate_v2, cuCtxDestroy_v2, cuCtxSynchronize};
use isobit_simgpu_cuda::launch::cuLaunchKernel;
use isobit_simgpu_cuda::limits::{cuCtxGetLimit, cuCtxSetLimit};
use std::ffi::c_void;
use std::ptr::null_mut;

/// `sum` adds the numbers from its argument down to 0 by calling itself, with 64 bytes of variables
/// in each call; `square` is a function with the same parameters. `apply` calls an entry of a
/// table.
const SOURCE: &str = r#"
.version 7.0
.target sm_75
.address_size 64
.func (.param .b32 r) sum(.param .b32 n);
.func (.param .b32 r) square(.param .b32 n);
.const .u64 table[3] = { sum, square, 0 };
.func (.param .b32 r) sum(.param .b32 n)
{
    .reg .pred p;
    .reg .b32 %r<5>;
    .local .align 4 .b8 own[64];
    .param .b32 less;
    .param .b32 rest;
    ld.param.u32 %r1, [n];
    st.local.u32 [own+60], %r1;
    mov.u32 %r2, 0;
    setp.eq.u32 p, %r1, 0;
    @p bra END;
    sub.u32 %r3, %r1, 1;
    st.param.b32 [less], %r3;
    call (rest), sum, (less);
    ld.param.b32 %r2, [rest];
END:
    ld.local.u32 %r4, [own+60];
    add.u32 %r2, %r2, %r4;
    st.param.b32 [r], %r2;
    ret;
}
.func (.param .b32 r) square(.param .b32 n)
{
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [n];
    mul.lo.u32 %r1, %r1, %r1;
    st.param.b32 [r], %r1;
    ret;
}
.visible .entry apply(.param .u64 out, .param .u64 which, .param .u64 n)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    .param .b32 a;
    .param .b32 b;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [which];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    add.u32 %r1, %r1, %r2;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd1, %rd1, %rd3;
    shl.b64 %rd2, %rd2, 3;
    mov.u64 %rd4, table;
    add.u64 %rd4, %rd4, %rd2;
    ld.const.u64 %rd5, [%rd4];
    st.param.b32 [a], %r1;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (b), %rd5, (a), proto;
    ld.param.b32 %r3, [b];
    st.global.u32 [%rd1], %r3;
    ret;
}
"#;

const STACK: i32 = 0;

#[test]
fn tables_of_functions_and_the_limit_of_the_stack() {
    configure(&[("ISOBIT_SIM_CUDA", "sm_80"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    context(0);
    // SAFETY: the arguments are the kernel's, the other pointers are the helper's and to locals.
    unsafe {
        let launch = |out: u64, which: u64, n: u64| {
            let apply = kernel(load(SOURCE), c"apply");
            let mut arguments = [out, which, n];
            let mut params = arguments.each_mut().map(|value| std::ptr::from_mut(value).cast::<c_void>());
            ok(cuLaunchKernel(apply, 1, 1, 1, 32, 1, 1, 0, NULL, params.as_mut_ptr(), null_mut()));
            cuCtxSynchronize()
        };
        let out = Buffer::of(&[0; 128]);
        let results = || -> Vec<u32> {
            let bytes = download(out.0, 128);
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
        };
        ok(launch(out.0, 1, 5));
        assert_eq!(results(), (5..37).map(|n| n * n).collect::<Vec<u32>>());
        assert_eq!(get(|to| cuCtxGetLimit(to, STACK)), 1024);
        ok(cuCtxSetLimit(STACK, 32 << 10));
        assert_eq!(get(|to| cuCtxGetLimit(to, STACK)), 32 << 10);
        ok(launch(out.0, 0, 200));
        assert_eq!(results(), (200..232).map(|n| n * (n + 1) / 2).collect::<Vec<u32>>());
        assert!(report()["findings"].as_array().unwrap().is_empty());

        // A context that is created later has the default.
        for (which, n, code, why) in [
            (0, 200, Code::HARDWARE_STACK_ERROR, "apply: stack overflow: sum needs"),
            (2, 0, Code::INVALID_PC, "apply: a call through a null pointer"),
        ] {
            let created = get(|to| cuCtxCreate_v2(to, 0, 0));
            assert_eq!(get(|to| cuCtxGetLimit(to, STACK)), 1024);
            let there = std::mem::ManuallyDrop::new(Buffer::of(&[0; 128]));
            assert_eq!(launch(there.0, which, n), code);
            let findings = report()["findings"].as_array().unwrap().clone();
            assert_eq!((findings.len(), findings[0]["kind"].as_str()), (1, Some("fault")), "{findings:#?}");
            let message = findings[0]["message"].as_str().unwrap();
            assert!(message.contains(why) && message.contains("thread [0, 0, 0]"), "{message}");
            ok(cuCtxDestroy_v2(created));
        }
        assert_eq!(cuCtxSetLimit(STACK, 1 << 20), Code::INVALID_VALUE);
    }
}
