//! What a card writes about the lines that ran, for code with line information. This test is alone
//! in its program, because the settings are read once per process.

mod common;

use common::{Card, compile_with};
use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_core::coverage::{self, File};
use std::collections::BTreeMap;

/// The branch of line 3 is uniform, that of line 7 depends on the thread.
const SOURCE: &str = r#"extern "C" __attribute__((global)) void k(volatile unsigned* to, unsigned long long n) {
    unsigned at = __builtin_amdgcn_workitem_id_x();
    if (n > 5) {
        to[at] = 7;
    } else {
        to[at + 64] = 3 * at;
    }
    if (at >= 1000) {
        to[at] = 9;
    }
    to[at + 128] = 5;
}
extern "C" __attribute__((global)) void idle(volatile unsigned* to, unsigned long long n) {
    to[n] = 1;
}
"#;

#[test]
fn the_file_has_the_lines_that_ran() {
    let folder = tempfile::tempdir().unwrap();
    let (source, written) = (folder.path().join("k.hip"), folder.path().join("ran-%v-%p.json"));
    std::fs::write(&source, SOURCE).unwrap();
    // SAFETY: this is the only test of its program, and it has started no thread yet.
    unsafe { std::env::set_var("ISOBIT_SIM_COVERAGE", &written) };
    coverage::begin("rocm");
    for arch in Arch::ALL {
        let card = Card::new(arch, &compile_with(&source, arch, &["-gline-tables-only"]));
        let to = card.upload(&[0u32; 192]);
        card.launch("k", 2, 64, &[to, 6]).unwrap();
        // The same module again has the same marks.
        let again = Card::new(arch, &compile_with(&source, arch, &["-gline-tables-only"]));
        let to = again.upload(&[0u32; 192]);
        again.launch("k", 1, 64, &[to, 6]).unwrap();
    }
    let path = coverage::write().expect("a file");
    assert_eq!(path, folder.path().join(format!("ran-rocm-{}.json", std::process::id())));
    let file: File = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(file.vendor, "rocm");
    assert_eq!(file.kernels.len(), 2 * Arch::ALL.len());
    for kernel in &file.kernels {
        let of_source = |file: u32, files: &[String]| files[file as usize].ends_with("/k.hip");
        let lines = kernel.lines.iter().filter(|line| of_source(line.file, &file.files));
        let ran: BTreeMap<u32, bool> = lines.map(|line| (line.line, line.executed > 0)).collect();
        if kernel.name == "idle" {
            assert_eq!((kernel.launches, kernel.executed, ran[&14]), (0, 0, false), "{kernel:?}");
            continue;
        }
        assert_eq!(kernel.launches, 2, "{kernel:?}");
        assert!(kernel.executed < kernel.instructions, "{kernel:?}");
        assert_eq!([4, 6, 9, 11].map(|line| ran[&line]), [true, false, false, true], "{kernel:?}");
    }
}
