//! A launch whose threads wait for ever: the next wait returns the code of a launch that took too
//! long, and a finding names the threads.

mod common;

use common::{Buffer, configure, context, get, kernel, load, report};
use isobit_simgpu_cuda::Code;
use isobit_simgpu_cuda::launch::cuLaunchKernel;
use isobit_simgpu_cuda::stream::*;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Block 0 waits for a word that block 1 never sets.
const SOURCE: &str = r#"
.version 7.0
.target sm_75
.address_size 64
.visible .entry waits(.param .u64 flag)
{
    .reg .pred %p<3>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [flag];
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
AGAIN:
    ld.acquire.gpu.global.u32 %r2, [%rd1];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra AGAIN;
    ret;
}
"#;

#[test]
fn a_launch_that_waits_for_ever_is_ended() {
    configure(&[("ISOBIT_SIM_CUDA", "sm_80"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    context(0);
    // SAFETY: the arguments are the kernel's, the other pointers are the helper's and to locals.
    unsafe {
        let waits = kernel(load(SOURCE), c"waits");
        let stream = get(|to| cuStreamCreate(to, 1));
        let flag = std::mem::ManuallyDrop::new(Buffer::of(&[0; 4]));
        let mut address = flag.0;
        let mut params = [(&raw mut address).cast::<c_void>()];
        let launched = cuLaunchKernel(waits, 2, 1, 1, 64, 1, 1, 0, stream, params.as_mut_ptr(), null_mut());
        assert!([Code::SUCCESS, Code::LAUNCH_TIMEOUT].contains(&launched));
        assert_eq!(cuStreamSynchronize(stream), Code::LAUNCH_TIMEOUT);
        let report = report();
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!((findings[0]["kind"].as_str(), findings[0]["kernel"].as_str()), (Some("deadlock"), Some("waits")));
        assert_eq!(findings[0]["thread"].as_str(), Some("block [0, 0, 0] thread [0, 0, 0]"));
        let message = findings[0]["message"].as_str().unwrap();
        assert!(message.contains("ld.acquire.gpu.global.u32") && message.contains("of 4 bytes"), "{message}");
    }
}
