//! The driver chosen at run time, on the devices that this machine has. GPUs are used if present; a
//! missing GPU is not a failure.

use isobit::{AnyDevice, BackendDevice, BackendStorage, ErrorKind, Layout, UnaryOp};

fn opened(name: &str) -> Option<AnyDevice> {
    let devices = isobit::drivers().into_iter().find(|d| d.driver == name)?.devices;
    devices.is_ok_and(|n| n > 0).then(|| AnyDevice::open(name).expect("a device that is counted opens"))
}

#[test]
fn a_device_is_its_drivers_where_there_is_one_and_the_host_elsewhere() {
    for (name, chosen) in [("cuda", AnyDevice::cuda_if_available(0)), ("rocm", AnyDevice::rocm_if_available(0))] {
        let chosen = chosen.unwrap();
        match opened(name) {
            Some(device) => assert_eq!(chosen.location(), device.location()),
            None => assert!(chosen.is_cpu(), "{}", chosen.location()),
        }
        assert_eq!(
            (chosen.is_cuda(), chosen.is_rocm()),
            match chosen.location().driver {
                "cuda" => (true, false),
                "rocm" => (false, true),
                _ => (false, false),
            }
        );
        let x = chosen.storage_from_slice(&[1.0f32, 4.0, 9.0]).unwrap();
        let roots = x.unary(&Layout::contiguous(3), UnaryOp::Sqrt).unwrap();
        assert_eq!(roots.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0]);
    }
}

#[test]
fn an_absent_driver_says_what_is_missing() {
    for (name, feature, library) in
        [("cuda", cfg!(feature = "cuda"), "libcuda"), ("rocm", cfg!(feature = "rocm"), "libamdhip64")]
    {
        if opened(name).is_some() {
            continue;
        }
        let error = AnyDevice::open(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LibraryUnavailable, "{error}");
        let told = if feature { library.to_string() } else { format!("the feature `{name}`") };
        // A driver library that is present but finds no GPU reports that instead.
        assert!(error.message().contains(&told) || error.native().is_some(), "{error}");
    }
}

#[cfg(feature = "rocm")]
#[test]
fn what_is_inside_is_given_to_those_who_ask_for_the_right_driver() {
    let error = AnyDevice::cpu().as_rocm_device().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeviceMismatch);
    if let Some(device) = opened("rocm") {
        assert_eq!(device.as_rocm_device().unwrap().id(), device.id());
        assert!(device.storage_from_slice(&[1u8]).unwrap().as_rocm_storage().is_some());
    }
}
