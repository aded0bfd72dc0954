//! Without clang and without a data crate with code, the crate still builds, and contains every
//! source for the device's own compiler.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

/// Returns the build script that this test's crate was built with: the most recently built of those
/// that cargo keeps.
fn build_script() -> PathBuf {
    // OUT_DIR is <target>/<profile>/build/<package>-<hash>/out.
    let all = Path::new(env!("OUT_DIR")).ancestors().nth(2).expect("OUT_DIR lies where cargo puts it");
    // The names of the data crates start the same way.
    let ours = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix("isobit-kernels-").is_some_and(|hash| hash.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let built =
        |script: &PathBuf| std::fs::metadata(script).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let folders =
        std::fs::read_dir(all).expect("cargo keeps build scripts").filter_map(|entry| Some(entry.ok()?.path()));
    let scripts = folders.filter(|folder| ours(folder)).map(|folder| folder.join("build-script-build"));
    scripts.filter(|script| script.exists()).max_by_key(built).expect("the build script was built")
}

/// Runs the script as cargo does for a build with both vendors, but without clang.
fn run(out: &Path) -> Output {
    let mut script = Command::new(build_script());
    script.current_dir(env!("CARGO_MANIFEST_DIR")).env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"));
    script
        .env("OUT_DIR", out)
        .env("CARGO_FEATURE_CUDA", "1")
        .env("CARGO_FEATURE_ROCM", "1")
        .envs(ARCHS)
        .env("ISOBIT_CLANG", "none");
    script.env_remove("ISOBIT_KERNEL_PROGRESS").output().expect("the build script starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks that a table has no code, and that the crate contains every source unchanged.
fn holds_sources_alone(table: &str) {
    let modules = isobit_kernels::manifest();
    assert_eq!(table.matches("Image {").count(), modules.len());
    assert!(table.contains("static PACKED: [Packed; 0]"), "there is code that nothing compiled");
    assert!(table.contains("\"none: sources only"), "the table does not say that nothing was compiled");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let headers = isobit_kernels::headers().expect("the sources are packed");
    for module in &modules {
        let text = std::fs::read_to_string(folder.join(module.source)).expect("the source is readable");
        assert!(headers.contains(&(module.source, text)), "{} is not embedded as it is", module.source);
    }
}

/// Architectures without a data crate.
const ARCHS: [(&str, &str); 2] = [("ISOBIT_CUDA_ARCHS", "sm_89"), ("ISOBIT_ROCM_ARCHS", "gfx1102")];

#[test]
fn without_clang_the_build_script_succeeds_says_so_and_embeds_the_sources() {
    let out = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("cargo's folder can be written");
    let output = run(out.path());
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(
        said.contains("no clang 19 or newer was found"),
        "the script does not say that it compiled nothing:\n{said}"
    );
    let table = std::fs::read_to_string(out.path().join("table.rs")).expect("the script wrote a table");
    holds_sources_alone(&table);
}

#[test]
#[ignore = "compiles the crate and what it stands on again: `cargo xtask test --full`"]
fn a_build_without_clang_succeeds_and_embeds_the_sources() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-clang");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--package", "isobit-kernels", "--features", "cuda"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("ISOBIT_CLANG", "none")
        .envs(ARCHS)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .expect("cargo starts");
    let log = text(&output.stderr);
    assert!(output.status.success(), "{log}");
    assert!(log.contains("no clang 19 or newer was found"), "the build does not say that it compiled nothing:\n{log}");
    let built = std::fs::read_dir(target.join("debug/build")).expect("the build script ran").flatten();
    let table =
        built.map(|e| e.path().join("out/table.rs")).find(|p| p.exists()).expect("the build script wrote a table");
    holds_sources_alone(&std::fs::read_to_string(table).expect("the table is readable"));
}
