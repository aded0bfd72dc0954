//! A data crate without its data builds in a checkout and reports that it has none. As a package it
//! is rejected, and so is one that is too large.

use std::path::Path;
use std::process::{Command, Output};

/// The content of the crates' own manifests, with what they inherit from the workspace.
const MANIFEST: &str = "[package]\nname = \"isobit-kernels-test\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                        links = \"isobit_kernels_test\"\n\n[workspace]\n";

/// Creates a folder in the layout of a crate.
fn crate_in(folder: &Path, data: Option<usize>, packaged: bool) {
    let code = Path::new(env!("CARGO_MANIFEST_DIR")).join("code");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::copy(code.join("build.rs"), folder.join("build.rs")).unwrap();
    std::fs::copy(code.join("lib.rs"), folder.join("src/lib.rs")).unwrap();
    std::fs::write(folder.join("Cargo.toml"), MANIFEST).unwrap();
    if packaged {
        std::fs::write(folder.join("Cargo.toml.orig"), MANIFEST).unwrap();
    }
    if let Some(len) = data {
        std::fs::write(folder.join("kernels.bin"), vec![0; len]).unwrap();
    }
}

fn check(data: Option<usize>, packaged: bool) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    crate_in(folder.path(), data, packaged);
    // The build fails if the crate has the other constant.
    std::fs::write(
        folder.path().join("src/main.rs"),
        format!("const _: () = assert!(isobit_kernels_test::HAS_CODE == {});\nfn main() {{}}\n", data.is_some()),
    )
    .unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn a_checkout_needs_no_data_and_takes_what_there_is() {
    for data in [None, Some(100)] {
        let (output, said) = check(data, false);
        assert!(output.status.success(), "{data:?}: {said}");
    }
}

#[test]
fn a_package_has_its_data_and_no_more_than_a_registry_takes() {
    let (output, said) = check(Some(100), true);
    assert!(output.status.success(), "{said}");
    let (output, said) = check(None, true);
    assert!(!output.status.success() && said.contains("this package has no kernels.bin"), "{said}");
    let (output, said) = check(Some(5_000_001), true);
    assert!(!output.status.success() && said.contains("the limit of a data crate is 5000000"), "{said}");
}

#[test]
fn every_data_crate_is_the_same_crate_under_another_name() {
    let code = Path::new(env!("CARGO_MANIFEST_DIR")).join("code");
    let (build, lib) = (std::fs::read(code.join("build.rs")).unwrap(), std::fs::read(code.join("lib.rs")).unwrap());
    let folders = std::fs::read_dir(&code).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut count = 0;
    for folder in folders {
        let arch = folder.file_name().unwrap().to_str().unwrap().replace('_', "");
        assert_eq!(std::fs::read(folder.join("build.rs")).unwrap(), build, "{arch}");
        assert_eq!(std::fs::read(folder.join("src/lib.rs")).unwrap(), lib, "{arch}");
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for line in [format!("name = \"isobit-kernels-{arch}\""), format!("links = \"isobit_kernels_{arch}\"")] {
            assert!(manifest.lines().any(|l| l == line), "{arch}: {line}");
        }
        let never_executed = ["gfx1030", "gfx1201"].contains(&&*arch);
        assert_eq!(manifest.contains("compiled, never executed"), never_executed, "{arch}");
        count += 1;
    }
    assert_eq!(count, 8);
}
