//! Devices: names, locations and attributes, compared with NVIDIA's published data and a real
//! driver's answers.

mod common;

use common::{Code, configure, get, ok};
use isobit_simgpu_cuda::attribute::{ATTRIBUTES, cuDeviceGetAttribute};
use isobit_simgpu_cuda::device::*;
use isobit_simgpu_cuda::peer::*;
use isobit_simgpu_cuda::proc_address::*;
use isobit_simgpu_cuda::version::*;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

fn attribute(number: c_int, device: c_int) -> c_int {
    // SAFETY: the pointer is the helper's.
    get(|to| unsafe { cuDeviceGetAttribute(to, number, device) })
}

fn text(device: c_int, of: unsafe extern "C" fn(*mut i8, c_int, c_int) -> Code) -> String {
    let mut buffer = [0x55u8; 64];
    // SAFETY: the buffer has room.
    ok(unsafe { of(buffer.as_mut_ptr().cast(), 64, device) });
    CStr::from_bytes_until_nul(&buffer).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn three_cards_describe_themselves_as_the_real_ones() {
    configure(&[("ISOBIT_SIM_CUDA", "sm_75,sm_80,sm_90"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    before_the_start();
    ok(cuInit(0));
    // SAFETY: pointers of the helper, here and below.
    unsafe {
        assert_eq!(get(|to| cuDeviceGetCount(to)), 3);
        assert_eq!(get(|to| cuDriverGetVersion(to)), 13000);
    }
    // Multiprocessors, L2, compute capability, threads, blocks and bytes of shared memory per
    // multiprocessor, opt-in bytes of shared memory per block.
    let cards = [
        ("Tesla T4", 40, 4 << 20, (7, 5), 1024, 16, 65536, 65536, 256),
        ("NVIDIA A100-SXM4-80GB", 108, 40 << 20, (8, 0), 2048, 32, 167_936, 166_912, 5120),
        ("NVIDIA H200", 132, 60 << 20, (9, 0), 2048, 32, 233_472, 232_448, 6016),
    ];
    for (device, (name, multiprocessors, l2, capability, threads, blocks, shared, optin, bus)) in (0..).zip(cards) {
        assert_eq!(text(device, cuDeviceGetName), name);
        assert_eq!([16, 38, 39].map(|n| attribute(n, device)), [multiprocessors, l2, threads]);
        assert_eq!((attribute(75, device), attribute(76, device)), capability);
        assert_eq!([106, 81, 97, 37].map(|n| attribute(n, device)), [blocks, shared, optin, bus]);
        // Values that all of these cards share: threads per block in total and per dimension,
        // blocks per grid, shared memory, warp size, registers.
        let common = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12].map(|n| attribute(n, device));
        assert_eq!(common, [1024, 1024, 1024, 64, c_int::MAX, 65535, 65535, 49152, 65536, 32, 65536]);
        let (mut major, mut minor) = (0, 0);
        // SAFETY: pointers to locals.
        unsafe {
            ok(cuDeviceComputeCapability(&mut major, &mut minor, device));
            assert_eq!(get(|to| cuDeviceTotalMem_v2(to, device)), 1 << 30);
            assert_eq!(get(|to| cuDeviceGet(to, device)), device);
        }
        assert_eq!((major, minor), capability);
        for &(name, number) in ATTRIBUTES {
            assert!(attribute(number, device) >= -1, "{name}");
        }
        let place = text(device, cuDeviceGetPCIBusId) + "\0";
        assert_eq!(attribute(33, device), i32::from_str_radix(&place[5..7], 16).unwrap());
        // SAFETY: the text ends in NUL.
        assert_eq!(get(|to| unsafe { cuDeviceGetByPCIBusId(to, place.as_ptr().cast()) }), device);
    }
    // SAFETY: pointers of the helper.
    let uuids = [0, 1, 2].map(|device| get(|to| unsafe { cuDeviceGetUuid_v2(to, device) }));
    assert!(uuids[0] != uuids[1] && uuids[1] != uuids[2]);
    refusals();
    peers();
    functions_by_name();
}

fn before_the_start() {
    // SAFETY: pointers to locals.
    unsafe {
        assert_eq!(cuDeviceGetCount(&mut 0), Code::NOT_INITIALIZED);
        assert_eq!(get(|to| cuDriverGetVersion(to)), 13000);
    }
    assert_eq!(cuInit(1), Code::INVALID_VALUE);
    // SAFETY: a null buffer.
    assert_eq!(unsafe { common::isobit_sim_report(null_mut(), 0) }, 0, "there is no simulator yet");
}

fn refusals() {
    let mut value = 0;
    // SAFETY: null pointers are rejected; the others are to locals with the given room.
    unsafe {
        assert_eq!(cuDeviceGetAttribute(&mut value, 10, 3), Code::INVALID_DEVICE);
        assert_eq!(cuDeviceGetAttribute(&mut value, 10, -1), Code::INVALID_DEVICE);
        assert_eq!(cuDeviceGetAttribute(&mut value, 0, 0), Code::INVALID_VALUE);
        assert_eq!(cuDeviceGetAttribute(&mut value, 148, 0), Code::INVALID_VALUE);
        assert_eq!(cuDeviceGetAttribute(null_mut(), 10, 0), Code::INVALID_VALUE);
        assert_eq!(cuDeviceGet(&mut value, 3), Code::INVALID_DEVICE);
        assert_eq!(cuDeviceGetCount(null_mut()), Code::INVALID_VALUE);
        assert_eq!(cuDeviceGetName(null_mut(), 64, 0), Code::INVALID_VALUE);
        let mut name = [0x55u8; 8];
        ok(cuDeviceGetName(name.as_mut_ptr().cast(), 4, 0));
        assert_eq!(&name[..5], b"Tes\0\x55", "cut, and no byte behind");
        assert_eq!(cuDeviceGetByPCIBusId(&mut value, c"0000:99:00.0".as_ptr()), Code::INVALID_DEVICE);
        let mut text = std::ptr::null();
        ok(cuGetErrorName(Code::INVALID_DEVICE, &mut text));
        assert_eq!(CStr::from_ptr(text), c"CUDA_ERROR_INVALID_DEVICE");
        ok(cuGetErrorString(Code::INVALID_DEVICE, &mut text));
        assert_eq!(CStr::from_ptr(text), c"invalid device ordinal");
        assert_eq!(cuGetErrorName(Code(12345), &mut text), Code::INVALID_VALUE);
        assert!(text.is_null());
        assert_eq!(cuGetExportTable(&mut text.cast(), null_mut()), Code::NOT_FOUND);
    }
    assert_eq!(isobit_simgpu_cuda::unsupported::cuStreamWaitValue32_v2(), Code::NOT_SUPPORTED);
}

fn peers() {
    // SAFETY: pointers of the helper, and to locals.
    unsafe {
        let can = |a, b| get(|to| cuDeviceCanAccessPeer(to, a, b));
        assert_eq!((can(0, 1), can(0, 0)), (1, 0));
        assert_eq!(get(|to| cuDeviceGetP2PAttribute(to, 2, 0, 1)), 1);
        assert_eq!(cuDeviceGetP2PAttribute(&mut 0, 2, 1, 1), Code::INVALID_DEVICE);
    }
    let [first, second] = [0, 1].map(common::context);
    assert_eq!(cuCtxEnablePeerAccess(second, 0), Code::INVALID_DEVICE, "both are on the same device");
    ok(cuCtxEnablePeerAccess(first, 0));
    assert_eq!(cuCtxEnablePeerAccess(first, 0), Code::PEER_ACCESS_ALREADY_ENABLED);
    ok(cuCtxDisablePeerAccess(first));
    assert_eq!(cuCtxDisablePeerAccess(first), Code::PEER_ACCESS_NOT_ENABLED);
}

fn functions_by_name() {
    let find = |name: &CStr, version, flags| {
        let (mut address, mut status) = (std::ptr::null(), 9);
        // SAFETY: the name ends in NUL; pointers to locals.
        let code = unsafe { cuGetProcAddress_v2(name.as_ptr(), &mut address, version, flags, &mut status) };
        (code, address, status)
    };
    let is = |function: *const c_void| (Code::SUCCESS, function, 0);
    let none = |status| (Code::SUCCESS, std::ptr::null::<c_void>(), status);
    use isobit_simgpu_cuda::{capture, event, graph, memory};
    assert_eq!(find(c"cuMemAlloc", 12000, 0), is(memory::cuMemAlloc_v2 as *const c_void));
    assert_eq!(find(c"cuMemAlloc", 3020, 1), is(memory::cuMemAlloc_v2 as *const c_void));
    assert_eq!(find(c"cuMemAlloc", 2000, 0), none(2));
    assert_eq!(find(c"cuMemAlloc_v2", 12000, 0), none(1));
    assert_eq!(find(c"cuNope", 12000, 0), none(1));
    assert_eq!(find(c"cuEventElapsedTime", 12070, 0), is(event::cuEventElapsedTime as *const c_void));
    assert_eq!(find(c"cuEventElapsedTime", 12080, 0), is(event::cuEventElapsedTime_v2 as *const c_void));
    assert_eq!(find(c"cuStreamGetCaptureInfo", 12000, 0), is(capture::cuStreamGetCaptureInfo_v2 as *const c_void));
    assert_eq!(find(c"cuGraphExecUpdate", 13000, 0), is(graph::cuGraphExecUpdate_v2 as *const c_void));
    assert_eq!(find(c"cuLibraryLoadData", 11000, 0), none(2));
    assert_eq!(find(c"cuMemAlloc", 99000, 0).0, Code::INVALID_VALUE);
    assert_eq!(find(c"cuMemAlloc", 12000, 2).0, Code::NOT_SUPPORTED);
    let mut address = std::ptr::null();
    // SAFETY: the name ends in NUL; a pointer to a local.
    unsafe {
        ok(cuGetProcAddress(c"cuGetProcAddress".as_ptr(), &mut address, 11030, 0));
        assert_eq!(address, cuGetProcAddress as *const c_void);
        assert_eq!(cuGetProcAddress(c"cuNope".as_ptr(), &mut address, 11030, 0), Code::NOT_FOUND);
    }
}
