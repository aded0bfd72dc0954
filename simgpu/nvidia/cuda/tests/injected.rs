//! Injected faults: which calls fail, what is counted, and what a lost device and a corrupt module
//! are.

mod common;

use common::{Buffer, Code, NULL, alone, context, get, kernel, ok};
use isobit_simgpu_cuda::context::{cuCtxSetCurrent, cuCtxSynchronize};
use isobit_simgpu_cuda::memory::{cuMemAlloc_v2, cuMemFree_v2, cuMemGetInfo_v2};
use isobit_simgpu_cuda::module::{cuModuleLoadData, cuModuleUnload};
use isobit_simgpu_cuda::primary::cuDevicePrimaryCtxReset_v2;
use isobit_simgpu_cuda::proc_address::cuGetProcAddress_v2;
use isobit_simgpu_cuda::report::{isobit_sim_calls, isobit_sim_fault};
use std::ffi::CString;

const EMPTY: &str = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry empty()\n{\n    ret;\n}\n.visible .entry second()\n{\n    ret;\n}\n";

/// Sets faults and returns the status.
fn set(faults: &str) -> i32 {
    let text = CString::new(faults).unwrap();
    // SAFETY: the text ends in NUL.
    unsafe { isobit_sim_fault(text.as_ptr()) }
}

/// Returns calls, failed calls and injected faults of a function.
fn counts(function: &str) -> [u64; 3] {
    let mut json = vec![0u8; 1 << 16];
    // SAFETY: the buffer has the given size.
    let written = unsafe { isobit_sim_calls(json.as_mut_ptr().cast(), json.len()) };
    let counts: serde_json::Value = serde_json::from_slice(&json[..written]).unwrap();
    ["calls", "failed", "injected"].map(|field| counts[function][field].as_u64().unwrap_or_default())
}

/// Allocates, frees, and returns the code.
fn allocate() -> Code {
    let mut address = 0;
    // SAFETY: the pointer is to a local.
    let code = unsafe { cuMemAlloc_v2(&mut address, 256) };
    if code == Code::SUCCESS {
        ok(cuMemFree_v2(address));
    }
    code
}

#[test]
fn the_named_calls_fail_and_are_counted() {
    let _alone = alone();
    let before = counts("cuMemAlloc_v2");
    assert_eq!(set("cuMemAlloc_v2:2:CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2:4+:NOT_A_CODE"), 1);
    assert_eq!(allocate(), Code::SUCCESS, "a text that is wrong changes nothing");
    assert_eq!(set("cuMemAlloc_v2:2:CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2:4+:801"), 0);
    let found = [(); 5].map(|()| allocate());
    let (none, some) = (Code::SUCCESS, Code::NOT_SUPPORTED);
    assert_eq!(found, [none, Code::OUT_OF_MEMORY, none, some, some]);
    // SAFETY: no text means no faults.
    assert_eq!(unsafe { isobit_sim_fault(std::ptr::null()) }, 0);
    assert_eq!(allocate(), Code::SUCCESS);
    // SAFETY: a null pointer is an error that is no injected fault.
    assert_eq!(unsafe { cuMemAlloc_v2(std::ptr::null_mut(), 1) }, Code::INVALID_VALUE);
    let after = counts("cuMemAlloc_v2");
    assert_eq!([0, 1, 2].map(|at| after[at] - before[at]), [8, 4, 3]);
}

#[test]
fn calls_are_counted_from_the_moment_faults_are_set() {
    let _alone = alone();
    for _ in 0..2 {
        assert_eq!(set("cuMemAlloc_v2:1:2"), 0);
        assert_eq!([allocate(), allocate()], [Code::OUT_OF_MEMORY, Code::SUCCESS]);
    }
    assert_eq!(set(""), 0);
}

#[test]
fn a_lost_device_stays_lost_until_it_is_reset() {
    let (_alone, _primary) = alone();
    let (mut free, mut total) = (0, 0);
    let kept = std::mem::ManuallyDrop::new(Buffer::new(64));
    assert_eq!(set("cuMemAlloc_v2:1:lost"), 0);
    assert_eq!(allocate(), Code::LAUNCH_FAILURE);
    // SAFETY: the pointers are to locals.
    let asked = unsafe { cuMemGetInfo_v2(&mut free, &mut total) };
    assert_eq!([allocate(), cuCtxSynchronize(), cuMemFree_v2(kept.0), asked], [Code::LAUNCH_FAILURE; 4]);
    assert_eq!(set(""), 0);
    assert_eq!(allocate(), Code::LAUNCH_FAILURE, "faults are gone, not what they did");
    ok(cuDevicePrimaryCtxReset_v2(0));
    context(0);
    assert_eq!(allocate(), Code::SUCCESS);
    ok(cuCtxSetCurrent(NULL));
}

#[test]
fn a_corrupt_module_does_not_load() {
    let _alone = alone();
    let text = CString::new(EMPTY).unwrap();
    let load = |to: *mut _| {
        // SAFETY: the text is complete PTX that ends in NUL.
        unsafe { cuModuleLoadData(to, text.as_ptr().cast()) }
    };
    assert_eq!(set("cuModuleLoadData:1:corrupt"), 0);
    let mut module = NULL;
    assert_eq!(load(&mut module), Code::INVALID_PTX);
    let module = get(load);
    kernel(module, c"second");
    ok(cuModuleUnload(module));
    assert_eq!(set(""), 0);
}

#[test]
fn an_absent_function_has_no_address() {
    let _alone = alone();
    let mut at = std::ptr::null();
    let find = |at: *mut _| {
        // SAFETY: the name ends in NUL, the pointer is to a local, and the status may be null.
        unsafe { cuGetProcAddress_v2(c"cuMemAlloc".as_ptr(), at, 12000, 0, std::ptr::null_mut()) }
    };
    assert_eq!(set("cuMemAlloc_v2:*:absent"), 0);
    ok(find(&mut at));
    assert!(at.is_null());
    assert_eq!(set(""), 0);
    ok(find(&mut at));
    assert!(!at.is_null());
}
