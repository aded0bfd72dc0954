//! The bindings of Isobit's ROCm driver find every function in the simulated library, and its calls
//! have their types.

use hip_sys::Hip;
use isobit_simgpu_install::{inside, rocm};
use rccl_sys::*;
use std::ptr::null_mut;

#[test]
fn the_bindings_fit() {
    if !inside() {
        let child = rocm().expect("the simulator is built").child("the_bindings_fit");
        let status = child.expect("this program starts again").env_remove(Rccl::SPEC.variable).status();
        return assert!(status.as_ref().is_ok_and(|status| status.success()), "{status:?}");
    }
    let (hip, rccl) = (Hip::get().expect("HIP"), Rccl::get().expect("RCCL"));
    let (mut at, mut communicator, mut part) = (null_mut(), null_mut(), null_mut());
    let (mut id, mut config) = (ncclUniqueId { internal: [0; NCCL_UNIQUE_ID_BYTES] }, ncclConfig_t::default());
    let (init, split) = (rccl.ncclCommInitRankConfig.expect("a function"), rccl.ncclCommSplit.expect("a function"));
    let (finalize, last_error) = (rccl.ncclCommFinalize.expect("a function"), rccl.ncclGetLastError);
    let (mut number, mut error) = (7f32, ncclInternalError);
    let number = (&raw mut number).cast::<std::ffi::c_void>();
    // SAFETY: out-parameters, and memory of the sizes that the calls name.
    unsafe {
        assert_eq!((rccl.ncclGetUniqueId)(&mut id), ncclSuccess);
        assert_eq!(init(&mut communicator, 1, id, 0, &mut config), ncclSuccess);
        assert_eq!(split(communicator, 3, 0, &mut part, &mut config), ncclSuccess);
        assert_eq!((hip.hipMalloc)(&mut at, 4), 0);
        let (to, from) = (hip_sys::hipMemcpyHostToDevice, hip_sys::hipMemcpyDeviceToHost);
        assert_eq!((hip.hipMemcpyAsync)(at, number, 4, to, null_mut()), 0);
        assert_eq!((rccl.ncclAllReduce)(at, at, 1, ncclFloat32, ncclAvg, part, null_mut()), ncclSuccess);
        assert_eq!((hip.hipMemcpyAsync)(number, at, 4, from, null_mut()), 0);
        assert_eq!((hip.hipStreamSynchronize)(null_mut()), 0);
        assert_eq!(number.cast::<f32>().read(), 7.0);
        assert_eq!((rccl.ncclCommGetAsyncError)(part, &mut error), ncclSuccess);
        assert_eq!(finalize(part), ncclSuccess);
        assert_eq!((rccl.ncclCommDestroy)(part), ncclSuccess);
        assert_eq!((rccl.ncclCommDestroy)(communicator), ncclSuccess);
    }
    assert!(error == ncclSuccess && last_error.is_some());
}
