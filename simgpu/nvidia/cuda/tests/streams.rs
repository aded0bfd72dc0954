//! Streams, events, host functions and captures through the C API.

mod common;

use common::child::in_child;
use common::host::{Holder, held, never_returns};
use common::{Buffer, Code, Handle, NULL, alone, get, kinds, ok};
use isobit_simgpu_cuda::capture::*;
use isobit_simgpu_cuda::context::cuCtxSynchronize;
use isobit_simgpu_cuda::copy::*;
use isobit_simgpu_cuda::event::*;
use isobit_simgpu_cuda::graph::*;
use isobit_simgpu_cuda::host::*;
use isobit_simgpu_cuda::memory::*;
use isobit_simgpu_cuda::pinned::cuMemHostAlloc;
use isobit_simgpu_cuda::set::{cuMemsetD8_v2, cuMemsetD8Async};
use isobit_simgpu_cuda::stream::*;
use isobit_simgpu_runtime_common::host::HostFn;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the tests pass a counter that outlives the call.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
}

fn stream(flags: u32) -> Handle {
    // SAFETY: the pointer is the helper's.
    get(|to| unsafe { cuStreamCreate(to, flags) })
}

#[test]
fn streams_and_events_are_validated() {
    let (_alone, primary) = alone();
    let stream = stream(1);
    // SAFETY: pointers of the helper or null, here and below.
    unsafe {
        assert_eq!(get(|to| cuStreamGetFlags(stream, to)), 1);
        assert_eq!(get(|to| cuStreamGetDevice(stream, to)), 0);
        assert_eq!(get(|to| cuStreamGetCtx(stream, to)), primary.0);
        for (wish, priority) in [(-100, -5), (100, 0), (-2, -2)] {
            let other = get(|to| cuStreamCreateWithPriority(to, 0, wish));
            assert_eq!(get(|to| cuStreamGetPriority(other, to)), priority);
            assert_ne!(get(|to| cuStreamGetId(other, to)), get(|to| cuStreamGetId(stream, to)));
            ok(cuStreamDestroy_v2(other));
        }
        let event = get(|to| cuEventCreate(to, 0));
        ok(cuEventQuery(event));
        ok(cuEventSynchronize(event));
        ok(cuEventRecord(event, stream));
        let later = get(|to| cuEventCreate(to, 0));
        let mut ms = -1.0;
        assert_eq!(cuEventElapsedTime(&mut ms, event, later), Code::INVALID_HANDLE, "never recorded");
        ok(cuEventRecordWithFlags(later, stream, 0));
        ok(cuEventElapsedTime_v2(&mut ms, event, later));
        assert!((0.0..10_000.0).contains(&ms), "{ms}");
        let untimed = get(|to| cuEventCreate(to, 2));
        ok(cuEventRecord(untimed, stream));
        assert_eq!(cuEventElapsedTime(&mut ms, event, untimed), Code::INVALID_HANDLE);
        assert_eq!([4, 8].map(|flags| cuEventCreate(&mut null_mut(), flags)), [Code::INVALID_VALUE; 2]);
        assert_eq!(
            [1, 2].map(|flags| cuEventRecordWithFlags(event, stream, flags)),
            [Code::ILLEGAL_STATE, Code::INVALID_VALUE]
        );
        assert_eq!(
            [1, 2].map(|flags| cuStreamWaitEvent(stream, event, flags)),
            [Code::ILLEGAL_STATE, Code::INVALID_VALUE]
        );
        assert_eq!(cuStreamCreate(&mut null_mut(), 2), Code::INVALID_VALUE);
        assert_eq!(cuStreamCreate(null_mut(), 0), Code::INVALID_VALUE);
        for event in [event, later, untimed] {
            ok(cuEventDestroy_v2(event));
        }
        assert_eq!(cuEventRecord(event, stream), Code::INVALID_HANDLE);
        assert_eq!(cuStreamWaitEvent(stream, NULL, 0), Code::INVALID_HANDLE);
        assert_eq!(cuEventQuery(stream), Code::INVALID_HANDLE, "a stream is not an event");
    }
    for own in [0, 1, 2] {
        assert_eq!(cuStreamDestroy_v2(own as Handle), Code::INVALID_HANDLE);
        ok(cuStreamSynchronize(own as Handle));
        ok(cuStreamQuery(own as Handle));
    }
    ok(cuStreamDestroy_v2(stream));
    assert_eq!(cuStreamDestroy_v2(stream), Code::INVALID_HANDLE);
    assert_eq!(cuStreamSynchronize(stream), Code::INVALID_HANDLE);
    ok(cuCtxSynchronize());
}

