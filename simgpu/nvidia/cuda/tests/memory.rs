//! Memory: allocation, copies, sets, which bytes count as written, and which calls are rejected.

mod common;

use common::{Buffer, Code, NULL, alone, download, get, kinds, ok, report};
use isobit_simgpu_cuda::copy::*;
use isobit_simgpu_cuda::copy_shapes::*;
use isobit_simgpu_cuda::managed::*;
use isobit_simgpu_cuda::memory::*;
use isobit_simgpu_cuda::pinned::*;
use isobit_simgpu_cuda::pointer::*;
use isobit_simgpu_cuda::report::isobit_sim_access;
use isobit_simgpu_cuda::set::*;
use isobit_simgpu_cuda::write_value::*;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Whether a library may read bytes without a finding.
fn is_written(at: u64, bytes: usize) -> bool {
    // SAFETY: the name ends in NUL.
    let may = unsafe { isobit_sim_access(at as *const c_void, bytes, 0, c"test".as_ptr()) };
    assert_eq!(may, 0, "an uninitialised read may be made");
    kinds().is_empty()
}

fn host<T>(values: &[T]) -> *const c_void {
    values.as_ptr().cast()
}

#[test]
fn bytes_go_there_and_back_and_carry_what_is_written() {
    let (_alone, _primary) = alone();
    let bytes: Vec<u8> = (0..1000).map(|i| (i * 7) as u8).collect();
    let (a, b, c) = (Buffer::of(&bytes), Buffer::new(1000), Buffer::new(64));
    // SAFETY: device pointers of the right sizes.
    unsafe {
        ok(cuMemcpyDtoD_v2(b.at(100), a.at(3), 500));
        ok(cuMemcpyAsync(b.at(601), a.at(601), 99, NULL));
        assert_eq!(download(b.at(100), 500), bytes[3..503]);
        assert_eq!(download(b.at(601), 99), bytes[601..700]);
        assert!(is_written(b.at(100), 500) && !is_written(b.at(99), 501) && !is_written(b.at(100), 501));
        ok(cuMemsetD8_v2(b.0, 5, 64));
        ok(cuMemcpyHtoD_v2(c.at(8), host(&[1u8; 8]), 8));
        ok(cuMemcpyDtoDAsync_v2(b.0, c.0, 64, NULL));
    }
    assert!(!is_written(b.0, 8) && is_written(b.at(8), 8) && !is_written(b.at(16), 48));
    download(b.0, 64);
    assert!(kinds().is_empty(), "padding is copied out legitimately");
}

#[test]
fn sets_of_every_width_and_rows() {
    let (_alone, _primary) = alone();
    let a = Buffer::new(64);
    // SAFETY: device pointers of the right sizes.
    unsafe {
        ok(cuMemsetD8Async(a.0, 0xab, 64, NULL));
        ok(cuMemsetD16_v2(a.at(2), 0x1234, 3));
        ok(cuMemsetD32Async(a.at(16), 0x0102_0304, 2, NULL));
        ok(cuMemsetD2D8_v2(a.at(32), 8, 0x7f, 3, 4));
        assert_eq!(cuMemsetD16_v2(a.at(1), 0, 1), Code::INVALID_VALUE, "a multiple of the element");
        assert_eq!(cuMemsetD32_v2(a.at(2), 0, 1), Code::INVALID_VALUE);
        assert_eq!(cuMemsetD2D8_v2(a.0, 2, 0, 4, 2), Code::INVALID_VALUE);
        assert_eq!(cuMemsetD2D32Async(a.0, 6, 0, 1, 2, NULL), Code::INVALID_VALUE);
        assert_eq!(cuMemsetD8_v2(0, 1, 4), Code::INVALID_VALUE);
        ok(cuMemsetD8_v2(0, 1, 0));
        ok(cuStreamWriteValue32_v2(NULL, a.at(8), 0x0a0b_0c0d, 0));
        ok(cuStreamWriteValue64_v2(NULL, a.at(24), 1, 1));
        assert_eq!(cuStreamWriteValue64_v2(NULL, a.at(4), 1, 0), Code::INVALID_VALUE);
    }
    let mut expected = vec![0xab; 64];
    expected[2..8].copy_from_slice(&[0x34, 0x12, 0x34, 0x12, 0x34, 0x12]);
    expected[8..12].copy_from_slice(&[0x0d, 0x0c, 0x0b, 0x0a]);
    expected[16..24].copy_from_slice(&[4, 3, 2, 1, 4, 3, 2, 1]);
    expected[24..32].copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    (0..4).for_each(|row| expected[32 + 8 * row..35 + 8 * row].fill(0x7f));
    assert_eq!(download(a.0, 64), expected);
    assert!(kinds().is_empty());
    // SAFETY: the call is rejected and reported as a finding.
    assert_eq!(unsafe { cuMemsetD8_v2(a.0, 1, 1 << 22) }, Code::INVALID_VALUE);
    assert_eq!(kinds(), ["out_of_bounds"]);
}

