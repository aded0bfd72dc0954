//! A launch that faults: the next wait returns the code, from then on every call of the context
//! returns it, and a finding names the kernel. A context that replaces it is not affected.

mod common;

use common::{Buffer, Code, NULL, configure, context, get, kernel, kinds, load, ok, report};
use isobit_simgpu_cuda::context::*;
use isobit_simgpu_cuda::copy::*;
use isobit_simgpu_cuda::event::*;
use isobit_simgpu_cuda::function::cuFuncGetAttribute;
use isobit_simgpu_cuda::graph::{cuGraphCreate, cuGraphDestroy};
use isobit_simgpu_cuda::launch::cuLaunchKernel;
use isobit_simgpu_cuda::limits::*;
use isobit_simgpu_cuda::memory::*;
use isobit_simgpu_cuda::module::*;
use isobit_simgpu_cuda::primary::*;
use isobit_simgpu_cuda::set::cuMemsetD8Async;
use isobit_simgpu_cuda::stream::*;
use std::ffi::c_void;
use std::ptr::null_mut;

const SOURCE: &str = r#"
.version 7.0
.target sm_75
.address_size 64
.visible .entry trapped(.param .u64 out)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    trap;
    ret;
}
"#;

/// The code that a compiler emits for `assert(false)`.
const ASSERTS: &str = r#"
.version 7.0
.target sm_75
.address_size 64
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.visible .entry asserts()
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 0;
    mov.u32 %r1, 7;
    {
    .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
    st.param.b64 [p0], %rd1;
    st.param.b64 [p1], %rd1;
    st.param.b32 [p2], %r1;
    st.param.b64 [p3], %rd1;
    st.param.b64 [p4], %rd1;
    call.uni __assertfail, (p0, p1, p2, p3, p4);
    }
    ret;
}
"#;

#[test]
fn a_fault_stays_with_its_context() {
    configure(&[("ISOBIT_SIM_CUDA", "sm_80,sm_80"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    let (other, primary) = (context(1), context(0));
    // SAFETY: the arguments are the kernel's, the other pointers are the helper's and to locals.
    unsafe {
        let module = load(SOURCE);
        let trapped = kernel(module, c"trapped");
        let [stream, second] = [(); 2].map(|()| get(|to| cuStreamCreate(to, 1)));
        let event = get(|to| cuEventCreate(to, 2));
        let (a, b) = (std::mem::ManuallyDrop::new(Buffer::new(256)), std::mem::ManuallyDrop::new(Buffer::new(256)));
        let mut address = a.0;
        let mut params = [(&raw mut address).cast::<c_void>()];
        let launch = |stream, params| cuLaunchKernel(trapped, 1, 1, 1, 64, 1, 1, 0, stream, params, null_mut());
        ok(launch(stream, params.as_mut_ptr()));
        // Later work is accepted, as on a card that has not reached the fault yet.
        ok(cuMemcpyDtoDAsync_v2(b.0, a.0, 256, stream));
        ok(cuEventRecord(event, stream));
        ok(cuMemsetD8Async(b.0, 7, 256, second));
        assert_eq!(cuEventSynchronize(event), Code::LAUNCH_FAILURE);

        let report = report();
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!((findings[0]["kind"].as_str(), findings[0]["kernel"].as_str()), (Some("fault"), Some("trapped")));
        let message = findings[0]["message"].as_str().unwrap();
        assert!(message.contains("trap"), "the instruction is named: {message}");

        // Every call that needs the context returns the same code, as with a real driver; calls
        // that do not need it still work.
        let again = [
            cuStreamSynchronize(stream),
            cuStreamQuery(second),
            cuCtxSynchronize(),
            cuMemAlloc_v2(&mut 0, 4),
            cuMemFree_v2(a.0),
            cuMemGetInfo_v2(&mut 0, &mut 0),
            cuStreamCreate(&mut NULL.clone(), 1),
            cuStreamDestroy_v2(second),
            cuEventCreate(&mut NULL.clone(), 0),
            cuEventQuery(event),
            cuEventRecord(event, stream),
            cuEventDestroy_v2(event),
            cuMemsetD8Async(a.0, 0, 4, stream),
            cuMemcpyHtoD_v2(a.0, pointer_to_four().cast(), 4),
            launch(stream, params.as_mut_ptr()),
            cuModuleLoadData(&mut NULL.clone(), c".version 7.0".as_ptr().cast()),
            cuModuleGetFunction(&mut NULL.clone(), module, c"trapped".as_ptr()),
            cuModuleUnload(module),
            cuFuncGetAttribute(&mut 0, 0, trapped),
            cuCtxGetLimit(&mut 0, 0),
        ];
        assert_eq!(again, [Code::LAUNCH_FAILURE; 20]);
        ok(cuCtxSetCurrent(primary));
        assert_eq!(get(|to| cuCtxGetCurrent(to)), primary);
        assert_eq!(get(|to| cuCtxGetDevice(to)), 0);
        ok(cuGraphDestroy(get(|to| cuGraphCreate(to, 0))));
        assert!(kinds().is_empty(), "it is reported once");

        // The context on the other card is not affected.
        ok(cuCtxSetCurrent(other));
        let there = Buffer::of(&[5; 16]);
        assert_eq!(common::download(there.0, 16), [5; 16]);

        ok(cuCtxSetCurrent(primary));
        ok(cuDevicePrimaryCtxReset_v2(0));
        assert_eq!(cuMemAlloc_v2(&mut 0, 4), Code::CONTEXT_IS_DESTROYED);
        assert_eq!(cuStreamSynchronize(stream), Code::INVALID_HANDLE);
        assert_eq!(context(0), primary);
        let fresh = Buffer::of(&[6; 16]);
        ok(cuCtxSynchronize());
        assert_eq!(common::download(fresh.0, 16), [6; 16]);
        assert!(kinds().is_empty());

        // An assertion has a code of its own, and destroying the failed context recovers from it
        // like from any other fault.
        let created = get(|to| cuCtxCreate_v2(to, 0, 0));
        let asserts = kernel(load(ASSERTS), c"asserts");
        ok(cuLaunchKernel(asserts, 1, 1, 1, 1, 1, 1, 0, NULL, null_mut(), null_mut()));
        assert_eq!([cuStreamSynchronize(NULL), cuMemAlloc_v2(&mut 0, 4)], [Code::ASSERT; 2]);
        ok(cuCtxDestroy_v2(created));
        assert_eq!(get(|to| cuCtxGetCurrent(to)), primary);
        assert_eq!(common::download(fresh.0, 16), [6; 16]);
        assert_eq!(kinds(), ["fault"]);
    }
}

fn pointer_to_four() -> *const u32 {
    static FOUR: u32 = 4;
    &raw const FOUR
}
