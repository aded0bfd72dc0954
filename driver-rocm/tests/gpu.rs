//! The driver on a card, and on simulated ones where there is none: what holds for any driver, and HIP's own limits.

#[path = "../../kernels-common/tests/driver/mod.rs"]
mod driver;
mod simulated;

use driver::{device, fails, works};
use isobit_hal::ErrorKind;
use isobit_kernels::{Code, GpuRuntime, IMAGES, KERNELS, LaunchConfig, ModuleRuntime, Target};
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
    // SAFETY: no more than asking; the library is open, for a device is.
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