#[test]
fn functions_of_the_host_are_called_in_order() {
    let (_alone, _primary) = alone();
    unsafe extern "C" fn called(_stream: Handle, code: Code, data: *mut c_void) {
        assert_eq!(code, Code::SUCCESS);
        // SAFETY: as for `count`.
        unsafe { count(data) };
    }
    unsafe extern "C" fn calls_back(data: *mut c_void) {
        let refused = [cuStreamSynchronize(1 as Handle), cuCtxSynchronize()];
        let refused = refused == [Code::NOT_PERMITTED; 2];
        // SAFETY: as for `count`.
        unsafe { &*data.cast::<AtomicU32>() }.fetch_add(u32::from(refused) * 10, Ordering::Relaxed);
    }
    let (stream, counter) = (stream(0), AtomicU32::new(0));
    let data = (&raw const counter).cast_mut().cast();
    // SAFETY: the counter outlives the work, because the test waits for it.
    unsafe {
        ok(cuLaunchHostFunc(stream, Some(count), data));
        ok(cuStreamAddCallback(stream, Some(called), data, 0));
        ok(cuLaunchHostFunc(stream, Some(calls_back), data));
        assert_eq!(cuLaunchHostFunc(stream, None, data), Code::INVALID_VALUE);
        assert_eq!(cuStreamAddCallback(stream, Some(called), data, 1), Code::INVALID_VALUE);
    }
    ok(cuStreamSynchronize(stream));
    assert_eq!(counter.load(Ordering::Relaxed), 12);
    ok(cuStreamDestroy_v2(stream));
}

#[test]
fn a_function_may_wait_for_the_thread_that_launched_it() {
    in_child("a_function_may_wait_for_the_thread_that_launched_it", || {
        // Never released: that would wait for the functions.
        let _primary = std::mem::ManuallyDrop::new(alone());
        let (one, other) = (stream(1), stream(1));
        // SAFETY: the pointer is the helper's.
        let pinned = get(|to| unsafe { cuMemHostAlloc(to, 4, 0) }).cast::<u8>();
        let holder = Holder::new();
        // SAFETY: the memory and the holder outlive the work, because the test waits for it.
        unsafe {
            pinned.write_bytes(0, 4);
            ok(cuLaunchHostFunc(one, Some(held), holder.data()));
            let event = get(|to| cuEventCreate(to, 2));
            ok(cuEventRecord(event, one));
            ok(cuStreamWaitEvent(other, event, 0));
            ok(cuMemsetD8Async(pinned as u64, 7, 4, other));
            assert_ne!(holder.begun.recv(), Ok(std::thread::current().id()));
            assert_eq!([cuStreamQuery(one), cuStreamQuery(other), cuEventQuery(event)], [Code::NOT_READY; 3]);
            assert_eq!(pinned.read_volatile(), 0, "later work waits for the function");
            holder.release.send(()).expect("the function waits for it");
            ok(cuStreamSynchronize(other));
            assert_eq!(pinned.read_volatile(), 7);
            ok(cuEventDestroy_v2(event));
        }
        ok(cuStreamDestroy_v2(one));
        ok(cuStreamDestroy_v2(other));
    });
}

#[test]
fn an_exception_of_a_function_is_a_failure_of_the_stream() {
    unsafe extern "C-unwind" fn throws(_data: *mut c_void) {
        panic!("an exception");
    }
    in_child("an_exception_of_a_function_is_a_failure_of_the_stream", || {
        let _primary = std::mem::ManuallyDrop::new(alone());
        let stream = stream(1);
        // SAFETY: the types differ only in whether an exception may leave the function.
        let throws = unsafe { std::mem::transmute::<unsafe extern "C-unwind" fn(*mut c_void), HostFn>(throws) };
        // SAFETY: the function ignores its argument.
        ok(unsafe { cuLaunchHostFunc(stream, Some(throws), null_mut()) });
        assert_eq!(cuStreamSynchronize(stream), Code::LAUNCH_FAILURE);
    });
}

#[test]
fn the_end_of_the_process_does_not_wait_for_functions() {
    in_child("the_end_of_the_process_does_not_wait_for_functions", || {
        // Never released: that would wait for the functions.
        let _primary = std::mem::ManuallyDrop::new(alone());
        let stream = stream(1);
        // SAFETY: the function ignores its argument.
        unsafe {
            ok(cuLaunchHostFunc(stream, Some(never_returns), null_mut()));
            ok(cuLaunchHostFunc(stream, Some(never_returns), null_mut()));
        }
        ok(cuStreamDestroy_v2(stream));
    });
}

/// Returns the code of a call on a capturing stream, the state of the capture after it, and the
/// code of the capture's end.
fn in_capture(flags: u32, call: impl FnOnce(Handle) -> Code) -> (Code, i32, Code) {
    let stream = stream(flags);
    ok(cuStreamBeginCapture_v2(stream, 0));
    let code = call(stream);
    let (mut status, mut graph) = (9, stream);
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuStreamGetCaptureInfo_v2(stream, &mut status, null_mut(), null_mut(), null_mut(), null_mut()));
        assert_eq!(get(|to| cuStreamIsCapturing(stream, to)), status);
        let end = cuStreamEndCapture(stream, &mut graph);
        assert_eq!(graph.is_null(), end != Code::SUCCESS);
        if end == Code::SUCCESS {
            ok(cuGraphDestroy(graph));
        }
        ok(cuStreamDestroy_v2(stream));
        (code, status, end)
    }
}

