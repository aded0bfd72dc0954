//! The runtime traits below the HAL, for the drivers' tests: raw streams, events, page-locked
//! memory, copies between devices, graphs, and the description of a device that is not open.

use super::{Device, device, fails, works};
use crate::{device_count, devices};
use isobit_hal::{BackendDevice, BackendStorage, Error, ErrorKind};
use isobit_kernels::{
    DevicePtr, EventRuntime, GpuRuntime, GraphRuntime, MemoryRuntime, PeerRuntime, PinnedRuntime, StreamRuntime,
};
use std::ptr::NonNull;

/// Memory and a stream of a device, not taken from its pool and its streams.
struct Raw<R: GpuRuntime> {
    stream: R::Stream,
    blocks: Vec<DevicePtr>,
}

const BYTES: usize = 4096;

impl<R: GpuRuntime> Raw<R> {
    fn new(runtime: &R, blocks: usize) -> Self {
        let stream = runtime.new_stream().unwrap();
        Self { stream, blocks: (0..blocks).map(|_| runtime.alloc(BYTES).unwrap()).collect() }
    }

    fn set(&self, runtime: &R, block: usize, value: u8) {
        // SAFETY: the block has `BYTES` bytes.
        unsafe { runtime.set_bytes(&self.stream, self.blocks[block], value, BYTES) }.unwrap();
    }

    fn copy(&self, runtime: &R, to: usize, from: usize) {
        // SAFETY: both blocks have `BYTES` bytes.
        unsafe { runtime.copy_on_device(&self.stream, self.blocks[to], self.blocks[from], BYTES) }.unwrap();
    }

    /// Returns the value of the block's bytes, which are all equal.
    #[track_caller]
    fn value(&self, runtime: &R, block: usize) -> u8 {
        let mut bytes = vec![0; BYTES];
        // SAFETY: the block has `BYTES` bytes.
        unsafe { runtime.copy_to_host(&self.stream, &mut bytes, self.blocks[block]) }.unwrap();
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "not one value");
        bytes[0]
    }

    fn close(self, runtime: &R) {
        runtime.synchronize(&self.stream).unwrap();
        for block in self.blocks {
            // SAFETY: the block was allocated in `new` and is freed once, and the stream is done.
            unsafe { runtime.free(block) };
        }
        runtime.synchronize(&self.stream).unwrap();
    }
}

#[test]
fn a_foreign_stream_is_used_and_left_alone() {
    let Some(device) = device() else { return };
    let runtime = device.runtime();
    let raw = Raw::new(runtime, 1);
    let number = runtime.raw_stream(&raw.stream);
    assert_ne!(number, 0);
    // SAFETY: the stream belongs to this device and outlives `foreign`.
    let foreign = unsafe { runtime.stream_from_raw(number) }.unwrap();
    assert_eq!(runtime.raw_stream(&foreign), number);
    // SAFETY: the block has `BYTES` bytes.
    unsafe { runtime.set_bytes(&foreign, raw.blocks[0], 7, BYTES) }.unwrap();
    drop(foreign);
    assert_eq!(raw.value(runtime, 0), 7, "the stream is still there, and was the same");
    raw.close(runtime);
}

#[test]
fn events_order_streams_and_tell_when_they_are_reached() {
    let Some(device) = device() else { return };
    let runtime = device.runtime();
    let (one, other) = (Raw::new(runtime, 1), Raw::new(runtime, 1));
    let (start, end) = (runtime.new_event().unwrap(), runtime.new_event().unwrap());
    let order = runtime.new_ordering_event().unwrap();
    runtime.record(&start, &one.stream).unwrap();
    one.set(runtime, 0, 3);
    runtime.record(&order, &one.stream).unwrap();
    runtime.record(&end, &one.stream).unwrap();
    runtime.wait_event(&other.stream, &order).unwrap();
    // SAFETY: both blocks have `BYTES` bytes.
    unsafe { runtime.copy_on_device(&other.stream, other.blocks[0], one.blocks[0], BYTES) }.unwrap();
    assert_eq!(other.value(runtime, 0), 3);
    runtime.synchronize_event(&order).unwrap();
    assert!(runtime.event_is_done(&order).unwrap() && runtime.stream_is_idle(&other.stream).unwrap());
    assert!(runtime.elapsed_ms(&start, &end).unwrap() >= 0.0);
    fails(runtime.elapsed_ms(&start, &order), ErrorKind::InvalidArgument);
    one.close(runtime);
    other.close(runtime);
    works(&device);
}

