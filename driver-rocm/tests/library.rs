//! Errors on a machine without ROCm, and on one with another kind of ROCm: they say what was looked
//! for and where. Each test runs in a separate process, because a process opens a library once.

use isobit_hal::{BackendDevice, ErrorKind};
use isobit_rocm::RocmDevice;
use isobit_rocm::sys::Hip;
use std::path::Path;
use std::process::Command;

/// Set in the child, which opens the device and prints the error.
const CHILD: &str = "ISOBIT_TEST_OPEN_ROCM";

#[test]
fn open_in_child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let error = RocmDevice::new(0).expect_err("there is no usable ROCm");
    assert_eq!(error.kind(), ErrorKind::LibraryUnavailable);
    println!("message: {error}");
}

fn message_with(settings: &[(&str, &Path)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "open_in_child", "--nocapture"]).env(CHILD, "1");
    for variable in ["LD_LIBRARY_PATH", "ROCM_PATH", Hip::SPEC.variable] {
        child.env_remove(variable);
    }
    let output = child.envs(settings.iter().copied()).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let message = stdout.split("message: ").nth(1).expect("the child prints the error");
    message.lines().next().unwrap().to_string()
}

/// Compiles a library `file` with the given functions, each of which returns 0.
fn compile_stub(file: &Path, symbols: &[&str]) {
    let source: String = symbols.iter().map(|s| format!("int {s}(void) {{ return 0; }}\n")).collect();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = file.with_extension("c");
    std::fs::write(&text, source).unwrap();
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(file).arg(&text).status().unwrap();
    assert!(status.success());
}

#[test]
fn everything_that_was_looked_for_is_named() {
    if Hip::get().is_ok() {
        eprintln!("skipped: this machine has ROCm");
        return;
    }
    let message = message_with(&[("ROCM_PATH", Path::new("/nowhere/rocm"))]);
    for sought in [
        "/nowhere/rocm/lib/libamdhip64.so.7",
        "/nowhere/rocm/lib64/libamdhip64.so",
        "libamdhip64.so.6",
        "libamdhip64.so.5",
        "/opt/rocm/lib/libamdhip64.so",
        "ISOBIT_HIP_LIBRARY",
        "install ROCm",
    ] {
        assert!(message.contains(sought), "{sought} is not in: {message}");
    }
}

#[test]
fn a_named_file_is_the_only_one_tried() {
    let message = message_with(&[(Hip::SPEC.variable, Path::new("/nowhere/libhip.so"))]);
    assert!(message.contains("/nowhere/libhip.so") && !message.contains("/opt/rocm/lib/"), "{message}");
}

#[test]
fn a_file_that_is_no_library_says_so() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "text").unwrap();
    let message = message_with(&[(Hip::SPEC.variable, file.path())]);
    assert!(message.contains(file.path().to_str().unwrap()) && message.contains("file too short"), "{message}");
}

#[test]
fn a_missing_function_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lib/libamdhip64.so.6");
    compile_stub(&file, &["hipGetDeviceCount", "hipSetDevice"]);
    let message = message_with(&[("ROCM_PATH", folder.path())]);
    assert!(message.contains("lacks") && message.contains("hipModuleLaunchKernel"), "{message}");
    assert!(message.contains(file.to_str().unwrap()) && !message.contains("hipSetDevice"), "{message}");
}

#[test]
fn the_newest_release_of_a_folder_is_taken_and_properties_are_needed() {
    let folder = tempfile::tempdir().unwrap();
    compile_stub(&folder.path().join("lib/libamdhip64.so.5"), &["hipGetDeviceCount"]);
    // Reports one device and everything about it except the architecture.
    let newer = folder.path().join("lib/libamdhip64.so.7");
    compile_stub(&newer, &Hip::REQUIRED[1..]);
    let one = format!("{}.one.c", newer.display());
    std::fs::write(&one, "int hipGetDeviceCount(int* n) { *n = 1; return 0; }").unwrap();
    let text = newer.with_extension("c");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&newer).args([text.as_os_str(), one.as_ref()]).status();
    assert!(built.unwrap().success());
    let message = message_with(&[("ROCM_PATH", folder.path())]);
    assert!(message.contains("hipGetDeviceProperties") && message.contains("architecture"), "{message}");
}
