//! Stream-ordered memory and its pools.

mod common;

use common::{Buffer, Code, NULL, alone, get, kinds, ok};
use isobit_simgpu_cuda::memory::cuMemFree_v2;
use isobit_simgpu_cuda::pointer::cuPointerGetAttribute;
use isobit_simgpu_cuda::pool::*;
use isobit_simgpu_cuda::set::cuMemsetD8Async;
use isobit_simgpu_cuda::stream::*;
use isobit_simgpu_cuda::stream_memory::*;
use std::ffi::c_void;
use std::ptr::null_mut;

fn attribute(pool: *mut c_void, number: i32) -> u64 {
    // SAFETY: the pointer is the helper's, and has room for the widest attribute.
    get(|to: *mut u64| unsafe { cuMemPoolGetAttribute(pool, number, to.cast()) })
}

#[test]
fn memory_comes_and_goes_in_stream_order() {
    let (_alone, _primary) = alone();
    // SAFETY: pointers of the helper and to locals.
    unsafe {
        let stream = get(|to| cuStreamCreate(to, 1));
        let pool = get(|to| cuDeviceGetDefaultMemPool(to, 0));
        assert_eq!(get(|to| cuDeviceGetMemPool(to, 0)), pool);
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(|n| attribute(pool, n)), [1, 1, 1, 0, 0, 0, 0, 0]);
        let a = get(|to| cuMemAllocAsync(to, 100, stream));
        assert_eq!([attribute(pool, 7), attribute(pool, 8)], [100, 100]);
        assert_eq!(get(|to: *mut *mut c_void| cuPointerGetAttribute(to.cast(), 17, a)), pool);
        ok(cuMemsetD8Async(a, 1, 100, stream));
        ok(cuMemFreeAsync(a, stream));
        assert_eq!(cuMemFreeAsync(a, stream), Code::INVALID_VALUE, "twice");
        ok(cuStreamSynchronize(stream));
        assert_eq!([attribute(pool, 7), attribute(pool, 8)], [0, 100]);
        assert!(kinds().is_empty());
        assert_eq!(cuMemsetD8Async(a, 1, 100, stream), Code::INVALID_VALUE);
        assert_eq!(kinds(), ["out_of_bounds"], "use after free");

        assert_eq!(get(|to| cuMemAllocAsync(to, 0, stream)), 0);
        ok(cuMemFreeAsync(0, stream));
        // Every way to allocate works with every way to free.
        let plain = std::mem::ManuallyDrop::new(Buffer::new(64));
        ok(cuMemFreeAsync(plain.0, stream));
        ok(cuMemFree_v2(get(|to| cuMemAllocAsync(to, 50, NULL))));
        assert_eq!(attribute(pool, 7), 0);
        assert_eq!(cuMemAllocAsync(&mut 0, usize::MAX, stream), Code::OUT_OF_MEMORY);
        assert_eq!(cuMemAllocAsync(null_mut(), 4, stream), Code::INVALID_VALUE);
        ok(cuStreamDestroy_v2(stream));
    }
}

#[test]
fn pools_have_attributes_of_their_own() {
    let (_alone, _primary) = alone();
    let props = PoolProps {
        kind: 1,
        handles: 0,
        location: Location { kind: 1, id: 0 },
        security: null_mut(),
        most: 0,
        usage: 0,
        reserved: [0; 54],
    };
    // SAFETY: pointers of the helper and to locals.
    unsafe {
        let default = get(|to| cuDeviceGetDefaultMemPool(to, 0));
        let pool = get(|to| cuMemPoolCreate(to, &props));
        let threshold = 1u64 << 40;
        ok(cuMemPoolSetAttribute(pool, 4, (&raw const threshold).cast()));
        assert_eq!([attribute(pool, 4), attribute(default, 4)], [threshold, 0]);
        let off = 0u32;
        ok(cuMemPoolSetAttribute(pool, 2, (&raw const off).cast()));
        assert_eq!([1, 2, 3].map(|n| attribute(pool, n)), [1, 0, 1]);
        assert_eq!(cuMemPoolSetAttribute(pool, 7, (&raw const threshold).cast()), Code::INVALID_VALUE);
        assert_eq!(cuMemPoolSetAttribute(pool, 8, (&raw const threshold).cast()), Code::INVALID_VALUE);
        assert_eq!(cuMemPoolGetAttribute(pool, 0, null_mut()), Code::INVALID_VALUE);
        let a = get(|to| cuMemAllocFromPoolAsync(to, 32, pool, NULL));
        assert_eq!([attribute(pool, 7), attribute(default, 7)], [32, 0]);
        ok(cuDeviceSetMemPool(0, pool));
        let b = get(|to| cuMemAllocAsync(to, 16, NULL));
        assert_eq!(attribute(pool, 7), 48);
        ok(cuMemFreeAsync(b, NULL));
        ok(cuMemPoolTrimTo(pool, 0));
        let access = Access { location: props.location, flags: 3 };
        ok(cuMemPoolSetAccess(pool, &access, 1));
        assert_eq!(cuMemPoolSetAccess(pool, &Access { flags: 0, ..access }, 1), Code::INVALID_VALUE, "its own device");
        assert_eq!(get(|to| cuMemPoolGetAccess(to, pool, &props.location)), 3);
        ok(cuMemPoolDestroy(pool));
        assert_eq!(get(|to| cuDeviceGetMemPool(to, 0)), default);
        assert_eq!(cuMemPoolDestroy(pool), Code::INVALID_VALUE);
        assert_eq!(cuMemPoolDestroy(default), Code::INVALID_VALUE);
        ok(cuMemFree_v2(a));
        assert_eq!(cuMemPoolCreate(&mut null_mut(), &PoolProps { handles: 1, ..props }), Code::NOT_SUPPORTED);
        assert_eq!(cuMemPoolCreate(&mut null_mut(), &PoolProps { kind: 0, ..props }), Code::INVALID_VALUE);
    }
    assert!(kinds().is_empty());
}
