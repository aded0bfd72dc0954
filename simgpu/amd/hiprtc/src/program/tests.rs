//! Tests of compilation with this machine's clang.

use super::{Failure, Program};

const KERNEL: &str = r#"
#include "scale/by.h"
extern "C" __global__ void __launch_bounds__(128) scale(float *out, const float *in, int n) {
    __shared__ float tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (i < n) out[i] = tile[threadIdx.x] * BY + gridDim.y;
}
"#;

fn program(source: &str) -> Program {
    Program::new(source.into(), "/some/where/kernel.cu", vec![("scale/by.h".into(), b"#define BY FACTOR\n".to_vec())])
        .unwrap()
}

/// Returns the machine from an ELF header's flags: EF_AMDGPU_MACH, from LLVM's AMDGPU usage guide.
fn machine(code: &[u8]) -> u8 {
    assert_eq!(&code[..4], b"\x7fELF");
    assert_eq!(u16::from_le_bytes([code[18], code[19]]), 224, "EM_AMDGPU");
    code[48]
}

#[test]
fn a_kernel_is_compiled_for_the_architecture_that_is_asked_for() {
    for (arch, number) in [("gfx90a:sramecc+:xnack-", 0x3f), ("gfx942", 0x4c), ("gfx1100", 0x41)] {
        let arch = format!("--offload-arch={arch}");
        let (compiled, result) = program(KERNEL).compile(&["-std=c++20", "-DFACTOR=2.0f", &arch, "-ffp-contract=off"]);
        assert_eq!((result, compiled.log.as_str()), (Ok(()), ""), "a warning is an error of the prelude");
        let code = compiled.code.unwrap();
        assert_eq!(machine(&code), number, "{arch}");
        assert!(code.windows(9).any(|w| w == b"scale.kd\0"), "no kernel descriptor of that name");
    }
}

#[test]
fn an_error_is_in_the_log_under_the_names_that_were_given() {
    let (compiled, result) = program(KERNEL).compile(&["--offload-arch=gfx90a"]);
    assert_eq!(result, Err(Failure::Source));
    assert!(compiled.code.is_none());
    assert!(compiled.log.contains("kernel.cu:8:") && compiled.log.contains("FACTOR"), "{}", compiled.log);
    assert!(!compiled.log.contains("/some/where"), "{}", compiled.log);
}

#[test]
fn options_of_nobody_are_told_from_errors_of_the_source() {
    for bad in ["-fno-such-thing", "--no-such-thing", "-std=c++99", "--offload-arch=gfx90a:nonsense+", "kernel.cu"] {
        let (compiled, result) = program(KERNEL).compile(&["-DFACTOR=1", "--offload-arch=gfx90a", bad]);
        assert_eq!(result, Err(Failure::Option), "{bad}: {}", compiled.log);
    }
}

#[test]
fn no_header_leaves_the_folder() {
    for name in ["../up.h", "/etc/absolute.h", "", "a/../../b.h"] {
        assert!(Program::new(Vec::new(), "k.cu", vec![(name.into(), Vec::new())]).is_none(), "{name:?}");
    }
}
