//! Contexts: the stack of each thread, the primary context, and what a destroyed context destroys
//! with it.

mod common;

use common::{Code, Handle, NULL, alone, context, get, kernel, load, ok};
use isobit_simgpu_cuda::context::*;
use isobit_simgpu_cuda::event::*;
use isobit_simgpu_cuda::launch::cuLaunchKernel;
use isobit_simgpu_cuda::limits::*;
use isobit_simgpu_cuda::memory::*;
use isobit_simgpu_cuda::module::*;
use isobit_simgpu_cuda::primary::*;
use isobit_simgpu_cuda::set::cuMemsetD8Async;
use isobit_simgpu_cuda::stream::*;
use std::ptr::null_mut;

fn current() -> Handle {
    // SAFETY: the pointer is the helper's.
    get(|to| unsafe { cuCtxGetCurrent(to) })
}

fn create() -> Handle {
    // SAFETY: the pointer is the helper's.
    get(|to| unsafe { cuCtxCreate_v2(to, 0, 0) })
}

#[test]
fn each_thread_has_its_stack() {
    let (_alone, primary) = alone();
    let (a, b) = (create(), create());
    assert_eq!(current(), b);
    ok(cuCtxPushCurrent_v2(primary.0));
    assert_eq!(current(), primary.0);
    let there = std::thread::spawn(|| {
        let before = current() as u64;
        // SAFETY: the call is rejected.
        let refused = unsafe { cuMemAlloc_v2(&mut 0, 4) };
        (before, refused)
    });
    assert_eq!(there.join().unwrap(), (0, Code::INVALID_CONTEXT), "another thread has no context");
    // SAFETY: pointers of the helper or null.
    unsafe {
        assert_eq!(get(|to| cuCtxPopCurrent_v2(to)), primary.0);
        assert_eq!(get(|to| cuCtxGetDevice(to)), 0);
        ok(cuCtxSetCurrent(a));
        assert_eq!(current(), a, "it replaces the context on top");
        ok(cuCtxDestroy_v2(a));
        assert_eq!(current(), a, "the destroyed context is still below on the stack");
        assert_eq!(cuMemAlloc_v2(&mut 0, 4), Code::CONTEXT_IS_DESTROYED);
        ok(cuCtxPopCurrent_v2(null_mut()));
        assert_eq!(cuCtxDestroy_v2(a), Code::CONTEXT_IS_DESTROYED);
        ok(cuCtxSetCurrent(NULL));
        assert_eq!(cuCtxPopCurrent_v2(null_mut()), Code::INVALID_CONTEXT);
        assert_eq!(cuCtxGetDevice(&mut 0), Code::INVALID_CONTEXT);
        assert_eq!(cuCtxSynchronize(), Code::INVALID_CONTEXT);
        assert_eq!(cuCtxPushCurrent_v2(NULL), Code::INVALID_VALUE);
        assert_eq!(cuCtxSetCurrent(0x1234 as Handle), Code::INVALID_CONTEXT);
        assert_eq!(cuCtxDestroy_v2(primary.0), Code::INVALID_CONTEXT);
        assert_eq!(cuCtxCreate_v2(null_mut(), 0, 0), Code::INVALID_VALUE);
        assert_eq!(cuCtxCreate_v2(&mut NULL.clone(), 0x100, 0), Code::INVALID_VALUE);
        assert_eq!(cuCtxCreate_v2(&mut NULL.clone(), 0, 7), Code::INVALID_DEVICE);
    }
    ok(cuCtxDestroy_v2(b));
}

#[test]
fn the_primary_context_is_shared_and_counted() {
    let (_alone, primary) = alone();
    let state = || {
        let (mut flags, mut active) = (9, 9);
        // SAFETY: pointers to locals.
        ok(unsafe { cuDevicePrimaryCtxGetState(0, &mut flags, &mut active) });
        (flags, active)
    };
    assert_eq!(state(), (0, 1));
    assert_eq!(context(0), primary.0, "one handle for all callers");
    ok(cuDevicePrimaryCtxRelease_v2(0));
    ok(cuDevicePrimaryCtxSetFlags_v2(0, 4));
    // SAFETY: pointers of the helper.
    unsafe {
        assert_eq!(get(|to| cuCtxGetFlags(to)), 4);
        assert_eq!(get(|to| cuCtxGetApiVersion(primary.0, to)), 3020);
    }
    let memory = common::Buffer::new(16);
    ok(cuDevicePrimaryCtxRelease_v2(0));
    assert_eq!(state(), (4, 0));
    assert_eq!(cuDevicePrimaryCtxRelease_v2(0), Code::INVALID_CONTEXT);
    // SAFETY: pointers to locals.
    unsafe {
        assert_eq!(cuMemAlloc_v2(&mut 0, 4), Code::CONTEXT_IS_DESTROYED);
        assert_eq!(
            cuMemGetAddressRange_v2(&mut 0, null_mut(), memory.0),
            Code::NOT_FOUND,
            "its memory is freed with it"
        );
        assert_eq!(cuCtxGetApiVersion(primary.0, &mut 0), Code::INVALID_CONTEXT);
    }
    ok(cuCtxSetCurrent(primary.0));
    assert_eq!(context(0), primary.0, "it is recreated with its handle");
    drop(common::Buffer::new(16));
    ok(cuDevicePrimaryCtxSetFlags_v2(0, 0));
    assert_eq!(cuDevicePrimaryCtxSetFlags_v2(0, 0x100), Code::INVALID_VALUE);
    ok(cuDevicePrimaryCtxReset_v2(0));
    assert_eq!(state(), (0, 0));
}