#[test]
fn a_capture_refuses_what_waits_or_allocates() {
    let (_alone, _primary) = alone();
    let (held, bytes) = (Buffer::new(4), [0u8; 4]);
    let spoilt = |code| (code, 2, Code::STREAM_CAPTURE_INVALIDATED);
    let unsupported = spoilt(Code::STREAM_CAPTURE_UNSUPPORTED);
    let goes_on = (Code::SUCCESS, 1, Code::SUCCESS);
    unsafe extern "C" fn never(_stream: Handle, _code: Code, _data: *mut c_void) {}
    // SAFETY: pointers to locals; the captured work is never launched.
    unsafe {
        // These are the answers of a real driver.
        assert_eq!(in_capture(1, |_| cuMemAlloc_v2(&mut 0, 4)), unsupported);
        assert_eq!(in_capture(1, |_| cuMemFree_v2(held.0)), unsupported);
        assert_eq!(in_capture(1, |_| cuMemHostAlloc(&mut null_mut(), 4, 0)), unsupported);
        assert_eq!(in_capture(1, |_| cuCtxSynchronize()), unsupported);
        assert_eq!(in_capture(1, |s| cuStreamSynchronize(s)), unsupported);
        assert_eq!(in_capture(1, |s| cuStreamQuery(s)), unsupported);
        assert_eq!(in_capture(1, |s| cuStreamAddCallback(s, Some(never), null_mut(), 0)), unsupported);
        assert_eq!(in_capture(1, |_| cuMemsetD8_v2(held.0, 0, 4)), goes_on);
        assert_eq!(in_capture(1, |_| cuMemcpyHtoD_v2(held.0, bytes.as_ptr().cast(), 4)), goes_on);
        assert_eq!(in_capture(1, |s| cuMemcpyHtoDAsync_v2(held.0, bytes.as_ptr().cast(), 4, s)), goes_on);
        assert_eq!(in_capture(1, |_| cuMemGetInfo_v2(&mut 0, &mut 0)), goes_on);
        assert_eq!(in_capture(1, |_| cuMemsetD8Async(held.0, 0, 4, NULL)), goes_on);
        let implicit = spoilt(Code::STREAM_CAPTURE_IMPLICIT);
        assert_eq!(in_capture(0, |_| cuMemsetD8Async(held.0, 0, 4, NULL)), implicit);
        assert_eq!(in_capture(0, |_| cuMemsetD8_v2(held.0, 0, 4)), implicit);
        assert_eq!(in_capture(1, |s| cuStreamBeginCapture_v2(s, 0)), (Code::ILLEGAL_STATE, 1, Code::SUCCESS));

        assert_eq!([0, 1].map(|own| cuStreamBeginCapture_v2(own as Handle, 0)), [Code::STREAM_CAPTURE_UNSUPPORTED; 2]);
        let stream = stream(1);
        assert_eq!(cuStreamBeginCapture_v2(stream, 3), Code::INVALID_VALUE);
        let mut graph = stream;
        assert_eq!(cuStreamEndCapture(stream, &mut graph), Code::ILLEGAL_STATE);
        assert!(graph.is_null());
        let (mut mode, mut memory) = (2, 0);
        ok(cuThreadExchangeStreamCaptureMode(&mut mode));
        assert_eq!(mode, 0);
        ok(cuStreamBeginCapture_v2(stream, 0));
        ok(cuMemAlloc_v2(&mut memory, 4));
        ok(cuGraphDestroy(get(|to| cuStreamEndCapture(stream, to))));
        mode = 0;
        ok(cuThreadExchangeStreamCaptureMode(&mut mode));
        assert_eq!(mode, 2);
        mode = 7;
        assert_eq!(cuThreadExchangeStreamCaptureMode(&mut mode), Code::INVALID_VALUE);
        ok(cuStreamDestroy_v2(stream));
        ok(cuMemFree_v2(memory));
    }
    assert!(kinds().is_empty());
}

#[test]
fn an_event_of_a_capture_never_happens() {
    let (_alone, _primary) = alone();
    let stream = stream(1);
    // SAFETY: pointers of the helper.
    unsafe {
        let event = get(|to| cuEventCreate(to, 0));
        ok(cuStreamBeginCapture_v2(stream, 0));
        ok(cuEventRecord(event, stream));
        assert_eq!(cuEventQuery(event), Code::CAPTURED_EVENT);
        assert_eq!(cuEventSynchronize(event), Code::CAPTURED_EVENT);
        cuStreamEndCapture(stream, &mut null_mut());
        ok(cuEventRecord(event, stream));
        ok(cuEventSynchronize(event));
        ok(cuEventDestroy_v2(event));
        ok(cuStreamDestroy_v2(stream));
    }
}
