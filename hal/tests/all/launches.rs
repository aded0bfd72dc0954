//! Tests the errors of launches.

use isobit_hal::kernel::*;
use isobit_hal::*;
use std::sync::Arc;

#[derive(Debug)]
struct Fake {
    device: DeviceId,
    params: Option<Vec<KernelParam>>,
    max_threads: Option<u32>,
}

impl FuncBackend for Fake {
    fn name(&self) -> &str {
        "fake"
    }

    fn device(&self) -> DeviceId {
        self.device
    }

    fn params(&self) -> Option<&[KernelParam]> {
        self.params.as_deref()
    }

    fn max_threads_per_block(&self) -> Option<u32> {
        self.max_threads
    }
}

fn fake(device: &CpuDevice, params: Option<&[(usize, ParamKind)]>) -> Func {
    let params = params.map(|all| all.iter().map(|&(size, kind)| KernelParam { size, kind }).collect());
    Func::from_backend(Arc::new(Fake { device: device.id(), params, max_threads: Some(256) }))
}

#[track_caller]
fn refused(result: Result<()>, kind: ErrorKind, says: &str) {
    let error = result.expect_err("the launch must fail");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.message().contains(says) && error.kernel() == Some("fake"), "{error}");
}

#[test]
fn each_kind_of_parameter_takes_what_it_can_be() {
    use ParamKind::*;
    let device = CpuDevice;
    let storage = device.storage_from_slice(&[1f32; 4]).unwrap();
    let check = |param: (usize, ParamKind), arg| arguments(&fake(&device, Some(&[param])), &[arg]);
    let value = |v: KernelValue| KernelArg::<CpuStorage>::Value(v);
    let (word, float) = (7u64, 1.5f64);
    for param in [Pointer, PointerOrInteger] {
        check((8, param), KernelArg::Read(&storage, 4)).unwrap();
        check((8, param), value(KernelValue::from_bytes(&[0; 8]))).unwrap();
        refused(
            check((8, param), value(float.into())),
            ErrorKind::InvalidArgument,
            "argument 0: the kernel takes an address",
        );
    }
    for param in [Integer, Float, Bytes] {
        refused(check((8, param), KernelArg::Read(&storage, 0)), ErrorKind::InvalidArgument, "a storage was given");
        check((8, param), value(KernelValue::from_bytes(&[0; 8]))).unwrap();
        refused(
            check((8, param), value(KernelValue::from_bytes(&[0; 4]))),
            ErrorKind::InvalidArgument,
            "4 bytes were given",
        );
    }
    for param in [Integer, PointerOrInteger, Bytes] {
        check((8, param), value(word.into())).unwrap();
    }
    check((8, Float), value(float.into())).unwrap();
    check((8, Bytes), value(float.into())).unwrap();
    refused(check((8, Pointer), value(word.into())), ErrorKind::InvalidArgument, "KernelValue::from_bytes");
    refused(
        check((8, Integer), value(float.into())),
        ErrorKind::InvalidArgument,
        "8 bytes of a floating-point number were given",
    );
    refused(check((4, Float), value(3i32.into())), ErrorKind::InvalidArgument, "4 bytes of an integer were given");
    refused(
        check((4, Integer), value(3i64.into())),
        ErrorKind::InvalidArgument,
        "the kernel takes 4 bytes of an integer",
    );
    refused(check((24, Bytes), value(KernelValue::from_bytes(&[0; 20]))), ErrorKind::InvalidArgument, "padding");
}

#[test]
fn number_offset_and_device_are_checked() {
    let (device, other) = (CpuDevice, fake(&CpuDevice, None));
    let mut storage = device.storage_from_slice(&[1f32; 4]).unwrap();
    arguments(&other, &[KernelArg::Read(&storage, 4), KernelArg::Value(1u8.into())]).unwrap();
    refused(
        arguments(&other, &[KernelArg::Write(&mut storage, 5)]),
        ErrorKind::InvalidArgument,
        "beyond a storage of 4 elements",
    );
    let one = fake(&device, Some(&[(8, ParamKind::Pointer)]));
    refused(arguments::<CpuStorage>(&one, &[]), ErrorKind::InvalidArgument, "takes 1 arguments, 0 were given");
    let elsewhere = Fake { device: DeviceId::new(), params: None, max_threads: None };
    let elsewhere = Func::from_backend(Arc::new(elsewhere));
    refused(arguments(&elsewhere, &[KernelArg::Read(&storage, 0)]), ErrorKind::DeviceMismatch, "another device");
}

#[test]
fn a_configuration_stays_within_the_limits_of_device_and_kernel() {
    let limits = Limits {
        max_threads_per_block: 1024,
        max_grid_x: 1 << 30,
        max_grid_yz: 65535,
        max_threads_per_dim: 1 << 32,
        ..Limits::default()
    };
    let func = fake(&CpuDevice, None);
    let check = |grid, block| configuration(&func, &LaunchConfig { grid, block, shared_bytes: 0 }, &limits);
    check([1 << 23, 65535, 65535], [256, 1, 1]).unwrap();
    for (grid, block, says) in [
        ([0, 1, 1], [1, 1, 1], "0 blocks of 1 threads along x"),
        ([1, 1, 1], [1, 1, 0], "1 blocks of 0 threads along z"),
        ([(1 << 30) + 1, 1, 1], [1, 1, 1], "the device allows at most 1073741824"),
        ([1, 65536, 1], [1, 1, 1], "65536 blocks along y; the device allows at most 65535"),
        ([1 << 24, 1, 1], [256, 1, 1], "fewer than 4294967296"),
        ([1, 1, 1], [1025, 1, 1], "the device allows at most 1024"),
        ([1, 1, 1], [u32::MAX, u32::MAX, u32::MAX], "threads"),
        ([1, 1, 1], [16, 17, 1], "compiled for blocks of at most 256"),
    ] {
        refused(check(grid, block), ErrorKind::InvalidArgument, says);
    }
}
