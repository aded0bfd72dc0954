//! What a card writes about the lines that ran. This test is alone in its program, because the
//! settings are read once per process.

#[path = "../../core/testing/device.rs"]
mod device;

use device::Device;
use isobit_simgpu_core::coverage::{self, File, KernelLines};
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::dispatch::Gpu;

/// Line 10 loads, 11 is under a predicate that is false in every thread, 12 is jumped over, and 13
/// ends the kernel; line 20 is that of a function which is inlined where line 12 calls it.
const PTX: &str = r#".version 7.0
.target sm_75
.address_size 64
.file 1 "/somewhere/k.cu"
.file 7 "/somewhere/f.cuh"

.func f(.param .u64 at)
{
    .reg .b64 %rd<2>;
    .loc 7 20 1
    ld.param.u64 %rd1, [at];
    st.global.u64 [%rd1], %rd1;
    ret;
}

.visible .entry k(.param .u64 at)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .reg .pred %p<3>;
    .loc 1 10 1
    ld.param.u64 %rd1, [at];
    setp.eq.u64 %p1, %rd1, 0;
    mov.u32 %r1, 1;
    .loc 1 11 1
    @%p1 st.global.u32 [%rd1], %r1;
    setp.ne.u64 %p2, %rd1, 0;
    .loc 1 12 1
    @%p2 bra END;
    .loc 1 14 1
    {
    .param .b64 p;
    st.param.b64 [p], %rd1;
    call.uni f, (p);
    }
END:
    .loc 1 13 1
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry idle(.param .u64 at)
{
    .loc 1 30 1
    ret;
}
"#;

#[test]
fn the_file_has_the_lines_that_ran() {
    let folder = tempfile::tempdir().unwrap();
    // SAFETY: this is the only test of its program, and it has started no thread yet.
    unsafe { std::env::set_var("ISOBIT_SIM_COVERAGE", folder.path().join("ran-%v.json")) };
    coverage::begin("cuda");
    for launches in [2, 1] {
        let device = Device::new();
        let gpu = Gpu::new(Arch::Sm80, device.memory.clone(), device.findings.clone(), 2, 0).unwrap();
        let module = gpu.load(PTX.as_bytes()).unwrap();
        let to = device.upload(&[0u64; 1]);
        for _ in 0..launches {
            gpu.launch(&module.kernel("k").unwrap(), [1; 3], [40, 1, 1], 0, &to.to_le_bytes()).unwrap();
        }
    }
    let path = coverage::write().expect("a file");
    assert_eq!(path, folder.path().join("ran-cuda.json"));
    let file: File = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let [idle, k] = &file.kernels[..] else { panic!("{file:?}") };
    assert_eq!((k.name.as_str(), k.card.as_str(), k.launches), ("k", "sm_80", 3));
    assert_eq!((idle.name.as_str(), idle.launches, idle.executed), ("idle", 0, 0));
    let ran = |kernel: &KernelLines| -> Vec<(String, u32, bool)> {
        let of = |path: &str| path.rsplit('/').next().unwrap().to_string();
        let lines = kernel.lines.iter();
        lines.map(|line| (of(&file.files[line.file as usize]), line.line, line.executed > 0)).collect()
    };
    let mut of_k = ran(k);
    of_k.sort();
    let line = |file: &str, line, ran| (file.to_string(), line, ran);
    let expected = [
        line("f.cuh", 20, false),
        line("k.cu", 10, true),
        line("k.cu", 11, true),
        line("k.cu", 12, true),
        line("k.cu", 13, true),
    ];
    assert_eq!(of_k.iter().filter(|of| of.1 != 14).cloned().collect::<Vec<_>>(), expected);
    // The store of line 11 did not run, the comparison behind it did.
    let eleven = k.lines.iter().find(|line| line.line == 11).unwrap();
    assert_eq!((eleven.instructions, eleven.executed), (2, 1));
    assert_eq!(ran(idle), [line("k.cu", 30, false)]);
}
