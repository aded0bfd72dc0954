//! Tests a kernel from source to result through HIPRTC and HIP, as a program uses them: compiled
//! for each simulated card, loaded, launched. It covers HIPRTC's declarations: coordinates, sizes,
//! shared memory and the barrier.

use hip_sys::{Hip, Hiprtc};
use isobit_simgpu_install::{inside, rocm};
use std::ptr::{from_mut, null, null_mut};

const SOURCE: &std::ffi::CStr = cr#"
#include "tile.h"
extern "C" __global__ void __launch_bounds__(TILE) place(unsigned *out) {
    __shared__ unsigned tile[TILE];
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    tile[thread] = block * 1000 + thread;
    __syncthreads();
    out[block * threads + thread] = tile[threads - 1 - thread];
}
"#;

#[test]
fn a_kernel_from_source_runs_on_every_card() {
    if inside() {
        return compile_and_run();
    }
    let installed = rocm().expect("the simulator is built");
    for card in ["gfx90a", "gfx942", "gfx1100"] {
        let mut child = installed.child("a_kernel_from_source_runs_on_every_card").expect("this program starts again");
        let status = child.env("ISOBIT_SIM_ROCM", card).env_remove("ISOBIT_HIPRTC_LIBRARY").status();
        assert!(status.as_ref().is_ok_and(|s| s.success()), "{card}: {status:?}");
    }
}

fn compile_and_run() {
    let (hip, rtc) = (Hip::get().expect("HIP"), Hiprtc::get().expect("HIPRTC"));
    let code = compile(rtc);
    let (grid, block) = ([3, 2, 2], [8, 4, 4]);
    let (blocks, threads): (u32, u32) = (grid.iter().product(), block.iter().product());
    let mut host = vec![0u32; (blocks * threads) as usize];
    let bytes = size_of_val(&host[..]);
    let (mut module, mut function, mut out) = (null_mut(), null_mut(), null_mut());
    // SAFETY: the pointers are out-parameters, and then the values that they received; the kernel
    // takes one pointer, which points to one number per thread.
    unsafe {
        assert_eq!((hip.hipModuleLoadData)(&mut module, code.as_ptr().cast()), 0);
        assert_eq!((hip.hipModuleGetFunction)(&mut function, module, c"place".as_ptr()), 0);
        assert_eq!((hip.hipMalloc)(&mut out, bytes), 0);
        let mut parameters = [from_mut(&mut out).cast()];
        let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
        let parameters = parameters.as_mut_ptr();
        let launched =
            (hip.hipModuleLaunchKernel)(function, gx, gy, gz, bx, by, bz, 0, null_mut(), parameters, null_mut());
        assert_eq!(launched, 0);
        let kind = hip_sys::hipMemcpyDeviceToHost;
        assert_eq!((hip.hipMemcpyAsync)(host.as_mut_ptr().cast(), out, bytes, kind, null_mut()), 0);
        assert_eq!((hip.hipStreamSynchronize)(null_mut()), 0);
    }
    for (at, &found) in host.iter().enumerate() {
        let (block, thread) = (at as u32 / threads, at as u32 % threads);
        assert_eq!(found, block * 1000 + threads - 1 - thread, "block {block}, thread {thread}");
    }
    let report = isobit_simgpu_library_common::report::take(hip.file()).expect("the simulator's HIP library");
    assert!(report.contains("\"findings\":[]"), "{report}");
}

/// Compiles without an architecture option, which selects the current device's architecture.
fn compile(rtc: &Hiprtc) -> Vec<u8> {
    let (header, header_name) = ([c"#define TILE 128".as_ptr()], [c"tile.h".as_ptr()]);
    let (mut program, mut size) = (null_mut(), 0);
    // SAFETY: texts end in NUL, the arrays have one entry, out-parameters are valid for writes, and
    // the buffer has the size that the library returned.
    unsafe {
        let (name, texts, names) = (c"place.cu".as_ptr(), header.as_ptr(), header_name.as_ptr());
        assert_eq!((rtc.hiprtcCreateProgram)(&mut program, SOURCE.as_ptr(), name, 1, texts, names), 0);
        assert_eq!((rtc.hiprtcCompileProgram)(program, 0, null()), 0);
        assert_eq!((rtc.hiprtcGetCodeSize)(program, &mut size), 0);
        let mut code = vec![0u8; size];
        assert_eq!((rtc.hiprtcGetCode)(program, code.as_mut_ptr().cast()), 0);
        assert_eq!((rtc.hiprtcDestroyProgram)(&mut program), 0);
        code
    }
}
