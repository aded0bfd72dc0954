//! Streams, events, host functions and captures through C.

mod common;

use common::child::in_child;
use common::host::{Holder, held, never_returns};
use common::{Buffer, alone, get, kinds, ok};
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::capture::*;
use isobit_simgpu_hip::copy::hipMemcpyAsync;
use isobit_simgpu_hip::copy_kinds::{DEVICE_TO_HOST, HOST_TO_DEVICE};
use isobit_simgpu_hip::device::hipDeviceSynchronize;
use isobit_simgpu_hip::event::*;
use isobit_simgpu_hip::graph::*;
use isobit_simgpu_hip::graph_node::*;
use isobit_simgpu_hip::host::*;
use isobit_simgpu_hip::memory::{hipFree, hipMalloc};
use isobit_simgpu_hip::pinned::hipHostMalloc;
use isobit_simgpu_hip::set::{hipMemset, hipMemsetAsync};
use isobit_simgpu_hip::stream::*;
use isobit_simgpu_runtime_common::host::HostFn;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the tests pass a counter that outlives the call.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
}

fn stream(flags: u32) -> *mut c_void {
    // SAFETY: the pointer comes from the helper.
    get(|to| unsafe { hipStreamCreateWithFlags(to, flags) })
}

#[test]
fn streams_and_events_are_validated() {
    let _alone = alone();
    let stream = stream(1);
    // SAFETY: the pointers are null or come from the helper, here and below.
    unsafe {
        assert_eq!(get(|to| hipStreamGetFlags(stream, to)), 1);
        assert_eq!(get(|to| hipStreamGetDevice(stream, to)), 0);
        let low = get(|to| hipStreamCreateWithPriority(to, 0, 100));
        assert_eq!(get(|to| hipStreamGetPriority(low, to)), 1, "clamped");
        ok(hipStreamDestroy(low));
        let event = get(|to| hipEventCreate(to));
        ok(hipEventRecord(event, stream));
        ok(hipEventSynchronize(event));
        let later = get(|to| hipEventCreateWithFlags(to, 0));
        let mut ms = -1.0;
        assert_eq!(hipEventElapsedTime(&mut ms, event, later), Code::INVALID_HANDLE, "never recorded");
        ok(hipEventRecord(later, stream));
        ok(hipEventElapsedTime(&mut ms, event, later));
        assert!((0.0..10_000.0).contains(&ms), "{ms}");
        let untimed = get(|to| hipEventCreateWithFlags(to, 2));
        ok(hipEventRecord(untimed, stream));
        assert_eq!(hipEventElapsedTime(&mut ms, event, untimed), Code::INVALID_HANDLE);
        assert_eq!(hipEventCreateWithFlags(&mut null_mut(), 4), Code::INVALID_VALUE, "between processes");
        assert_eq!(hipStreamCreateWithFlags(&mut null_mut(), 2), Code::INVALID_VALUE);
        assert_eq!(hipStreamCreate(null_mut()), Code::INVALID_VALUE);
        for event in [event, later, untimed] {
            ok(hipEventDestroy(event));
        }
        assert_eq!(hipEventRecord(event, stream), Code::INVALID_HANDLE);
        assert_eq!(hipStreamWaitEvent(stream, null_mut(), 0), Code::INVALID_HANDLE);
    }
    assert_eq!(hipStreamDestroy(null_mut()), Code::INVALID_HANDLE);
    ok(hipStreamDestroy(stream));
    assert_eq!(hipStreamDestroy(stream), Code::INVALID_HANDLE);
    assert_eq!(hipStreamSynchronize(stream), Code::INVALID_HANDLE);
    for own in [0, 1, 2] {
        ok(hipStreamSynchronize(own as *mut c_void));
        ok(hipStreamQuery(own as *mut c_void));
    }
    ok(hipDeviceSynchronize());
}

