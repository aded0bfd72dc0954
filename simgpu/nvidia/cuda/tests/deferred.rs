//! Deferred work: work does not run before something waits for it, work without a needed wait
//! overtakes earlier work, and `cuMemFree` waits.

mod common;

use common::{Buffer, Code, Handle, configure, context, get, kinds, ok};
use isobit_simgpu_cuda::copy::*;
use isobit_simgpu_cuda::event::*;
use isobit_simgpu_cuda::memory::cuMemFree_v2;
use isobit_simgpu_cuda::pinned::*;
use isobit_simgpu_cuda::set::cuMemsetD8Async;
use isobit_simgpu_cuda::stream::*;
use isobit_simgpu_cuda::stream_memory::*;

#[test]
fn a_missing_wait_shows() {
    configure(&[("ISOBIT_SIM_DEFER", "1"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    context(0);
    // SAFETY: pointers of the helper; what the work uses is freed after it, by functions that wait.
    unsafe {
        let [s1, s2]: [Handle; 2] = [(); 2].map(|()| get(|to| cuStreamCreate(to, 1)));
        let pinned: *mut u8 = get(|to| cuMemHostAlloc(to, 16, 0)).cast();
        pinned.write_bytes(0, 16);
        let (a, b) = (Buffer::new(16), Buffer::new(16));

        // The host does not wait: nothing has run.
        ok(cuMemsetD8Async(a.0, 1, 16, s1));
        ok(cuMemcpyDtoHAsync_v2(pinned.cast(), a.0, 16, s1));
        assert_eq!(pinned.read(), 0);
        assert_eq!(cuStreamQuery(s1), Code::NOT_READY);
        ok(cuStreamSynchronize(s1));
        assert_eq!(pinned.read(), 1);

        // Without a wait, the second stream overtakes the first. With a wait, it does not.
        for (value, wait) in [(2, false), (3, true)] {
            ok(cuMemsetD8Async(a.0, value, 16, s1));
            if wait {
                let event = get(|to| cuEventCreate(to, 2));
                ok(cuEventRecord(event, s1));
                assert_eq!(cuEventQuery(event), Code::NOT_READY);
                ok(cuStreamWaitEvent(s2, event, 0));
                ok(cuEventDestroy_v2(event));
            }
            ok(cuMemcpyDtoDAsync_v2(b.0, a.0, 16, s2));
            ok(cuMemcpyDtoHAsync_v2(pinned.cast(), b.0, 16, s2));
            ok(cuStreamSynchronize(s2));
            ok(cuStreamSynchronize(s1));
            assert_eq!(pinned.read(), if wait { 3 } else { 1 });
        }

        // CUDA does not know pageable host memory, so the copy runs before the call returns.
        // Registered memory is known.
        let mut pageable = [0u8; 16];
        ok(cuMemsetD8Async(a.0, 4, 16, s1));
        ok(cuMemcpyDtoHAsync_v2(pageable.as_mut_ptr().cast(), a.0, 16, s1));
        assert_eq!(pageable, [4; 16]);
        ok(cuMemHostRegister_v2(pageable.as_mut_ptr().cast(), 16, 0));
        ok(cuMemsetD8Async(a.0, 5, 16, s1));
        ok(cuMemcpyDtoHAsync_v2(pageable.as_mut_ptr().cast(), a.0, 16, s1));
        assert_eq!((&raw const pageable).cast::<u8>().read_volatile(), 4);
        ok(cuMemHostUnregister(pageable.as_mut_ptr().cast()));
        assert_eq!((&raw const pageable).cast::<u8>().read_volatile(), 5, "unregistering it waits");

        // Memory is freed after the work that uses it; in stream order, when the stream reaches the
        // free.
        let used = std::mem::ManuallyDrop::new(Buffer::new(16));
        ok(cuMemsetD8Async(used.0, 6, 16, s1));
        ok(cuMemcpyDtoHAsync_v2(pinned.cast(), used.0, 16, s1));
        ok(cuMemFree_v2(used.0));
        assert_eq!(pinned.read(), 6);
        let ordered = get(|to| cuMemAllocAsync(to, 16, s1));
        ok(cuMemsetD8Async(ordered, 7, 16, s1));
        ok(cuMemcpyDtoHAsync_v2(pinned.cast(), ordered, 16, s1));
        ok(cuMemFreeAsync(ordered, s1));
        ok(cuStreamSynchronize(s1));
        assert_eq!(pinned.read(), 7);
        assert!(kinds().is_empty());

        // A free that does not wait for another stream's use of the memory.
        let raced = get(|to| cuMemAllocAsync(to, 16, s1));
        ok(cuMemsetD8Async(raced, 8, 16, s1));
        ok(cuMemFreeAsync(raced, s2));
        ok(cuStreamSynchronize(s2));
        assert_eq!(cuStreamSynchronize(s1), Code::ILLEGAL_ADDRESS);
        assert_eq!(kinds(), ["out_of_bounds"]);
    }
}
