//! A driver behind [`DynDevice`] behaves as it does directly, and no method of the traits is
//! missing.

use crate::elsewhere::Elsewhere;
use isobit_hal::{
    BackendDevice, BackendStorage, BinaryOp, CpuDevice, CpuStorage, DType, DynDevice, DynStorage, Error, ErrorKind,
    Func, LaunchConfig, Layout, Op, Shape, Src, UnaryOp,
};
use std::collections::BTreeSet;

fn host() -> DynDevice {
    DynDevice::from_backend(CpuDevice)
}

/// Returns the names of the functions that a source text declares at a given indentation.
fn functions(text: &str, indentation: &str) -> BTreeSet<String> {
    let declared = text.lines().filter_map(|line| {
        let line = line.strip_prefix(indentation)?;
        let line = line.trim_start_matches("[unsafe] ").trim_start_matches("unsafe ").strip_prefix("fn ")?;
        Some(line.split(['(', '<']).next()?.to_string())
    });
    declared.collect()
}

/// Returns the body of a trait in a source text.
fn body<'a>(text: &'a str, name: &str) -> &'a str {
    let start = text.find(&format!("pub trait {name}")).unwrap();
    &text[start..start + text[start..].find("\n}\n").unwrap()]
}

#[test]
fn every_method_is_in_the_lists_or_stands_on_one_that_is() {
    let lists = functions(include_str!("../../src/dynamic/methods.rs"), "                ");
    let known = |names: &[&str]| lists.iter().cloned().chain(names.iter().map(|n| n.to_string())).collect();
    let written: BTreeSet<String> = known(&[
        // Written by hand, because they have operands or no `self`.
        "new",
        "can_access_peer",
        // Generic, and provided on top of other methods for every device.
        "same_device",
        "storage_from_slice",
        "with_stream",
        "capture",
    ]);
    let device = functions(body(include_str!("../../src/device.rs"), "BackendDevice"), "    ");
    assert!(device.len() > 40, "the trait was read: {device:?}");
    assert_eq!(device.difference(&written).collect::<Vec<_>>(), Vec::<&String>::new());

    let storage = functions(body(include_str!("../../src/storage.rs"), "BackendStorage"), "    ");
    let written: BTreeSet<String> = known(&[
        "device",
        "apply_into",
        "transfer_into",
        "transfer_range_into",
        "pack_matrix",
        "launch",
        "is_empty",
        "to_vec",
        "read_slice",
        "write_slice",
        "to_device",
    ]);
    // All other methods are built on `apply_into` and declared after it.
    let text = body(include_str!("../../src/storage.rs"), "BackendStorage");
    let forms = functions(&text[text.find("fn apply_into").unwrap()..], "    ");
    let forms: BTreeSet<String> = forms.into_iter().chain(["apply_into".into(), "try_clone".into()]).collect();
    let left = storage.iter().filter(|name| !written.contains(*name) && !forms.contains(*name));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<&String>::new());
    // The lists must not name methods that no longer exist.
    assert_eq!(lists.iter().filter(|n| !device.contains(*n) && !storage.contains(*n)).count(), 0);
}

