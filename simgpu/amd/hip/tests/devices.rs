//! Devices: names, attributes and properties, checked against AMD's published data of the cards and
//! the layouts of HIP's headers.

mod common;

use common::{configure, get, ok};
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::attribute::{ATTRIBUTES, hipDeviceGetAttribute};
use isobit_simgpu_hip::device::*;
use isobit_simgpu_hip::last_error::*;
use isobit_simgpu_hip::peer::*;
use isobit_simgpu_hip::properties::{hipGetDeviceProperties, hipGetDevicePropertiesR0600};
use isobit_simgpu_hip::version::*;
use std::ffi::{CStr, c_int};

fn attribute(number: c_int, device: c_int) -> c_int {
    // SAFETY: the pointer comes from the helper.
    get(|to| unsafe { hipDeviceGetAttribute(to, number, device) })
}

/// Returns the bytes of a properties structure. They are followed by 0xee bytes, to check that
/// nothing more is written.
fn properties(r0600: bool, device: c_int) -> Vec<u8> {
    let size = if r0600 { 1472 } else { 792 };
    let mut bytes = vec![0xee; size + 64];
    let to = bytes.as_mut_ptr().cast();
    // SAFETY: there is room for the structure.
    ok(unsafe { if r0600 { hipGetDevicePropertiesR0600(to, device) } else { hipGetDeviceProperties(to, device) } });
    assert!(bytes[size..].iter().all(|&b| b == 0xee) && bytes[size - 1] != 0xee);
    bytes
}

fn text(bytes: &[u8], at: usize) -> &str {
    CStr::from_bytes_until_nul(&bytes[at..]).unwrap().to_str().unwrap()
}

fn int(bytes: &[u8], at: usize) -> c_int {
    c_int::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn size(bytes: &[u8], at: usize) -> usize {
    usize::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn three_cards_describe_themselves_as_the_real_ones() {
    configure(&[("ISOBIT_SIM_ROCM", "gfx90a,gfx942,gfx1100"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    ok(hipInit(0));
    // SAFETY: the helper supplies the pointers, here and below.
    unsafe {
        assert_eq!(get(|to| hipGetDeviceCount(to)), 3);
        assert_eq!(get(|to| hipRuntimeGetVersion(to)) / 10_000_000, 6);
        assert_eq!(get(|to| hipDriverGetVersion(to)) / 10_000_000, 6);
        assert_eq!(get(|to| hipGetDevice(to)), 0);
    }
    // Compute units, wave size, L2 size, major version, and HIP's name of the processor, from AMD's
    // data sheets.
    let cards = [
        ("AMD Instinct MI210", 104, 64, 8 << 20, 9, "gfx90a:sramecc+:xnack-"),
        ("AMD Instinct MI300X", 304, 64, 4 << 20, 9, "gfx942:sramecc+:xnack-"),
        ("AMD Radeon RX 7900 XTX", 48, 32, 6 << 20, 11, "gfx1100"),
    ];
    for (device, (name, multiprocessors, wave, l2, major, arch)) in (0..).zip(cards) {
        let mut buffer = [0x55u8; 64];
        // SAFETY: the buffer has room.
        ok(unsafe { hipDeviceGetName(buffer.as_mut_ptr().cast(), 64, device) });
        assert_eq!(text(&buffer, 0), name);
        assert_eq!(attribute(63, device), multiprocessors);
        assert_eq!(attribute(87, device), wave);
        assert_eq!(attribute(19, device), l2);
        assert_eq!(attribute(23, device), major);
        assert_eq!([29, 30, 31].map(|n| attribute(n, device)), [c_int::MAX, 65536, 65536]);
        assert_eq!([56, 57, 74].map(|n| attribute(n, device)), [1024, 2048, 65536]);
        for (r0600, [arch_at, wave_at, count_at, threads_at, memory_at]) in
            [(false, [396, 276, 336, 280, 256]), (true, [1160, 308, 388, 320, 288])]
        {
            let bytes = properties(r0600, device);
            assert_eq!(text(&bytes, 0), name);
            assert_eq!(text(&bytes, arch_at), arch);
            assert_eq!(int(&bytes, wave_at), wave);
            assert_eq!(int(&bytes, count_at), multiprocessors);
            assert_eq!(int(&bytes, threads_at), 1024);
            assert_eq!(size(&bytes, memory_at), 1 << 30);
        }
    }
    for &(name, number) in ATTRIBUTES {
        let value = attribute(number, 1);
        assert!(value >= 0, "{name}: {value}");
    }
    refusals();
    peers();
}

fn refusals() {
    let mut value = 0;
    // SAFETY: null pointers are refused; the others point to locals with the given size.
    unsafe {
        assert_eq!(hipDeviceGetAttribute(&mut value, 87, 3), Code::INVALID_DEVICE);
        assert_eq!(hipDeviceGetAttribute(&mut value, 87, -1), Code::INVALID_DEVICE);
        assert_eq!(hipDeviceGetAttribute(&mut value, 12345, 0), Code::INVALID_VALUE);
        assert_eq!(hipDeviceGetAttribute(std::ptr::null_mut(), 87, 0), Code::INVALID_VALUE);
        assert_eq!(hipGetDeviceCount(std::ptr::null_mut()), Code::INVALID_VALUE);
        assert_eq!(hipDeviceGetName(std::ptr::null_mut(), 64, 0), Code::INVALID_VALUE);
        let mut name = [0x55u8; 8];
        ok(hipDeviceGetName(name.as_mut_ptr().cast(), 4, 0));
        assert_eq!(&name[..5], b"AMD\0\x55", "cut, and no byte behind");
        assert_eq!(CStr::from_ptr(hipGetErrorName(Code::INVALID_DEVICE)), c"hipErrorInvalidDevice");
        assert_eq!(CStr::from_ptr(hipGetErrorString(Code::INVALID_DEVICE)), c"invalid device ordinal");
    }
    assert_eq!(hipSetDevice(3), Code::INVALID_DEVICE);
    ok(hipSetDevice(2));
    assert_eq!(hipPeekAtLastError(), Code::INVALID_DEVICE, "success does not hide an error");
    assert_eq!(hipGetLastError(), Code::INVALID_DEVICE);
    assert_eq!(hipGetLastError(), Code::SUCCESS);
    // SAFETY: the pointer comes from the helper.
    assert_eq!(std::thread::spawn(|| get(|to| unsafe { hipGetDevice(to) })).join().unwrap(), 0, "of each thread");
    ok(hipSetDevice(0));
    assert_eq!(hipInit(1), Code::INVALID_VALUE);
}

fn peers() {
    // SAFETY: the pointer comes from the helper.
    let can = |a, b| get(|to| unsafe { hipDeviceCanAccessPeer(to, a, b) });
    assert_eq!((can(0, 1), can(0, 0)), (1, 0));
    ok(hipDeviceEnablePeerAccess(1, 0));
    assert_eq!(hipDeviceEnablePeerAccess(1, 0), Code::PEER_ACCESS_ALREADY_ENABLED);
    assert_eq!(hipDeviceEnablePeerAccess(0, 0), Code::INVALID_DEVICE);
    ok(hipDeviceDisablePeerAccess(1));
    assert_eq!(hipDeviceDisablePeerAccess(1), Code::PEER_ACCESS_NOT_ENABLED);
}
