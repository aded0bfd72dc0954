//! A launch whose threads wait for ever: the next wait returns the code of a launch that took too
//! long, and a finding names the threads.

mod common;

use common::kernels::compile;
use common::{Buffer, configure, get, ok, report};
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::launch::hipModuleLaunchKernel;
use isobit_simgpu_hip::module::*;
use isobit_simgpu_hip::set::hipMemset;
use isobit_simgpu_hip::stream::*;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Block 0 waits for a word that block 1 never sets.
const SOURCE: &str = r#"
extern "C" __attribute__((global)) void waits(unsigned* flag) {
    if (__builtin_amdgcn_workgroup_id_x() != 0) return;
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
}
"#;

#[test]
fn a_launch_that_waits_for_ever_is_ended() {
    configure(&[("ISOBIT_SIM_ROCM", "gfx90a"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    let code = compile(SOURCE, "gfx90a");
    // SAFETY: the image is complete, the arguments match the kernel's, and the helper supplies the
    // other pointers.
    unsafe {
        let module = get(|to| hipModuleLoadData(to, code.as_ptr().cast()));
        let kernel = get(|to| hipModuleGetFunction(to, module, c"waits".as_ptr()));
        let stream = get(|to| hipStreamCreateWithFlags(to, 1));
        let flag = std::mem::ManuallyDrop::new(Buffer::new(4));
        ok(hipMemset(flag.0, 0, 4));
        let mut address = flag.0;
        let mut params = [(&raw mut address).cast::<c_void>()];
        let null = null_mut();
        let launched = hipModuleLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, stream, params.as_mut_ptr(), null);
        assert!([Code::SUCCESS, Code::LAUNCH_TIMEOUT].contains(&launched));
        assert_eq!(hipStreamSynchronize(stream), Code::LAUNCH_TIMEOUT);
        let report = report();
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!((findings[0]["kind"].as_str(), findings[0]["kernel"].as_str()), (Some("deadlock"), Some("waits")));
        assert_eq!(findings[0]["thread"].as_str(), Some("block [0, 0, 0] thread [0, 0, 0]"));
        let message = findings[0]["message"].as_str().unwrap();
        assert!(message.contains("global_load_dword") && message.contains("of 4 bytes"), "{message}");
    }
}