#[test]
fn rows_and_layers_are_copied_with_their_distances() {
    let (_alone, _primary) = alone();
    let bytes: Vec<u8> = (0..120).collect();
    let a = Buffer::of(&[0; 200]);
    let place = |kind, host: *const c_void, device, pitch, height| Place {
        x: 0,
        y: 0,
        z: 0,
        level: 0,
        kind,
        host: host.cast_mut(),
        device,
        array: null_mut(),
        reserved: null_mut(),
        pitch,
        height,
    };
    // Two layers of three rows of four bytes, from rows of 10 and layers of 5 to rows of 12 and
    // layers of 4, starting at the second row's third byte.
    let from = Place { x: 2, y: 1, ..place(1, host(&bytes), 0, 10, 5) };
    let copy = Memcpy3D { from, to: place(2, null_mut(), a.0, 12, 4), width: 4, height: 3, depth: 2 };
    // SAFETY: the descriptions match the buffers.
    unsafe {
        ok(cuMemcpy3D_v2(&copy));
        let mut expected = vec![0; 200];
        for (layer, row, byte) in (0..2).flat_map(|l| (0..3).flat_map(move |r| (0..4).map(move |b| (l, r, b)))) {
            expected[layer * 48 + row * 12 + byte] = (layer * 50 + (row + 1) * 10 + byte + 2) as u8;
        }
        assert_eq!(download(a.0, 200), expected);
        let mut back = [0xffu8; 8];
        let row = |kind, host: *const c_void, device, x, pitch| Place2D {
            x,
            y: 0,
            kind,
            host: host.cast_mut(),
            device,
            array: null_mut(),
            pitch,
        };
        let to = row(1, back.as_mut_ptr().cast(), 0, 0, 4);
        let two = Memcpy2D { from: row(4, null_mut(), a.0, 1, 12), to, width: 3, height: 2 };
        ok(cuMemcpy2D_v2(&two));
        assert_eq!(back, [13, 14, 15, 0xff, 23, 24, 25, 0xff]);
        let narrow = Memcpy2D { to: Place2D { pitch: 2, ..two.to }, ..two };
        assert_eq!(cuMemcpy2DAsync_v2(&narrow, NULL), Code::INVALID_VALUE);
        let array = Memcpy2D { to: Place2D { kind: 3, ..two.to }, ..two };
        assert_eq!(cuMemcpy2D_v2(&array), Code::NOT_SUPPORTED);
        assert_eq!(cuMemcpy2D_v2(std::ptr::null()), Code::INVALID_VALUE);
        assert!(kinds().is_empty());
        let long = Memcpy3D { depth: 5, ..copy };
        assert_eq!(
            cuMemcpy3DAsync_v2(&Memcpy3D { from: place(4, null_mut(), a.0, 12, 4), ..long }, NULL),
            Code::INVALID_VALUE
        );
    }
    assert_eq!(kinds(), ["out_of_bounds"], "the last layer would end after the buffer");
}