#[test]
fn page_locked_memory_is_copied_both_ways() {
    let Some(device) = device() else { return };
    let runtime = device.runtime();
    let raw = Raw::new(runtime, 1);
    let [from, to]: [NonNull<u8>; 2] = [(); 2].map(|()| runtime.alloc_pinned(BYTES).unwrap());
    assert!(from.addr().get().is_multiple_of(64) && to.addr().get().is_multiple_of(64));
    let pattern: Vec<u8> = (0..BYTES).map(|i| (i * 7 % 251) as u8).collect();
    // SAFETY: each range has `BYTES` bytes, the copies are done before it is read and freed, and it
    // is freed once.
    unsafe {
        from.as_ptr().copy_from_nonoverlapping(pattern.as_ptr(), BYTES);
        runtime.copy_from_pinned(&raw.stream, raw.blocks[0], from, BYTES).unwrap();
        runtime.copy_to_pinned(&raw.stream, to, raw.blocks[0], BYTES).unwrap();
        runtime.synchronize(&raw.stream).unwrap();
        assert!(std::slice::from_raw_parts(to.as_ptr(), BYTES) == pattern);
        runtime.free_pinned(from);
        runtime.free_pinned(to);
    }
    raw.close(runtime);
}

#[test]
fn devices_copy_from_each_other() {
    let Some(device) = device() else { return };
    // Another instance of the same device, and the next device if there is one.
    let others = (0..device_count().unwrap().min(2)).map(|ordinal| Device::new(ordinal).unwrap());
    for other in others.filter(|other| device.runtime().can_access_peer(other.runtime())) {
        let (here, there) = (Raw::new(device.runtime(), 1), Raw::new(other.runtime(), 1));
        for value in [5, 6] {
            there.set(other.runtime(), 0, value);
            other.runtime().synchronize(&there.stream).unwrap();
            let (to, from) = (here.blocks[0], there.blocks[0]);
            // SAFETY: both blocks have `BYTES` bytes, and the source is filled.
            unsafe { device.runtime().copy_from_peer(&here.stream, to, other.runtime(), from, BYTES) }.unwrap();
            assert_eq!(here.value(device.runtime(), 0), value, "from {}", other.location());
        }
        here.close(device.runtime());
        there.close(other.runtime());
    }
}

#[test]
fn a_captured_stream_is_launched_and_updated() {
    let Some(device) = device() else { return };
    let runtime = device.runtime();
    let raw = Raw::new(runtime, 2);
    let capture = |value, copies| {
        runtime.begin_capture(&raw.stream).unwrap();
        assert!(runtime.is_capturing(&raw.stream).unwrap());
        raw.set(runtime, 0, value);
        for _ in 0..copies {
            raw.copy(runtime, 1, 0);
        }
        let graph = runtime.end_capture(&raw.stream).unwrap();
        assert!(!runtime.is_capturing(&raw.stream).unwrap());
        graph
    };
    raw.set(runtime, 0, 1);
    raw.set(runtime, 1, 1);
    let (first, like, unlike) = (capture(2, 1), capture(3, 1), capture(4, 2));
    assert_eq!([raw.value(runtime, 0), raw.value(runtime, 1)], [1, 1], "a capture runs nothing");
    // SAFETY: each graph is destroyed once, at the end, and the blocks outlive the launches, which
    // are waited for before each update.
    unsafe {
        assert_eq!([first, like, unlike].map(|graph| runtime.graph_nodes(graph).unwrap()), [2, 2, 3]);
        let exec = runtime.instantiate(first).unwrap();
        for (update, fits, value) in [(None, true, 2), (Some(like), true, 3), (Some(unlike), false, 3)] {
            if let Some(graph) = update {
                assert_eq!(runtime.update_graph(exec, graph).unwrap(), fits);
            }
            raw.set(runtime, 1, 0);
            runtime.launch_graph(&raw.stream, exec).unwrap();
            assert_eq!([raw.value(runtime, 0), raw.value(runtime, 1)], [value, value]);
        }
        for graph in [first, like, unlike] {
            runtime.destroy_graph(graph);
        }
        runtime.destroy_graph_exec(exec);
    }
    raw.close(runtime);
}

