//! A launch that fails during execution: the next wait returns the error code, and so does every
//! call of the device until it is reset; a finding names the kernel.

mod common;

use common::kernels::compile;
use common::{Buffer, configure, get, kinds, ok, report};
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::copy::hipMemcpyAsync;
use isobit_simgpu_hip::copy_kinds::DEVICE_TO_DEVICE;
use isobit_simgpu_hip::event::*;
use isobit_simgpu_hip::last_error::hipGetLastError;
use isobit_simgpu_hip::launch::hipModuleLaunchKernel;
use isobit_simgpu_hip::module::*;
use isobit_simgpu_hip::reset::hipDeviceReset;
use isobit_simgpu_hip::set::hipMemsetAsync;
use isobit_simgpu_hip::stream::*;
use std::ffi::c_void;
use std::ptr::null_mut;

const SOURCE: &str = r#"
extern "C" __attribute__((global)) void trapped(unsigned* out) {
    out[__builtin_amdgcn_workitem_id_x()] = 1;
    __builtin_trap();
}
"#;

#[test]
fn a_fault_stays_until_the_device_is_reset() {
    configure(&[("ISOBIT_SIM_ROCM", "gfx90a"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    let code = compile(SOURCE, "gfx90a");
    // SAFETY: the image is complete, the arguments match the kernel's, and the helper supplies the
    // other pointers.
    unsafe {
        let module = get(|to| hipModuleLoadData(to, code.as_ptr().cast()));
        let kernel = get(|to| hipModuleGetFunction(to, module, c"trapped".as_ptr()));
        let [stream, other] = [(); 2].map(|()| get(|to| hipStreamCreateWithFlags(to, 1)));
        let event = get(|to| hipEventCreateWithFlags(to, 2));
        let (a, b) = (Buffer::new(256), Buffer::new(256));
        let mut address = a.0;
        let mut params = [(&raw mut address).cast::<c_void>()];
        let null = null_mut();
        ok(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, params.as_mut_ptr(), null));
        ok(hipMemcpyAsync(b.0, a.0, 256, DEVICE_TO_DEVICE, stream));
        ok(hipEventRecord(event, stream));
        ok(hipMemsetAsync(b.0, 7, 256, other));
        assert_eq!(hipGetLastError(), Code::SUCCESS);
        assert_eq!(hipEventSynchronize(event), Code::LAUNCH_FAILURE);
        assert_eq!(hipStreamSynchronize(stream), Code::LAUNCH_FAILURE);
        assert_eq!(hipGetLastError(), Code::LAUNCH_FAILURE);
        assert_eq!([hipStreamSynchronize(other), hipStreamSynchronize(stream)], [Code::LAUNCH_FAILURE; 2]);

        let report = report();
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!((findings[0]["kind"].as_str(), findings[0]["kernel"].as_str()), (Some("fault"), Some("trapped")));
        let message = findings[0]["message"].as_str().unwrap();
        assert!(message.contains("s_trap"), "the instruction is named: {message}");

        std::mem::forget((a, b));
        ok(hipDeviceReset());
        let stream = get(|to| hipStreamCreateWithFlags(to, 1));
        let again = Buffer::new(256);
        ok(hipMemsetAsync(again.0, 3, 256, stream));
        ok(hipStreamSynchronize(stream));
        assert!(kinds().is_empty());
        ok(hipStreamDestroy(stream));
    }
}
