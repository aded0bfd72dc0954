//! Registers the driver with the facade by a name, where it meets the other drivers.

use super::device::{DEVICES, TinyDevice};
use crate::storage::TinyStorage;
use isobit::{
    AnyDevice, BackendDevice, BackendStorage, BinaryOp, CpuDevice, DType, DriverEntry, ErrorKind, Layout, Shape,
};
use std::sync::Once;

fn join() {
    static JOINED: Once = Once::new();
    JOINED.call_once(|| {
        isobit::register_driver("tiny", DriverEntry::new(TinyDevice::enumerate, TinyDevice::new)).unwrap();
    });
}

#[test]
fn it_is_opened_and_found_by_name() {
    join();
    let device = AnyDevice::open("tiny:1").unwrap();
    assert_eq!((device.location().to_string(), device.info().unwrap().name), ("tiny:1".into(), "Tiny 1".into()));
    assert!(!device.is_cpu() && !device.is_cuda() && !device.is_rocm());
    assert!(device.downcast_ref::<TinyDevice>().is_some() && device.downcast_ref::<CpuDevice>().is_none());
    assert_eq!(AnyDevice::open("tiny").unwrap().location().ordinal, 0);

    let names: Vec<_> = isobit::available_devices().iter().map(|d| d.to_string()).collect();
    assert!(names.ends_with(&["tiny:0".into(), "tiny:1".into()]) && names[0] == "cpu:0", "{names:?}");
    let found = isobit::enumerate().into_iter().find(|found| found.location == device.location());
    assert_eq!(found.unwrap().info.name, "Tiny 1");
    let status = isobit::drivers().into_iter().find(|status| status.driver == "tiny").unwrap();
    assert_eq!(status.devices.unwrap(), DEVICES);

    for (name, told) in
        [("tiny:2", "tiny:0 and tiny:1"), ("tiny:x", "`x` is not a device number"), ("minute:0", "tiny")]
    {
        let error = AnyDevice::open(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(told), "{error}");
    }
}

#[test]
fn a_name_is_given_once_and_can_stand_before_an_ordinal() {
    join();
    for name in ["tiny", "cpu", "cuda", "rocm", "", "a:b", "a b", "a,b"] {
        let refused = isobit::register_driver(name, DriverEntry::new(TinyDevice::enumerate, TinyDevice::new));
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
        assert!(error.message().contains(&format!("`{name}`")), "{error}");
    }
    assert_eq!(isobit::drivers().iter().filter(|status| status.driver == "tiny").count(), 1);
}

#[test]
fn a_driver_that_sees_nothing_says_why_and_hides_no_other() {
    let absent = || Err(isobit::Error::new(ErrorKind::LibraryUnavailable, "libnone.so was not found"));
    isobit::register_driver("none", DriverEntry::new(absent, TinyDevice::new)).unwrap();
    let status = isobit::drivers().into_iter().find(|status| status.driver == "none").unwrap();
    assert!(status.devices.unwrap_err().message().contains("libnone.so"));
    let devices = isobit::available_devices();
    assert!(devices.iter().all(|d| d.driver != "none") && devices.iter().any(|d| d.driver == "cpu"));
}

#[test]
fn data_goes_between_it_and_the_host() {
    let (host, tiny) = (AnyDevice::cpu(), AnyDevice::from_backend(TinyDevice::new(0).unwrap()));
    let twin = AnyDevice::from_backend(TinyDevice::new(0).unwrap());
    assert!(!tiny.same_device(&twin) && !tiny.can_access_peer(&host) && !host.can_access_peer(&tiny));
    let x = host.storage_from_slice(&[1.0f32, f32::from_bits(0x7fc0_1234), -0.0]).unwrap();
    let bits = |s: &isobit::AnyStorage| s.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let there = x.to_device(&tiny).unwrap();
    assert!(there.downcast_ref::<TinyStorage>().is_some() && there.device().same_device(&tiny));
    let further = there.to_device(&twin).unwrap();
    let back = further.to_device(&host).unwrap();
    assert!(back.as_cpu_storage().is_some());
    for copy in [&there, &further, &back] {
        assert_eq!(bits(copy), bits(&x));
    }

    let layout = Layout::contiguous(3);
    for other in [&x, &further] {
        let error = there.binary(&layout, other, &layout, BinaryOp::Add).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceMismatch);
        assert!(error.message().contains("tiny:0"), "{error}");
    }
    let mut short = tiny.zeros(&Shape::from(2), DType::F32).unwrap();
    assert_eq!(x.transfer_into(&mut short).unwrap_err().kind(), ErrorKind::ShapeMismatch);
}
