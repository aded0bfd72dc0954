//! Memory: allocation, copies, memsets, tracking of written bytes, and refused calls.

mod common;

use common::{Buffer, alone, get, kinds, ok, report};
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::copy::*;
use isobit_simgpu_hip::copy_kinds::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, HOST_TO_HOST};
use isobit_simgpu_hip::memory::*;
use isobit_simgpu_hip::pinned::*;
use isobit_simgpu_hip::report::isobit_sim_access;
use isobit_simgpu_hip::set::*;
use std::ffi::c_void;
use std::ptr::null_mut;

fn upload(to: *mut c_void, bytes: &[u8]) {
    // SAFETY: the slice is valid, and the simulator checks the device side.
    ok(unsafe { hipMemcpy(to, bytes.as_ptr().cast(), bytes.len(), HOST_TO_DEVICE) });
}

fn download(from: *mut c_void, bytes: usize) -> Vec<u8> {
    let mut to = vec![0; bytes];
    // SAFETY: as above.
    ok(unsafe { hipMemcpy(to.as_mut_ptr().cast(), from, bytes, DEVICE_TO_HOST) });
    to
}

/// Whether a library may read the bytes without a finding.
fn is_written(at: *mut c_void, bytes: usize) -> bool {
    // SAFETY: the name ends in NUL.
    let may = unsafe { isobit_sim_access(at, bytes, 0, c"test".as_ptr()) };
    assert_eq!(may, 0, "an uninitialised read may be made");
    kinds().is_empty()
}

#[test]
fn bytes_go_there_and_back() {
    let _alone = alone();
    let (a, b) = (Buffer::new(1000), Buffer::new(1000));
    let bytes: Vec<u8> = (0..1000).map(|i| (i * 7) as u8).collect();
    upload(a.0, &bytes);
    // SAFETY: the device pointers have the right sizes.
    unsafe {
        ok(hipMemcpy(b.at(100), a.at(3), 500, DEVICE_TO_DEVICE));
        ok(hipMemcpyAsync(b.at(601), a.at(601), 99, DEFAULT, null_mut()));
    }
    assert_eq!(download(b.at(100), 500), bytes[3..503]);
    assert_eq!(download(b.at(601), 99), bytes[601..700]);
    assert!(is_written(b.at(100), 500) && !is_written(b.at(99), 501) && !is_written(b.at(100), 501));
    assert!(kinds().is_empty(), "copying and reading back are not errors");
}

#[test]
fn a_copy_carries_what_is_written_and_what_is_not() {
    let _alone = alone();
    let (a, b) = (Buffer::new(64), Buffer::new(64));
    upload(a.at(8), &[1; 8]);
    // SAFETY: the device pointers have the right sizes.
    unsafe {
        ok(hipMemset(b.0, 5, 64));
        assert!(is_written(b.0, 64));
        ok(hipMemcpyDtoD(b.0, a.0, 64));
    }
    assert!(!is_written(b.0, 8) && is_written(b.at(8), 8) && !is_written(b.at(16), 48));
    download(b.0, 64);
    assert!(kinds().is_empty(), "padding is copied out legitimately");
}

#[test]
fn sets_of_every_width_and_rows() {
    let _alone = alone();
    let a = Buffer::new(64);
    // SAFETY: the device pointers have the right sizes.
    unsafe {
        ok(hipMemsetD8Async(a.0, 0xab, 64, null_mut()));
        ok(hipMemsetD16(a.at(2), 0x1234, 3));
        ok(hipMemsetD32Async(a.at(16), 0x0102_0304, 2, null_mut()));
        ok(hipMemset2D(a.at(32), 8, 0x7f, 3, 4));
        assert_eq!(hipMemsetD16(a.at(1), 0, 1), Code::INVALID_VALUE, "a multiple of the element");
        assert_eq!(hipMemset2D(a.0, 2, 0, 3, 4), Code::INVALID_VALUE);
        assert_eq!(hipMemsetAsync(null_mut(), 0, 1, null_mut()), Code::INVALID_VALUE);
        ok(hipMemsetAsync(null_mut(), 0, 0, null_mut()));
    }
    let mut expected = vec![0xab; 64];
    expected[2..8].copy_from_slice(&[0x34, 0x12, 0x34, 0x12, 0x34, 0x12]);
    expected[16..24].copy_from_slice(&[4, 3, 2, 1, 4, 3, 2, 1]);
    (0..4).for_each(|row| expected[32 + 8 * row..35 + 8 * row].fill(0x7f));
    assert_eq!(download(a.0, 64), expected);
    assert!(kinds().is_empty());
}