#[test]
fn wrong_copies_are_refused_and_found() {
    let (_alone, _primary) = alone();
    let (a, bytes) = (Buffer::new(100), [0u8; 200]);
    let at = host(&bytes);
    // SAFETY: copies stay within `bytes`; every other call is rejected.
    unsafe {
        assert_eq!(cuMemcpyHtoD_v2(0, at, 1), Code::INVALID_VALUE);
        assert_eq!(cuMemcpyHtoD_v2(a.0, std::ptr::null(), 1), Code::INVALID_VALUE);
        assert_eq!(cuMemcpyHtoD_v2(at as u64, at, 1), Code::INVALID_VALUE, "no device memory");
        assert_eq!(cuMemcpyDtoD_v2(a.0, at as u64, 1), Code::INVALID_VALUE);
        assert_eq!(cuMemcpyHtoDAsync_v2(a.0, at, 1, 0x77 as *mut c_void), Code::INVALID_HANDLE);
        ok(cuMemcpy(at as u64 + 100, at as u64, 4));
        ok(cuMemcpyHtoD_v2(0, std::ptr::null(), 0));
        assert!(kinds().is_empty());
        assert_eq!(cuMemcpyHtoD_v2(a.0, at, 101), Code::INVALID_VALUE);
        assert_eq!(cuMemcpy(a.at(99), at as u64, 2), Code::INVALID_VALUE);
    }
    let report = report();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert_eq!(findings[1]["offset"], 99);
    assert!(findings[1]["buffer"].as_str().unwrap().contains("of 100 bytes"), "{}", findings[1]);
    assert_eq!(findings[0]["kernel"], "copy to the device");
}

#[test]
fn memory_is_freed_once_and_found_afterwards() {
    let (_alone, _primary) = alone();
    // SAFETY: pointers of the helper, here and below.
    let before = unsafe { (get(|free| cuMemGetInfo_v2(free, &mut 0)), get(|total| cuMemGetInfo_v2(&mut 0, total))) };
    let base = Buffer::new(1 << 20);
    // SAFETY: as above.
    unsafe {
        assert_eq!(get(|free| cuMemGetInfo_v2(free, &mut 0)), before.0 - (1 << 20));
        let (mut start, mut bytes) = (0, 0);
        ok(cuMemGetAddressRange_v2(&mut start, &mut bytes, base.at(12345)));
        assert_eq!((start, bytes), (base.0, 1 << 20));
        assert_eq!(cuMemGetAddressRange_v2(&mut start, null_mut(), 0x1000), Code::NOT_FOUND);
        assert_eq!(cuMemAlloc_v2(null_mut(), 5), Code::INVALID_VALUE);
        assert_eq!(cuMemAlloc_v2(&mut start, 0), Code::INVALID_VALUE);
        assert_eq!(cuMemAlloc_v2(&mut start, usize::MAX), Code::OUT_OF_MEMORY);
        assert_eq!(cuMemAlloc_v2(&mut start, before.1 + 1), Code::OUT_OF_MEMORY);
        let mut pitch = 0;
        ok(cuMemAllocPitch_v2(&mut start, &mut pitch, 1000, 3, 4));
        assert!(pitch >= 1000 && pitch % 512 == 0);
        ok(cuMemFree_v2(start));
        assert_eq!(cuMemAllocPitch_v2(&mut start, &mut pitch, 1000, 3, 5), Code::INVALID_VALUE);
    }
    assert_eq!(cuMemFree_v2(base.at(16)), Code::INVALID_VALUE, "not the start");
    assert_eq!(cuMemFreeHost(base.0 as *mut c_void), Code::INVALID_VALUE, "not host memory");
    ok(cuMemFree_v2(base.0));
    assert_eq!(cuMemFree_v2(base.0), Code::INVALID_VALUE, "twice");
    ok(cuMemFree_v2(0));
    // SAFETY: the call is rejected.
    assert_eq!(unsafe { cuMemsetD8_v2(base.0, 0, 4) }, Code::INVALID_VALUE);
    assert_eq!(kinds(), ["out_of_bounds"], "use after free");
}

