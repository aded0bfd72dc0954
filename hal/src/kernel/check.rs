//! The checks of a launch: what the code says of a kernel's parameters against what it is given, and the configuration against the device. Written once, so
//! that the same bad launch gives the same error on every driver.

use super::{Func, KernelArg, KernelParam, KernelValue, LaunchConfig, ParamKind};
use crate::{BackendDevice, BackendStorage, Error, ErrorKind, Limits, Result};

/// The arguments of a launch: number, size and kind where the code tells them, devices and offsets.
///
/// # Errors
/// `InvalidArgument`, `DeviceMismatch`, naming the argument.
pub(crate) fn arguments<S: BackendStorage>(func: &Func, args: &[KernelArg<'_, S>]) -> Result<()> {
    if let Some(params) = func.params() {
        if params.len() != args.len() {
            let (takes, given) = (params.len(), args.len());
            return Err(invalid(func, format!("the kernel takes {takes} arguments, {given} were given")));
        }
        for (i, (param, arg)) in params.iter().zip(args).enumerate() {
            suits(*param, arg).map_err(|why| invalid(func, format!("argument {i}: {why}")))?;
        }
    }
    for (i, arg) in args.iter().enumerate() {
        let (storage, offset) = match arg {
            KernelArg::Read(storage, offset) => (*storage, *offset),
            KernelArg::Write(storage, offset) => (&**storage, *offset),
            KernelArg::Value(_) => continue,
        };
        let device = storage.device();
        if device.id() != func.device() {
            let location = device.location();
            let message = format!(
                "argument {i}: the storage lives on {location} ({:?}), the kernel was loaded on another device ({:?}): load it on the storage's, or \
                 copy the storage over first",
                device.id(),
                func.device()
            );
            return Err(Error::new(ErrorKind::DeviceMismatch, message).with_device(location).with_kernel(func.name()));
        }
        if offset > storage.len() {
            let message =
                format!("argument {i}: it begins at element {offset}, beyond a storage of {} elements", storage.len());
            return Err(invalid(func, message));
        }
    }
    Ok(())
}

/// Why an argument does not suit a parameter.
fn suits<S: BackendStorage>(param: KernelParam, arg: &KernelArg<'_, S>) -> Result<(), String> {
    use ParamKind::*;
    let KernelArg::Value(KernelValue { bytes, kind }) = arg else {
        return match param.kind {
            Pointer | PointerOrInteger => Ok(()),
            _ => Err(format!("the kernel takes {}, a storage was given", words(param))),
        };
    };
    let given = KernelParam { size: bytes.len(), kind: *kind };
    if given.size != param.size {
        let message = format!("the kernel takes {}, {} were given", words(param), words(given));
        let padding = given.kind == Bytes && given.size < param.size && param.kind == Bytes;
        let hint = "; a structure is given with its padding, that at its end included";
        return Err(message + if padding { hint } else { "" });
    }
    match (param.kind, given.kind) {
        (a, b) if a == b => Ok(()),
        // Bytes are what the caller says they are: a structure, a number, an address that is no storage's.
        (Bytes, _) | (_, Bytes) | (PointerOrInteger, Integer) => Ok(()),
        (Pointer, _) => Err(format!(
            "the kernel takes an address, {} were given: give a storage, or an address of your own by KernelValue::from_bytes",
            words(given)
        )),
        _ => Err(format!("the kernel takes {}, {} were given", words(param), words(given))),
    }
}

fn words(KernelParam { size, kind }: KernelParam) -> String {
    match kind {
        ParamKind::Pointer => "an address".into(),
        ParamKind::Integer => format!("{size} bytes of an integer"),
        ParamKind::PointerOrInteger => format!("an address or {size} bytes of an integer"),
        ParamKind::Float => format!("{size} bytes of a floating-point number"),
        ParamKind::Bytes => format!("{size} bytes"),
    }
}

/// The configuration of a launch against what the device and the kernel take.
///
/// # Errors
/// `InvalidArgument`, naming the limit.
pub(crate) fn configuration(func: &Func, config: &LaunchConfig, limits: &Limits) -> Result<()> {
    let wrong = |what: String| Err(invalid(func, what));
    for (i, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let (blocks, threads) = (config.grid[i], config.block[i]);
        if blocks == 0 || threads == 0 {
            return wrong(format!(
                "{blocks} blocks of {threads} threads along {axis}: a launch has at least one of each"
            ));
        }
        let most = if i == 0 { limits.max_grid_x } else { limits.max_grid_yz };
        if blocks > most {
            return wrong(format!("{blocks} blocks along {axis}; the device takes {most}"));
        }
        let along = u64::from(blocks) * u64::from(threads);
        if along >= limits.max_threads_per_dim {
            let most = limits.max_threads_per_dim;
            return wrong(format!("{along} threads along {axis} in all blocks; the device takes fewer than {most}"));
        }
    }
    let threads = config.block.into_iter().map(u64::from).try_fold(1, u64::checked_mul).unwrap_or(u64::MAX);
    if threads > limits.max_threads_per_block.into() {
        return wrong(format!("a block of {threads} threads; the device takes {}", limits.max_threads_per_block));
    }
    match func.max_threads_per_block() {
        Some(most) if threads > most.into() => {
            wrong(format!("a block of {threads} threads; the kernel was compiled for blocks of {most} at most"))
        }
        _ => Ok(()),
    }
}

#[cold]
fn invalid(func: &Func, what: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("launching {}: {what}", func.name())).with_kernel(func.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::FuncBackend;
    use crate::{BackendDevice, CpuDevice, CpuStorage, DeviceId};
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
        let error = result.expect_err("this launch is wrong");
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
            ([(1 << 30) + 1, 1, 1], [1, 1, 1], "the device takes 1073741824"),
            ([1, 65536, 1], [1, 1, 1], "65536 blocks along y; the device takes 65535"),
            ([1 << 24, 1, 1], [256, 1, 1], "fewer than 4294967296"),
            ([1, 1, 1], [1025, 1, 1], "the device takes 1024"),
            ([1, 1, 1], [u32::MAX, u32::MAX, u32::MAX], "threads"),
            ([1, 1, 1], [16, 17, 1], "compiled for blocks of 256"),
        ] {
            refused(check(grid, block), ErrorKind::InvalidArgument, says);
        }
    }
}