#[test]
fn rows_are_copied_with_their_pitches() {
    let _alone = alone();
    let a = Buffer::new(5 * 16);
    let host: Vec<u8> = (0..60).collect();
    let mut back = vec![0xff; 60];
    // SAFETY: the sizes match the buffers.
    unsafe {
        ok(hipMemset(a.0, 0, 80));
        ok(hipMemcpy2D(a.at(2), 16, host.as_ptr().cast(), 12, 10, 5, HOST_TO_DEVICE));
        ok(hipMemcpy2DAsync(back.as_mut_ptr().cast(), 12, a.0, 16, 12, 5, DEVICE_TO_HOST, null_mut()));
        assert_eq!(hipMemcpy2D(a.0, 16, host.as_ptr().cast(), 9, 10, 5, HOST_TO_DEVICE), Code::INVALID_PITCH_VALUE);
        assert_eq!(hipMemcpy2D(a.at(3), 17, host.as_ptr().cast(), 12, 10, 5, HOST_TO_DEVICE), Code::INVALID_VALUE);
    }
    for row in 0..5 {
        let line: Vec<u8> = [0, 0].into_iter().chain((12 * row as u8)..(12 * row as u8 + 10)).collect();
        assert_eq!(back[12 * row..12 * row + 12], line);
    }
    assert_eq!(kinds(), ["out_of_bounds"], "the last row would end behind the buffer");
}