#[test]
fn functions_of_the_host_are_called_in_order() {
    let _alone = alone();
    unsafe extern "C" fn called(_stream: *mut c_void, code: Code, data: *mut c_void) {
        assert_eq!(code, Code::SUCCESS);
        // SAFETY: as for `count`.
        unsafe { count(data) };
    }
    unsafe extern "C" fn calls_back(data: *mut c_void) {
        let refused = hipDeviceSynchronize() == Code::NOT_SUPPORTED;
        // SAFETY: as for `count`.
        unsafe { &*data.cast::<AtomicU32>() }.fetch_add(u32::from(refused) * 10, Ordering::Relaxed);
    }
    let (stream, counter) = (stream(0), AtomicU32::new(0));
    let data = (&raw const counter).cast_mut().cast();
    // SAFETY: the counter outlives the work, because the test waits for it.
    unsafe {
        ok(hipLaunchHostFunc(stream, Some(count), data));
        ok(hipStreamAddCallback(stream, Some(called), data, 0));
        ok(hipLaunchHostFunc(stream, Some(calls_back), data));
        assert_eq!(hipLaunchHostFunc(stream, None, data), Code::INVALID_VALUE);
        assert_eq!(hipStreamAddCallback(stream, Some(called), data, 1), Code::INVALID_VALUE);
    }
    ok(hipStreamSynchronize(stream));
    assert_eq!(counter.load(Ordering::Relaxed), 12);
    ok(hipStreamDestroy(stream));
}

#[test]
fn a_function_may_wait_for_the_thread_that_launched_it() {
    in_child("a_function_may_wait_for_the_thread_that_launched_it", || {
        let _alone = alone();
        let (one, other) = (stream(1), stream(1));
        // SAFETY: the pointer is the helper's.
        let pinned = get(|to| unsafe { hipHostMalloc(to, 4, 0) }).cast::<u8>();
        let holder = Holder::new();
        // SAFETY: the memory and the holder outlive the work, because the test waits for it.
        unsafe {
            pinned.write_bytes(0, 4);
            ok(hipLaunchHostFunc(one, Some(held), holder.data()));
            let event = get(|to| hipEventCreateWithFlags(to, 2));
            ok(hipEventRecord(event, one));
            ok(hipStreamWaitEvent(other, event, 0));
            ok(hipMemsetAsync(pinned.cast(), 7, 4, other));
            assert_ne!(holder.begun.recv(), Ok(std::thread::current().id()));
            assert_eq!([hipStreamQuery(one), hipStreamQuery(other), hipEventQuery(event)], [Code::NOT_READY; 3]);
            assert_eq!(pinned.read_volatile(), 0, "later work waits for the function");
            holder.release.send(()).expect("the function waits for it");
            ok(hipStreamSynchronize(other));
            assert_eq!(pinned.read_volatile(), 7);
            ok(hipEventDestroy(event));
        }
        ok(hipStreamDestroy(one));
        ok(hipStreamDestroy(other));
    });
}

#[test]
fn an_exception_of_a_function_is_a_failure_of_the_stream() {
    unsafe extern "C-unwind" fn throws(_data: *mut c_void) {
        panic!("an exception");
    }
    in_child("an_exception_of_a_function_is_a_failure_of_the_stream", || {
        let _alone = alone();
        let stream = stream(1);
        // SAFETY: the types differ only in whether an exception may leave the function.
        let throws = unsafe { std::mem::transmute::<unsafe extern "C-unwind" fn(*mut c_void), HostFn>(throws) };
        // SAFETY: the function ignores its argument.
        ok(unsafe { hipLaunchHostFunc(stream, Some(throws), null_mut()) });
        assert_eq!(hipStreamSynchronize(stream), Code::LAUNCH_FAILURE);
    });
}

#[test]
fn the_end_of_the_process_does_not_wait_for_functions() {
    in_child("the_end_of_the_process_does_not_wait_for_functions", || {
        let _alone = alone();
        let stream = stream(1);
        // SAFETY: the function ignores its argument.
        unsafe {
            ok(hipLaunchHostFunc(stream, Some(never_returns), null_mut()));
            ok(hipLaunchHostFunc(stream, Some(never_returns), null_mut()));
        }
        ok(hipStreamDestroy(stream));
    });
}