#[test]
fn host_memory_has_one_address_for_both() {
    let (_alone, _primary) = alone();
    // SAFETY: pointers of the helper, and memory that the host may write.
    unsafe {
        let pinned: *mut c_void = get(|to| cuMemHostAlloc(to, 256, 0));
        assert_eq!(get(|to| cuMemHostGetDevicePointer_v2(to, pinned, 0)), pinned as u64);
        assert_eq!(get(|to| cuMemHostGetFlags(to, pinned)), 3, "portable and mapped, like all of it");
        pinned.cast::<u8>().write_bytes(9, 256);
        let device = Buffer::new(256);
        ok(cuMemcpyHtoDAsync_v2(device.0, pinned, 256, NULL));
        assert_eq!(download(device.0, 256), [9; 256]);
        assert!(is_written(device.0, 256));
        assert_eq!(cuMemHostAlloc(&mut null_mut(), 1, 0x100), Code::INVALID_VALUE);
        assert!(get(|to| cuMemHostAlloc(to, 0, 0)).is_null());
        assert_eq!(cuMemHostGetDevicePointer_v2(&mut 0, device.0 as *mut c_void, 0), Code::INVALID_VALUE);
        assert_eq!(cuMemHostGetDevicePointer_v2(&mut 0, pinned, 1), Code::INVALID_VALUE);
        assert_eq!(cuMemFree_v2(pinned as u64), Code::INVALID_VALUE);
        ok(cuMemFreeHost(pinned));
        ok(cuMemFreeHost(null_mut()));

        let managed = get(|to| cuMemAllocManaged(to, 64, 1));
        (managed as *mut u8).write_bytes(3, 64);
        ok(cuMemsetD8_v2(managed, 4, 8));
        ok(isobit_simgpu_cuda::context::cuCtxSynchronize());
        assert_eq!([(managed as *const u8).read(), (managed as *const u8).add(8).read()], [4, 3]);
        assert_eq!(cuMemAllocManaged(&mut 0, 64, 0), Code::INVALID_VALUE);
        let nowhere = isobit_simgpu_cuda::pool::Location { kind: 1, id: 0 };
        ok(cuMemAdvise_v2(managed, 64, 1, nowhere));
        ok(cuMemPrefetchAsync_v2(managed, 64, nowhere, 0, NULL));
        assert_eq!(cuMemPrefetchAsync_v2(device.0, 64, nowhere, 0, NULL), Code::INVALID_VALUE);
        assert_eq!(cuMemFreeHost(managed as *mut c_void), Code::INVALID_VALUE);
        ok(cuMemFree_v2(managed));
    }
    assert!(kinds().is_empty());
}

#[test]
fn registered_memory_is_known_by_its_start() {
    let (_alone, _primary) = alone();
    let mut bytes = [0u8; 8192];
    let at: *mut c_void = bytes.as_mut_ptr().cast();
    let register = |offset: usize, length| cuMemHostRegister_v2(at.wrapping_byte_add(offset), length, 0);
    ok(register(0, 4096));
    assert_eq!(register(0, 4096), Code::HOST_MEMORY_ALREADY_REGISTERED);
    assert_eq!(register(4000, 1000), Code::HOST_MEMORY_ALREADY_REGISTERED);
    ok(register(4096, 4096));
    assert_eq!(register(0, 0), Code::INVALID_VALUE);
    assert_eq!(cuMemHostRegister_v2(null_mut(), 4, 0), Code::INVALID_VALUE);
    assert_eq!(cuMemHostRegister_v2(at, 4, 2), Code::NOT_SUPPORTED, "kernels cannot access it");
    // SAFETY: a pointer to a local.
    assert_eq!(unsafe { cuMemHostGetDevicePointer_v2(&mut 0, at, 0) }, Code::NOT_SUPPORTED);
    assert_eq!(cuMemHostUnregister(at.wrapping_byte_add(8)), Code::INVALID_VALUE);
    ok(cuMemHostUnregister(at));
    assert_eq!(cuMemHostUnregister(at), Code::HOST_MEMORY_NOT_REGISTERED);
    ok(cuMemHostUnregister(at.wrapping_byte_add(4096)));
}