#[test]
fn a_capture_that_is_broken_says_so_and_ends() {
    let Some(device) = device() else { return };
    let runtime = device.runtime();
    let raw = Raw::new(runtime, 1);
    let forked = Raw::new(runtime, 1);
    let event = runtime.new_ordering_event().unwrap();
    let violated = |error: Error| assert!(error.native().is_some(), "{error}");
    violated(fails(runtime.end_capture(&raw.stream), ErrorKind::CaptureViolation));

    // A stream joins the capture and is not joined back.
    runtime.begin_capture(&raw.stream).unwrap();
    raw.set(runtime, 0, 1);
    runtime.record(&event, &raw.stream).unwrap();
    runtime.wait_event(&forked.stream, &event).unwrap();
    forked.set(runtime, 0, 1);
    violated(fails(runtime.end_capture(&raw.stream), ErrorKind::CaptureViolation));

    // Waiting for captured work, which does not run.
    runtime.begin_capture(&raw.stream).unwrap();
    raw.set(runtime, 0, 1);
    violated(fails(runtime.synchronize(&raw.stream), ErrorKind::CaptureViolation));
    violated(fails(runtime.end_capture(&raw.stream), ErrorKind::CaptureViolation));

    raw.set(runtime, 0, 9);
    assert_eq!(raw.value(runtime, 0), 9, "the stream works as before");
    raw.close(runtime);
    forked.close(runtime);
    works(&device);
}

#[test]
fn devices_are_known_before_they_are_opened() {
    if device_count().unwrap_or(0) == 0 {
        eprintln!("skipped: this test needs a GPU");
        return;
    }
    let all = devices().unwrap();
    assert_eq!(all.len(), device_count().unwrap());
    for (ordinal, closed) in all.iter().enumerate() {
        let device = Device::new(ordinal).unwrap();
        let open = device.info().unwrap();
        assert_eq!((&closed.name, &closed.arch, &closed.limits), (&open.name, &open.arch, &open.limits));
        assert_eq!((closed.memory_free, closed.driver_version.is_empty()), (0, false), "memory is free in a context");
        assert!(open.memory_free > 0 && open.memory_free <= open.memory_total && closed.memory_total > 0);
        let capability = open.compute_capability.expect("vendors number their devices").to_string();
        assert_eq!(Some(capability.as_str()), open.arch.split(':').next());
        let can = open.capabilities;
        assert!(can.concurrent_streams && can.graphs && can.async_copies);
        assert!(open.libraries.iter().any(|library| library.path.is_some()), "{:?}", open.libraries);
    }
}

#[test]
fn the_library_that_is_there_is_told_without_being_opened() {
    let Some(device) = device() else { return };
    let told = device.info().unwrap().capabilities.vendor_matmul;
    // The library's own answer.
    let a = device.storage_from_slice(&[1.5f32; 64]).unwrap();
    let layout = isobit_hal::Layout::contiguous([8, 8]);
    let product = a.matmul(&layout, &a, &layout, isobit_hal::Matmul::default()).unwrap();
    assert_eq!(product.to_vec::<f32>().unwrap(), [18.0; 64]);
    let fell_back = device.counters().vendor_fallbacks > 0;
    assert_eq!(told, !fell_back);
}

#[test]
fn handles_of_one_device_share_its_memory() {
    let Some(device) = device() else { return };
    // The vendors' drivers say that a device is no peer of itself, which must not send copies
    // through the host.
    let another = Device::new(0).unwrap();
    assert!(device.runtime().can_access_peer(another.runtime()));
}
