//! The checks of a launch: the arguments against the kernel's parameters, and the configuration
//! against the device. All drivers share them, so the same bad launch gives the same error
//! everywhere.

use super::{Func, KernelArg, KernelParam, KernelValue, LaunchConfig, ParamKind};
use crate::{BackendDevice, BackendStorage, Error, ErrorKind, Limits, Result};

/// Checks the arguments of a launch: number, size and kind if the code specifies them, devices and
/// offsets.
///
/// # Errors
/// `InvalidArgument` or `DeviceMismatch`, naming the argument.
pub fn arguments<S: BackendStorage>(func: &Func, args: &[KernelArg<'_, S>]) -> Result<()> {
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
                "argument {i}: the storage lives on {location} ({:?}), the kernel was loaded on another device ({:?}): load it on the \
                 storage's device, or copy the storage to the kernel's device first",
                device.id(),
                func.device()
            );
            return Err(Error::new(ErrorKind::DeviceMismatch, message).with_device(location).with_kernel(func.name()));
        }
        if offset > storage.len() {
            let message =
                format!("argument {i}: the offset {offset} is beyond a storage of {} elements", storage.len());
            return Err(invalid(func, message));
        }
    }
    Ok(())
}

/// Returns an error message if an argument does not match a parameter.
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
        let hint = "; the bytes of a structure include its padding, also at the end";
        return Err(message + if padding { hint } else { "" });
    }
    match (param.kind, given.kind) {
        (a, b) if a == b => Ok(()),
        // The meaning of bytes is up to the caller: a structure, a number, or an address that does
        // not belong to a storage.
        (Bytes, _) | (_, Bytes) | (PointerOrInteger, Integer) => Ok(()),
        (Pointer, _) => Err(format!(
            "the kernel takes an address, {} were given: pass a storage, or your own address by KernelValue::from_bytes",
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

/// Checks the configuration of a launch against the limits of the device and the kernel.
///
/// # Errors
/// `InvalidArgument`, naming the limit.
pub fn configuration(func: &Func, config: &LaunchConfig, limits: &Limits) -> Result<()> {
    let wrong = |what: String| Err(invalid(func, what));
    for (i, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let (blocks, threads) = (config.grid[i], config.block[i]);
        if blocks == 0 || threads == 0 {
            return wrong(format!(
                "{blocks} blocks of {threads} threads along {axis}: a launch needs at least one of each"
            ));
        }
        let most = if i == 0 { limits.max_grid_x } else { limits.max_grid_yz };
        if blocks > most {
            return wrong(format!("{blocks} blocks along {axis}; the device allows at most {most}"));
        }
        let along = u64::from(blocks) * u64::from(threads);
        if along >= limits.max_threads_per_dim {
            let most = limits.max_threads_per_dim;
            return wrong(format!("{along} threads along {axis} in all blocks; the device allows fewer than {most}"));
        }
    }
    let threads = config.block.into_iter().map(u64::from).try_fold(1, u64::checked_mul).unwrap_or(u64::MAX);
    if threads > limits.max_threads_per_block.into() {
        return wrong(format!(
            "a block of {threads} threads; the device allows at most {}",
            limits.max_threads_per_block
        ));
    }
    match func.max_threads_per_block() {
        Some(most) if threads > most.into() => {
            wrong(format!("a block of {threads} threads; the kernel was compiled for blocks of at most {most}"))
        }
        _ => Ok(()),
    }
}

#[cold]
fn invalid(func: &Func, what: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("launching {}: {what}", func.name())).with_kernel(func.name())
}