#[test]
fn addresses_are_described() {
    let (_alone, primary) = alone();
    let device = Buffer::new(64);
    // SAFETY: pointers of the helper, with room for the value of each attribute.
    unsafe {
        let pinned: *mut c_void = get(|to| cuMemHostAlloc(to, 64, 0));
        let managed = get(|to| cuMemAllocManaged(to, 64, 1));
        let small = |attribute, at| get(|to: *mut i32| cuPointerGetAttribute(to.cast(), attribute, at));
        let wide = |attribute, at| get(|to: *mut u64| cuPointerGetAttribute(to.cast(), attribute, at));
        let host_at = pinned as u64 + 4;
        assert_eq!([device.at(4), host_at, managed].map(|at| small(2, at)), [2, 1, 2], "the kind of memory");
        assert_eq!([device.at(4), host_at, managed].map(|at| small(8, at)), [0, 0, 1], "managed");
        assert_eq!([device.at(4), host_at].map(|at| wide(3, at)), [device.at(4), host_at]);
        assert_eq!(
            [device.at(4), host_at].map(|at| (wide(11, at), wide(12, at))),
            [(device.0, 64), (pinned as u64, 64)]
        );
        assert_eq!((wide(1, device.0), small(9, device.0), small(16, device.0)), (primary.0 as u64, 0, 3));
        assert_eq!(wide(4, host_at), host_at);
        assert_ne!(wide(7, device.0), wide(7, managed));
        assert_eq!(
            cuPointerGetAttribute(pointer_to(&mut 0u64), 4, device.0),
            Code::INVALID_VALUE,
            "it has no host address"
        );
        assert_eq!(cuPointerGetAttribute(pointer_to(&mut 0u64), 22, device.0), Code::INVALID_VALUE);
        let unknown = (&raw const device) as u64;
        assert_eq!(cuPointerGetAttribute(pointer_to(&mut 0u64), 2, unknown), Code::INVALID_VALUE);
        let (mut kind, mut ordinal, mut start) = (9i32, 9i32, 9u64);
        let mut to = [pointer_to(&mut kind), pointer_to(&mut ordinal), pointer_to(&mut start)];
        ok(cuPointerGetAttributes(3, [2, 9, 11].as_ptr(), to.as_mut_ptr(), unknown));
        assert_eq!((kind, ordinal, start), (0, -2, 0), "a query for several attributes succeeds");
        ok(cuPointerSetAttribute(pointer_to(&mut 1u32), 6, device.0));
        assert_eq!(cuPointerSetAttribute(pointer_to(&mut 1u32), 2, device.0), Code::INVALID_VALUE);
        ok(cuMemFreeHost(pinned));
        ok(cuMemFree_v2(managed));
    }
}

fn pointer_to<T>(value: &mut T) -> *mut c_void {
    common::pointer(value)
}

#[test]
fn libraries_are_checked_too() {
    let (_alone, _primary) = alone();
    let a = Buffer::new(16);
    // SAFETY: the name ends in NUL.
    let access = |at, bytes, write| unsafe { isobit_sim_access(at as *const c_void, bytes, write, c"gemm".as_ptr()) };
    assert_eq!(access(a.0, 17, 1), 1);
    assert_eq!(access(a.0, 8, 1), 0);
    assert_eq!(access(a.at(4), 8, 0), 0);
    assert_eq!(access((&raw const a) as u64, 8, 0), 0, "host memory");
    let report = report();
    let of = |key: &str| report["findings"].as_array().unwrap().iter().map(|f| f[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("kind"), ["out_of_bounds", "uninitialised_read"]);
    assert_eq!(of("kernel"), ["gemm", "gemm"]);
    assert_eq!(of("offset"), [0, 8]);
}