#[test]
fn identity_and_streams_are_the_drivers() {
    let device = host();
    assert_eq!((device.id(), device.location()), (CpuDevice.id(), CpuDevice.location()));
    assert_eq!(device.info().unwrap().arch, CpuDevice.info().unwrap().arch);
    assert_eq!(device.default_stream().unwrap().id(), CpuDevice.default_stream().unwrap().id());
    let stream = CpuDevice.new_stream().unwrap();
    device
        .with_stream(&stream, || {
            assert_eq!(CpuDevice.current_stream()?.id(), stream.id());
            Ok(())
        })
        .unwrap();
    assert!(device.downcast_ref::<CpuDevice>().is_some() && device.downcast_ref::<DynDevice>().is_none());
    let again = DynDevice::from_backend(device.clone());
    assert!(again.downcast_ref::<CpuDevice>().is_some(), "a device is wrapped once");
    assert!(device.same_device(&again) && device.can_access_peer(&again));
    assert_eq!(DynDevice::new(1).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(device.get_or_load_func("exp").unwrap_err().kind(), ErrorKind::UnsupportedOp);
}

#[test]
fn operations_run_in_the_driver() {
    let device = host();
    let layout = Layout::contiguous(3);
    let a = device.storage_from_slice(&[1.0f32, 4.0, 9.0]).unwrap();
    let b = a.unary(&layout, UnaryOp::Sqrt).unwrap().binary(&layout, &a, &layout, BinaryOp::Add).unwrap();
    assert_eq!(b.to_vec::<f32>().unwrap(), [2.0, 6.0, 12.0]);
    assert!(b.device().same_device(&device));
    assert_eq!(b.downcast_ref::<CpuStorage>().unwrap(), &CpuStorage::F32(vec![2.0, 6.0, 12.0]));

    let mut c = device.zeros(&Shape::from(3), DType::F32).unwrap();
    BackendStorage::apply_into(
        &Op::Binary(BinaryOp::Mul),
        &[(&a, &layout).into(), (&b, &layout).into()],
        &mut c,
        &layout,
    )
    .unwrap();
    BackendStorage::unary_into(UnaryOp::Neg, Src::InPlace, &mut c, &layout).unwrap();
    c.write_slice(0, &[5.0f32]).unwrap();
    assert_eq!(c.to_vec::<f32>().unwrap(), [5.0, -24.0, -108.0]);
    let mut pinned = device.alloc_pinned(12).unwrap();
    c.copy_to_pinned(0, &mut pinned, 0..12).unwrap();
    assert_eq!(pinned.as_slice::<f32>().unwrap(), [5.0, -24.0, -108.0]);
    assert_eq!(a.transfer_into(&mut c).and_then(|()| c.to_vec::<f32>()).unwrap(), [1.0, 4.0, 9.0]);
    let error = a.unary(&Layout::contiguous(4), UnaryOp::Sqrt).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);

    // The device has one sequence of numbers, whichever handle draws.
    device.set_seed(7).unwrap();
    let drawn = device.rand_uniform(&Shape::from(8), DType::F32, 0.0, 1.0).unwrap().to_vec::<f32>().unwrap();
    CpuDevice.set_seed(7).unwrap();
    let direct = CpuDevice.rand_uniform(&Shape::from(8), DType::F32, 0.0, 1.0).unwrap();
    assert_eq!(drawn, direct.to_vec::<f32>().unwrap());
}

#[test]
fn a_launch_finds_its_device_by_the_kernel_or_by_a_storage() {
    /// Returns the error of a launch with numbers and storages.
    fn refusal(func: &Func, storage: Option<&DynStorage>) -> Error {
        let launch = func.builder::<DynStorage>().value(1.0f32);
        let launch = storage.into_iter().fold(launch, |launch, storage| launch.arg(storage));
        // SAFETY: no driver here runs kernels, so each returns an error.
        unsafe { launch.launch(LaunchConfig::linear(1, 1)) }.unwrap_err()
    }

    let driver = Elsewhere::new(0).unwrap();
    let own = driver.get_or_load_func("scale").unwrap();
    let bound = DynDevice::from_backend(driver.clone()).get_or_load_func("scale").unwrap();
    assert_eq!((bound.name(), bound.device()), ("scale", driver.id()));
    // The call reaches each driver, which reports that it runs no kernels.
    let storage = host().zeros(&Shape::from(1), DType::U8).unwrap();
    for error in [refusal(&bound, None), refusal(&own, Some(&storage))] {
        assert_eq!((error.kind(), error.kernel()), (ErrorKind::UnsupportedOp, Some("scale")), "{error}");
    }
    let error = refusal(&own, None);
    assert_eq!((error.kind(), error.kernel()), (ErrorKind::InvalidArgument, Some("scale")), "{error}");
    let error = refusal(&bound, Some(&storage));
    assert_eq!(error.kind(), ErrorKind::DeviceMismatch);
    assert!(error.message().contains("cpu:0 and elsewhere:3"), "{error}");
}
