//! Errors on a machine without NVIDIA's driver, and on one whose driver is too old. Each test runs
//! in a separate process, because a process opens a library once.

use isobit_cuda::CudaDevice;
use isobit_hal::{BackendDevice, ErrorKind};
use std::process::Command;

/// Set in the child, which opens the device and prints the error.
const CHILD: &str = "ISOBIT_TEST_OPEN_CUDA";

#[test]
fn open_in_child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let error = CudaDevice::new(0).expect_err("there is no usable driver");
    assert_eq!(error.kind(), ErrorKind::LibraryUnavailable);
    println!("message: {error}");
}

fn message_with(library_path: &std::path::Path) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "open_in_child", "--nocapture"])
        .env(CHILD, "1")
        .env("LD_LIBRARY_PATH", library_path)
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let message = stdout.split("message: ").nth(1).expect("the child prints the error");
    message.lines().next().unwrap().to_string()
}

fn compile_stub(dir: &std::path::Path, symbols: &[&str]) {
    let source: String = symbols.iter().map(|s| format!("int {s}(void) {{ return 0; }}\n")).collect();
    std::fs::write(dir.join("stub.c"), source).unwrap();
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(dir.join("libcuda.so"))
        .arg(dir.join("stub.c"))
        .status()
        .unwrap();
    assert!(status.success());
}

fn machine_has_driver() -> bool {
    isobit_cuda::device_count().is_ok()
}

#[test]
fn no_driver_is_said_plainly() {
    if machine_has_driver() {
        eprintln!("skipped: this machine has NVIDIA's driver");
        return;
    }
    let message = message_with(std::path::Path::new("/nonexistent"));
    assert!(message.contains("libcuda") && message.contains("not on this machine"), "{message}");
}

#[test]
fn a_missing_symbol_is_named() {
    let dir = std::env::temp_dir().join(format!("isobit-stub-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    compile_stub(&dir, &["cuInit", "cuDriverGetVersion", "cuDeviceGetCount"]);
    let message = message_with(&dir);
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(message.contains("lacks") && message.contains("cuLaunchKernel"), "{message}");
}