#[test]
fn a_captured_stream_becomes_a_graph() {
    let _alone = alone();
    let (stream, a, counter) = (stream(1), Buffer::new(4), AtomicU32::new(0));
    let (source, mut result) = (7u32, 0u32);
    // SAFETY: the memory outlives the work that uses it, because the test waits for the launches.
    unsafe {
        ok(hipStreamBeginCapture(stream, 0));
        assert_eq!(get(|to| hipStreamIsCapturing(stream, to)), 1);
        ok(hipMemcpyAsync(a.0, (&raw const source).cast(), 4, HOST_TO_DEVICE, stream));
        ok(hipMemcpyAsync((&raw mut result).cast(), a.0, 4, DEVICE_TO_HOST, stream));
        ok(hipMemsetAsync(a.0, 0, 4, stream));
        ok(hipLaunchHostFunc(stream, Some(count), (&raw const counter).cast_mut().cast()));
        let graph = get(|to| hipStreamEndCapture(stream, to));
        assert_eq!((result, get(|to| hipStreamIsCapturing(stream, to))), (0, 0));

        let mut nodes = [null_mut(); 6];
        let mut count = 6;
        ok(hipGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count));
        assert_eq!(count, 4);
        let kinds: Vec<_> = nodes[..4].iter().map(|&node| get(|to| hipGraphNodeGetType(node, to))).collect();
        assert_eq!(kinds, [1, 1, 2, 3]);
        count = 1;
        let mut root = null_mut();
        ok(hipGraphGetRootNodes(graph, &mut root, &mut count));
        assert_eq!((root, count), (nodes[0], 1));
        ok(hipGraphNodeGetDependencies(nodes[2], &mut root, &mut count));
        assert_eq!((root, count), (nodes[1], 1));

        let exec = get(|to| hipGraphInstantiate(to, graph, null_mut(), null_mut(), 0));
        ok(hipGraphDestroy(graph));
        assert_eq!(hipGraphNodeGetType(nodes[0], &mut 0), Code::INVALID_VALUE, "the nodes went with their graph");
        ok(hipGraphLaunch(exec, stream));
        ok(hipGraphLaunch(exec, stream));
        ok(hipStreamSynchronize(stream));
        assert_eq!((result, counter.load(Ordering::Relaxed)), (7, 2));
        ok(hipGraphExecDestroy(exec));
        assert_eq!(hipGraphLaunch(exec, stream), Code::INVALID_VALUE);
    }
    ok(hipStreamDestroy(stream));
    assert!(kinds().is_empty());
}

#[test]
fn a_capture_refuses_what_waits_or_allocates() {
    let _alone = alone();
    let (stream, blocking) = (stream(1), stream(0));
    let held = Buffer::new(4);
    let mut memory = null_mut();
    let refused = |stream, mut call: Box<dyn FnMut() -> Code + '_>, code| {
        ok(hipStreamBeginCapture(stream, 0));
        assert_eq!(call(), code);
        let mut graph = stream;
        // SAFETY: the pointers point to locals.
        unsafe {
            assert_eq!(get(|to| hipStreamIsCapturing(stream, to)), 2);
            assert_eq!(hipStreamEndCapture(stream, &mut graph), Code::STREAM_CAPTURE_INVALIDATED);
        }
        assert!(graph.is_null());
    };
    // SAFETY: the call is refused.
    refused(stream, Box::new(|| unsafe { hipMalloc(&mut memory, 4) }), Code::STREAM_CAPTURE_UNSUPPORTED);
    refused(stream, Box::new(|| hipFree(held.0)), Code::STREAM_CAPTURE_UNSUPPORTED);
    refused(stream, Box::new(|| hipDeviceSynchronize()), Code::STREAM_CAPTURE_UNSUPPORTED);
    refused(stream, Box::new(|| hipStreamSynchronize(stream)), Code::STREAM_CAPTURE_UNSUPPORTED);
    refused(stream, Box::new(|| hipStreamQuery(stream)), Code::STREAM_CAPTURE_UNSUPPORTED);
    // SAFETY: the call is refused.
    refused(stream, Box::new(|| unsafe { hipMemset(held.0, 0, 4) }), Code::STREAM_CAPTURE_UNSUPPORTED);
    let legacy = null_mut();
    // SAFETY: the call is refused.
    refused(blocking, Box::new(|| unsafe { hipMemsetAsync(held.0, 0, 4, legacy) }), Code::STREAM_CAPTURE_IMPLICIT);

    assert_eq!(hipStreamBeginCapture(legacy, 0), Code::STREAM_CAPTURE_UNSUPPORTED);
    assert_eq!(hipStreamBeginCapture(stream, 3), Code::INVALID_VALUE);
    // SAFETY: the pointers come from the helper or point to a local.
    unsafe {
        let mut mode = 2;
        ok(hipThreadExchangeStreamCaptureMode(&mut mode));
        assert_eq!(mode, 0);
        ok(hipStreamBeginCapture(stream, 0));
        ok(hipMalloc(&mut memory, 4));
        ok(hipGraphDestroy(get(|to| hipStreamEndCapture(stream, to))));
        mode = 0;
        ok(hipThreadExchangeStreamCaptureMode(&mut mode));
        assert_eq!(mode, 2);
    }
    for stream in [stream, blocking] {
        ok(hipStreamDestroy(stream));
    }
    ok(hipFree(memory));
}