#[test]
fn limits_and_preferences() {
    let (_alone, _primary) = alone();
    // SAFETY: pointers of the helper, here and below.
    let limit = |number| get(|to| unsafe { cuCtxGetLimit(to, number) });
    // The values of the driver for a real card: stack, printf (64 KiB per multiprocessor), heap,
    // device-side launches, L2, shared memory.
    assert_eq!([0, 1, 2, 4, 5, 7].map(limit), [1024, 108 << 16, 8 << 20, 2048, 64, 166_912]);
    ok(cuCtxSetLimit(0, 2048));
    assert_eq!(limit(0), 2048);
    assert_eq!(cuCtxSetLimit(0, 1 << 40), Code::INVALID_VALUE);
    assert_eq!([3, 9].map(|number| cuCtxSetLimit(number, 1)), [Code::UNSUPPORTED_LIMIT; 2]);
    // SAFETY: as above.
    unsafe {
        assert_eq!(cuCtxGetLimit(&mut 0, 10), Code::INVALID_VALUE);
        assert_eq!(cuCtxGetLimit(&mut 0, 3), Code::UNSUPPORTED_LIMIT);
        ok(cuCtxSetCacheConfig(1));
        assert_eq!(get(|to| cuCtxGetCacheConfig(to)), 1);
        assert_eq!(cuCtxSetCacheConfig(9), Code::INVALID_VALUE);
        let (mut least, mut greatest) = (9, 9);
        ok(cuCtxGetStreamPriorityRange(&mut least, &mut greatest));
        assert_eq!((least, greatest), (0, -5));
    }
}

#[test]
fn what_belongs_to_a_context_is_used_with_it_and_goes_with_it() {
    let (_alone, primary) = alone();
    let other = create();
    // SAFETY: pointers of the helper, handles of both contexts, a kernel without arguments.
    unsafe {
        let stream = get(|to| cuStreamCreate(to, 1));
        let event = get(|to| cuEventCreate(to, 0));
        let memory = get(|to| cuMemAlloc_v2(to, 64));
        let module = load(common::SOURCE);
        let nothing = kernel(module, c"nothing");
        assert_eq!(get(|to| cuStreamGetCtx(stream, to)), other);
        ok(cuCtxSetCurrent(primary.0));
        // Each handle identifies its context; work on the resources of both does not mix them.
        ok(cuStreamSynchronize(stream));
        ok(cuMemsetD8Async(memory, 0, 64, stream));
        let own = get(|to| cuEventCreate(to, 0));
        assert_eq!(cuEventRecord(own, stream), Code::INVALID_HANDLE);
        ok(cuEventRecord(own, NULL));
        ok(cuStreamWaitEvent(stream, own, 0));
        let launch = |stream| cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut());
        assert_eq!(launch(NULL), Code::INVALID_HANDLE);
        ok(launch(stream));
        // No current context is needed if handles identify one. Setting null uncovers the context
        // below.
        ok(cuCtxSetCurrent(NULL));
        assert_eq!(current(), primary.0);
        ok(cuCtxSetCurrent(NULL));
        ok(launch(stream));
        ok(cuEventRecord(event, stream));
        ok(cuEventSynchronize(event));
        assert_eq!(launch(NULL), Code::INVALID_CONTEXT);
        ok(cuCtxDestroy_v2(other));
        assert_eq!(cuStreamSynchronize(stream), Code::INVALID_HANDLE);
        assert_eq!(cuEventQuery(event), Code::INVALID_HANDLE);
        assert_eq!(cuModuleUnload(module), Code::INVALID_HANDLE);
        assert_eq!(launch(stream), Code::INVALID_HANDLE);
        assert_eq!(cuMemFree_v2(memory), Code::INVALID_VALUE);
        ok(cuEventDestroy_v2(own));
    }
    assert!(common::kinds().is_empty());
}
