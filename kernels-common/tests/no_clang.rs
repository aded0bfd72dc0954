//! Where there is no clang the crate still builds, and carries every source for the device's own compiler.

use std::path::Path;
use std::process::Command;

#[test]
fn a_build_without_clang_succeeds_and_embeds_the_sources() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-clang");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--package", "isobit-kernels", "--features", "cuda"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("ISOBIT_CLANG", "none")
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .expect("cargo starts");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    assert!(log.contains("no clang 19 or newer was found"), "the build does not say that it compiled nothing:\n{log}");

    let built = std::fs::read_dir(target.join("debug/build")).expect("the build script ran").flatten();
    let table =
        built.map(|e| e.path().join("out/table.rs")).find(|p| p.exists()).expect("the build script wrote a table");
    let table = std::fs::read_to_string(table).expect("the table is readable");
    let modules = isobit_kernels::manifest();
    assert_eq!(table.matches("Image {").count(), modules.len());
    assert_eq!(table.matches("code: &[]").count(), modules.len(), "a module has code that nothing compiled");
    for module in &modules {
        assert!(table.contains(&format!("({:?}, include_bytes!", module.source)), "{} is not embedded", module.source);
    }
}