#[test]
fn graphs_are_made_by_hand_too() {
    let _alone = alone();
    let (a, counter) = (Buffer::new(8), AtomicU32::new(0));
    let mut result = [0u8; 8];
    // SAFETY: the memory outlives the launch that uses it, because the test waits for it.
    unsafe {
        let graph = get(|to| hipGraphCreate(to, 0));
        let set = |value, offset| MemsetParams { to: a.at(offset), element: 4, height: 1, pitch: 0, value, width: 1 };
        let first = get(|to| hipGraphAddMemsetNode(to, graph, std::ptr::null(), 0, &set(0x0101_0101, 0)));
        let second = get(|to| hipGraphAddMemsetNode(to, graph, std::ptr::null(), 0, &set(0x0202_0202, 4)));
        let both = [first, second];
        let join = get(|to| hipGraphAddEmptyNode(to, graph, both.as_ptr(), 2));
        let copied = result.as_mut_ptr().cast();
        let copy = get(|to| hipGraphAddMemcpyNode1D(to, graph, &join, 1, copied, a.0, 8, DEVICE_TO_HOST));
        let host = HostNodeParams { func: Some(count), data: (&raw const counter).cast_mut().cast() };
        get(|to| hipGraphAddHostNode(to, graph, &copy, 1, &host));
        let twice = [first, first];
        assert_eq!(hipGraphAddEmptyNode(&mut null_mut(), graph, twice.as_ptr(), 2), Code::INVALID_VALUE);
        assert_eq!(hipGraphAddEmptyNode(&mut null_mut(), first, both.as_ptr(), 2), Code::INVALID_VALUE);
        let other = get(|to| hipGraphCreate(to, 0));
        assert_eq!(hipGraphAddEmptyNode(&mut null_mut(), other, &first, 1), Code::INVALID_VALUE, "of another graph");
        ok(hipGraphDestroy(other));

        let exec = get(|to| hipGraphInstantiateWithFlags(to, graph, 0));
        ok(hipGraphLaunch(exec, null_mut()));
        ok(hipStreamSynchronize(null_mut()));
        assert_eq!((result, counter.load(Ordering::Relaxed)), ([1, 1, 1, 1, 2, 2, 2, 2], 1));
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(graph));
    }
}

#[test]
fn an_executable_graph_takes_over_what_a_graph_like_it_does() {
    let _alone = alone();
    let buffer = Buffer::new(4);
    // SAFETY: the memory outlives the launches that use it, because the test waits for them.
    unsafe {
        let setting = |value| {
            let graph = get(|to| hipGraphCreate(to, 0));
            let set = MemsetParams { to: buffer.at(0), element: 4, height: 1, pitch: 0, value, width: 1 };
            get(|to| hipGraphAddMemsetNode(to, graph, std::ptr::null(), 0, &set));
            graph
        };
        let (ones, twos, empty) = (setting(0x0101_0101), setting(0x0202_0202), get(|to| hipGraphCreate(to, 0)));
        let exec = get(|to| hipGraphInstantiate(to, ones, null_mut(), null_mut(), 0));
        let (mut node, mut result) = (exec, 9);
        ok(hipGraphExecUpdate(exec, twos, &mut node, &mut result));
        assert_eq!((node, result), (null_mut(), 0));
        assert_eq!(hipGraphExecUpdate(exec, empty, &mut node, &mut result), Code::GRAPH_EXEC_UPDATE_FAILURE);
        assert_eq!(result, 2, "the topology");
        assert_eq!(hipGraphExecUpdate(exec, ones, null_mut(), &mut result), Code::INVALID_VALUE);
        assert_eq!(hipGraphExecUpdate(ones, ones, &mut node, &mut result), Code::INVALID_VALUE);
        ok(hipGraphLaunch(exec, null_mut()));
        let mut result = [0u8; 4];
        ok(hipMemcpyAsync(result.as_mut_ptr().cast(), buffer.0, 4, DEVICE_TO_HOST, null_mut()));
        ok(hipStreamSynchronize(null_mut()));
        assert_eq!(result, [2; 4], "the update that failed changed nothing");
        ok(hipGraphExecDestroy(exec));
        for graph in [ones, twos, empty] {
            ok(hipGraphDestroy(graph));
        }
    }
}
