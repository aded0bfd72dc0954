//! What kernels print reaches the standard output of the program between the launch and the end of
//! the wait for it, in order with what the program itself prints.

mod common;

use common::child::{Said, output_of, say};
use common::kernels::compile;
use common::{configure, get, ok};
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::device::hipDeviceSynchronize;
use isobit_simgpu_hip::launch::hipModuleLaunchKernel;
use isobit_simgpu_hip::module::*;
use std::ffi::c_void;
use std::ptr::null_mut;

/// A kernel with the stand-in for ROCm's device library that the tests of the card use.
fn source() -> String {
    format!(
        r#"
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
#include "{}/../tests/printing_library.h"
extern "C" __attribute__((device)) int printf(const char*, ...);
extern "C" __attribute__((global)) void says(unsigned n, unsigned traps) {{
    printf("kernel %d says %s\n", n, "hello");
    if (traps) __builtin_trap();
}}
"#,
        env!("CARGO_MANIFEST_DIR")
    )
}

fn launch(kernel: *mut c_void, mut n: u32, mut traps: u32, threads: u32) {
    let mut params = [(&raw mut n).cast::<c_void>(), (&raw mut traps).cast()];
    // SAFETY: the arguments are the kernel's.
    ok(unsafe {
        hipModuleLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, null_mut(), params.as_mut_ptr(), null_mut())
    });
}

fn says(n: u32) -> String {
    format!("kernel {n} says hello\n")
}

fn kernel() -> *mut c_void {
    configure(&[("ISOBIT_SIM_ROCM", "gfx90a"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    let code = compile(&source(), "gfx90a");
    // SAFETY: the image is complete, and the pointers come from the helper.
    unsafe {
        let module = get(|to| hipModuleLoadData(to, code.as_ptr().cast()));
        get(|to| hipModuleGetFunction(to, module, c"says".as_ptr()))
    }
}

#[test]
fn in_order_with_the_program() {
    let Said { out, error, .. } = output_of("in_order_with_the_program", || {
        let function = kernel();
        for step in 1..4 {
            say("before");
            launch(function, step, 0, 100);
            ok(hipDeviceSynchronize());
            say("after");
        }
    })
    .passes();
    let want: String = (1..4).map(|step| format!("before\n{}after\n", says(step).repeat(100))).collect();
    assert_eq!(out, want, "{error}");
}

#[test]
fn what_was_printed_is_seen_when_the_program_dies() {
    let Said { out, error, .. } = output_of("what_was_printed_is_seen_when_the_program_dies", || {
        let function = kernel();
        launch(function, 1, 0, 1);
        launch(function, 2, 1, 1);
        assert_eq!(hipDeviceSynchronize(), Code::LAUNCH_FAILURE);
        std::process::abort();
    })
    .aborts();
    assert_eq!(out, says(1) + &says(2), "{error}");
}
