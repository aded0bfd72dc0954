//! MIOpen as a program uses it, through the bindings, on the simulated GPU: handles are made on streams that there are.

use hip_sys::Hip;
use isobit_simgpu_stage::{inside, rocm};
use miopen_sys::Miopen;
use std::ptr::null_mut;

#[test]
fn handles_are_made_on_streams_that_there_are() {
    if !inside() {
        let mut child =
            rocm().and_then(|s| s.child("handles_are_made_on_streams_that_there_are")).expect("the simulator is built");
        let status = child.env_remove("ISOBIT_MIOPEN_LIBRARY").status();
        assert!(status.as_ref().is_ok_and(|s| s.success()), "{status:?}");
        return;
    }
    let (hip, miopen) = (Hip::get().expect("HIP"), Miopen::get().expect("MIOpen"));
    let (mut stream, mut handle) = (null_mut(), null_mut());
    // SAFETY: out-parameters, and then what they received, destroyed once; a stream that is gone is what the library is to refuse.
    unsafe {
        assert_eq!((hip.hipStreamCreateWithFlags)(&mut stream, hip_sys::hipStreamNonBlocking), 0);
        assert_eq!((miopen.miopenCreateWithStream)(&mut handle, stream), miopen_sys::miopenStatusSuccess);
        assert_eq!((miopen.miopenDestroy)(handle), miopen_sys::miopenStatusSuccess);
        assert_eq!((hip.hipStreamDestroy)(stream), 0);
        assert_eq!((miopen.miopenCreateWithStream)(&mut handle, stream), miopen_sys::miopenStatusBadParm);
        assert_eq!((miopen.miopenDestroy)(handle), miopen_sys::miopenStatusBadParm, "destroyed already");
    }
}