#[test]
fn wrong_copies_are_refused_and_found() {
    let _alone = alone();
    let (a, host) = (Buffer::new(100), [0u8; 200]);
    let host = host.as_ptr().cast::<c_void>();
    // SAFETY: every call is refused, so nothing is copied.
    unsafe {
        assert_eq!(hipMemcpy(a.0, host, 100, 7), Code::INVALID_MEMCPY_DIRECTION);
        assert_eq!(hipMemcpy(null_mut(), host, 1, HOST_TO_DEVICE), Code::INVALID_VALUE);
        assert_eq!(hipMemcpy(a.0, std::ptr::null(), 1, HOST_TO_DEVICE), Code::INVALID_VALUE);
        assert_eq!(hipMemcpy(host.cast_mut(), host, 1, HOST_TO_DEVICE), Code::INVALID_VALUE, "no device memory");
        assert_eq!(hipMemcpyAsync(a.0, host, 1, HOST_TO_DEVICE, 0x77 as *mut c_void), Code::INVALID_HANDLE);
        assert!(kinds().is_empty());
        assert_eq!(hipMemcpy(a.0, host, 101, HOST_TO_DEVICE), Code::INVALID_VALUE);
        assert_eq!(hipMemcpy(a.at(99), host, 2, DEFAULT), Code::INVALID_VALUE);
        ok(hipMemcpy(null_mut(), std::ptr::null(), 0, HOST_TO_HOST));
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
    let _alone = alone();
    // SAFETY: the helper supplies the pointers, here and below.
    let before = unsafe { (get(|free| hipMemGetInfo(free, &mut 0)), get(|total| hipMemGetInfo(&mut 0, total))) };
    let base = Buffer::new(1 << 20);
    // SAFETY: as above.
    unsafe {
        assert_eq!(get(|free| hipMemGetInfo(free, &mut 0)), before.0 - (1 << 20));
        let (mut start, mut bytes) = (null_mut(), 0);
        ok(hipMemGetAddressRange(&mut start, &mut bytes, base.at(12345)));
        assert_eq!((start, bytes), (base.0, 1 << 20));
        assert_eq!(hipMalloc(null_mut(), 5), Code::INVALID_VALUE);
        assert_eq!(hipMalloc(&mut start, usize::MAX), Code::OUT_OF_MEMORY);
        assert_eq!(hipMalloc(&mut start, before.1 + 1), Code::OUT_OF_MEMORY);
        ok(hipMalloc(&mut start, 0));
        assert!(start.is_null());
        assert_eq!(hipMemGetInfo(null_mut(), &mut 0), Code::INVALID_VALUE);
    }
    assert_eq!(hipFree(base.at(1)), Code::INVALID_VALUE, "not the start");
    assert_eq!(hipHostFree(base.0), Code::INVALID_VALUE, "not host memory");
    ok(hipFree(base.0));
    assert_eq!(hipFree(base.0), Code::INVALID_VALUE, "twice");
    ok(hipFree(null_mut()));
    // SAFETY: the call is refused.
    assert_eq!(unsafe { hipMemset(base.0, 0, 4) }, Code::INVALID_VALUE);
    assert_eq!(kinds(), ["out_of_bounds"], "use after free");
}

#[test]
fn host_memory_has_one_address_for_both() {
    let _alone = alone();
    // SAFETY: the helper supplies the pointers, and the host may write the memory.
    unsafe {
        let host: *mut c_void = get(|to| hipHostMalloc(to, 256, 2));
        assert_eq!(get(|to| hipHostGetDevicePointer(to, host, 0)), host);
        assert_eq!(get(|to| hipHostGetFlags(to, host)), 2);
        host.cast::<u8>().write_bytes(9, 256);
        let device = Buffer::new(256);
        ok(hipMemcpyAsync(device.0, host, 256, HOST_TO_DEVICE, null_mut()));
        assert_eq!(download(device.0, 256), [9; 256]);
        assert!(is_written(device.0, 256));
        let of = |pointer: *mut c_void| get(|to| hipPointerGetAttributes(to, pointer));
        assert_eq!((of(host).kind, of(host).host_pointer), (1, host));
        assert_eq!((of(device.at(5)).kind, of(device.at(5)).device_pointer), (2, device.at(5)));
        assert_eq!(of((&raw const device).cast_mut().cast()).kind, 0, "memory that HIP does not know");
        assert_eq!(hipHostMalloc(&mut null_mut(), 1, 0x100), Code::INVALID_VALUE);
        assert_eq!(hipHostGetDevicePointer(&mut null_mut(), device.0, 0), Code::INVALID_VALUE);
        assert_eq!(hipFree(host), Code::INVALID_VALUE);
        ok(hipHostFree(host));
    }
    assert!(kinds().is_empty());
}

#[test]
fn libraries_are_checked_too() {
    let _alone = alone();
    let a = Buffer::new(16);
    // SAFETY: the name ends in NUL.
    let access = |at, bytes, write| unsafe { isobit_sim_access(at, bytes, write, c"gemm".as_ptr()) };
    assert_eq!(access(a.0, 17, 1), 1);
    assert_eq!(access(a.0, 8, 1), 0);
    assert_eq!(access(a.at(4), 8, 0), 0);
    assert_eq!(access((&raw const a).cast_mut().cast(), 8, 0), 0, "host memory");
    let report = report();
    let of = |key: &str| report["findings"].as_array().unwrap().iter().map(|f| f[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("kind"), ["out_of_bounds", "uninitialised_read"]);
    assert_eq!(of("kernel"), ["gemm", "gemm"]);
    assert_eq!(of("offset"), [0, 8]);
}
