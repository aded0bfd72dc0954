//! Deferred execution: work that nobody waited for is not done, work without a required wait runs
//! out of order, and `hipFree` waits.

mod common;

use common::{Buffer, configure, get, kinds, ok};
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::copy::hipMemcpyAsync;
use isobit_simgpu_hip::copy_kinds::{DEVICE_TO_DEVICE, DEVICE_TO_HOST};
use isobit_simgpu_hip::event::*;
use isobit_simgpu_hip::memory::hipFree;
use isobit_simgpu_hip::pinned::{hipHostFree, hipHostMalloc};
use isobit_simgpu_hip::set::hipMemsetAsync;
use isobit_simgpu_hip::stream::*;
use std::ffi::c_void;

#[test]
fn a_missing_wait_shows() {
    configure(&[("ISOBIT_SIM_DEFER", "1"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    // SAFETY: the helper supplies the pointers; the memory is freed after the work that uses it, by
    // functions that wait.
    unsafe {
        let [s1, s2]: [*mut c_void; 2] = [(); 2].map(|()| get(|to| hipStreamCreateWithFlags(to, 1)));
        let pinned: *mut u8 = get(|to: *mut *mut c_void| hipHostMalloc(to, 16, 0)).cast();
        pinned.write_bytes(0, 16);
        let (a, b) = (Buffer::new(16), Buffer::new(16));

        // The host does not wait, so nothing is done.
        ok(hipMemsetAsync(a.0, 1, 16, s1));
        ok(hipMemcpyAsync(pinned.cast(), a.0, 16, DEVICE_TO_HOST, s1));
        assert_eq!(pinned.read(), 0);
        assert_eq!(hipStreamQuery(s1), Code::NOT_READY);
        ok(hipStreamSynchronize(s1));
        assert_eq!(pinned.read(), 1);

        // Without a wait, the other stream is overtaken. With a wait, it is not.
        for (value, wait) in [(2, false), (3, true)] {
            ok(hipMemsetAsync(a.0, value, 16, s1));
            if wait {
                let event = get(|to| hipEventCreateWithFlags(to, 2));
                ok(hipEventRecord(event, s1));
                ok(hipStreamWaitEvent(s2, event, 0));
                ok(hipEventDestroy(event));
            }
            ok(hipMemcpyAsync(b.0, a.0, 16, DEVICE_TO_DEVICE, s2));
            ok(hipMemcpyAsync(pinned.cast(), b.0, 16, DEVICE_TO_HOST, s2));
            ok(hipStreamSynchronize(s2));
            ok(hipStreamSynchronize(s1));
            assert_eq!(pinned.read(), if wait { 3 } else { 1 });
        }

        // This host memory was not allocated by HIP, so the copy is complete before the call
        // returns.
        let mut pageable = [0u8; 16];
        ok(hipMemsetAsync(a.0, 4, 16, s1));
        ok(hipMemcpyAsync(pageable.as_mut_ptr().cast(), a.0, 16, DEVICE_TO_HOST, s1));
        assert_eq!(pageable, [4; 16]);

        // Memory is freed after the work that uses it.
        let used = Buffer::new(16);
        ok(hipMemsetAsync(used.0, 5, 16, s1));
        ok(hipMemcpyAsync(pinned.cast(), used.0, 16, DEVICE_TO_HOST, s1));
        ok(hipFree(used.0));
        assert_eq!(pinned.read(), 5);

        ok(hipMemsetAsync(a.0, 6, 16, s2));
        for stream in [s1, s2] {
            ok(hipStreamDestroy(stream));
        }
        ok(hipHostFree(pinned.cast()));
    }
    assert!(kinds().is_empty());
}
