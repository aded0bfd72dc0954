//! Tests that hold for any driver, and tests of HIP's own limits, on a card, or on simulated ones.

#[path = "../../kernels-common/tests/driver/mod.rs"]
mod driver;
mod simulated;

use driver::{device, fails, works};
use isobit_hal::{BackendDevice, BackendStorage, ErrorKind, Layout};
use isobit_kernels::{Code, CompilerRuntime, GpuRuntime, IMAGES, KERNELS, LaunchConfig, ModuleRuntime, Target};
use isobit_rocm::{RocmDevice as Device, RocmStorage as Storage, device_count, devices};

#[test]
fn on_simulated_cards() {
    simulated::again("on_simulated_cards");
}

#[test]
fn a_code_object_of_another_architecture_is_refused_and_the_error_does_not_stick() {
    let Some(device) = device() else { return };
    let mine = device.runtime().arch().split(':').next().unwrap_or_default().to_string();
    let archs = IMAGES[0].archs(Target::Amdgcn);
    let Some(other) = archs.iter().find(|a| **a != mine) else {
        eprintln!("skipped: this build packs code for {mine} alone");
        return;
    };
    let code = IMAGES[0].code_for(Target::Amdgcn, other).unwrap();
    fails(device.runtime().load_module(Code::Object(&code)), ErrorKind::KernelMissing);
    // SAFETY: the call only reads the error; the library is open because a device is.
    assert_eq!(unsafe { (isobit_rocm::sys::Hip::get().unwrap().hipGetLastError)() }, isobit_rocm::sys::hipSuccess);
    fails(device.runtime().load_module(Code::Object(b"\x7fELF")), ErrorKind::InvalidArgument);
    fails(device.runtime().load_module(Code::Ptx(b".version 7.8\0")), ErrorKind::InvalidArgument);
    works(&device);
}

#[test]
fn launches_beyond_hips_limits_are_refused() {
    let Some(device) = device() else { return };
    let (function, _) = device.function(KERNELS[0].key).unwrap();
    for config in [LaunchConfig::linear(0, 64), LaunchConfig::linear(1 << 26, 64), LaunchConfig::linear(1, 4096)] {
        // SAFETY: nothing is launched.
        let launched = unsafe { device.runtime().launch(&device.stream(), function, &config, &[]) };
        fails(launched, ErrorKind::InvalidArgument);
    }
    works(&device);
}

#[test]
fn a_query_of_unfinished_work_leaves_no_error() {
    let Some(device) = device() else { return };
    let stream = device.new_stream().unwrap();
    let event = device.new_event().unwrap();
    let n = 1 << 20;
    let ones = device.storage_from_slice(&vec![1.0f32; n]).unwrap();
    let twice = device.with_stream(&stream, || ones.affine(&Layout::contiguous(n), 2.0, 0.0)).unwrap();
    stream.record(&event).unwrap();
    let _ = [event.query().unwrap(), stream.query().unwrap()];
    // rocRAND and MIOpen read the thread's last error after their own launches.
    // SAFETY: the call only reads the error; the library is open because a device is.
    assert_eq!(unsafe { (isobit_rocm::sys::Hip::get().unwrap().hipGetLastError)() }, isobit_rocm::sys::hipSuccess);
    assert!(twice.to_vec::<f32>().unwrap().iter().all(|&x| x == 2.0));
}

/// A wave has 64 lanes on CDNA, and HIP compiles for 32 on RDNA.
#[test]
fn waves_are_those_of_the_architecture() {
    let Some(device) = device() else { return };
    let info = device.info().unwrap();
    let lanes = if info.arch.starts_with("gfx9") { 64 } else { 32 };
    assert_eq!((info.warp_size, info.limits.unwrap().warp_size), (lanes, lanes as u32), "{}", info.arch);
}

/// HIPRTC's own version stays the same over releases, so compiled code is kept for the version of
/// the runtime and the file as well.
#[test]
fn the_compiler_is_named_with_its_runtime_and_its_file() {
    let Some(device) = device() else { return };
    let name = device.runtime().compiler().unwrap();
    assert!(name.starts_with("HIPRTC ") && name.contains(", HIP ") && name.contains(".so"), "{name}");
}
