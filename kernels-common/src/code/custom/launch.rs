//! Launches kernels with arguments from users: checks and packs the arguments, and orders the
//! launch with the work of other streams on its storages.

use super::GpuFunc;
use crate::launch::Arg;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use crate::stream::dependencies::{self, Access, Operands};
use isobit_hal::{BackendStorage, Error, ErrorKind, Func, KernelArg, LaunchConfig, Result, validate};
use smallvec::SmallVec;

/// See [`BackendStorage::launch`].
///
/// # Safety
/// See [`BackendStorage::launch`].
pub(crate) unsafe fn launch<R: GpuRuntime>(
    func: &Func,
    config: LaunchConfig,
    args: &mut [KernelArg<'_, GpuStorage<R>>],
) -> Result<()> {
    let Some(own) = func.downcast_ref::<GpuFunc<R>>() else {
        let message = format!(
            "the kernel {} was loaded by another driver than {}: load it on the storages' device",
            func.name(),
            R::DRIVER
        );
        return Err(Error::new(ErrorKind::DeviceMismatch, message).with_kernel(func.name()));
    };
    let device = &own.device;
    let failed = |e: Error| e.with_kernel(func.name()).with_device(device.location_of());
    validate::launch(func, &config, device.runtime().limits(), args).map_err(failed)?;
    own.kernel.allow_shared(device.runtime(), &config).map_err(failed)?;
    let packed = Packed::new(args);
    let values = packed.args();
    let function = own.kernel.function();
    dependencies::with(device, &operands(args), |stream| {
        // SAFETY: the arguments were checked as far as the code describes its parameters; the
        // caller promises the rest.
        unsafe { device.runtime().launch(stream, function, &config, &values)? };
        device.count_launch(stream);
        Ok(())
    })
    .map_err(failed)
}

fn operands<'a, R: GpuRuntime>(args: &'a [KernelArg<'_, GpuStorage<R>>]) -> Operands<'a, R> {
    let operand = |arg: &'a KernelArg<'_, GpuStorage<R>>| match arg {
        KernelArg::Read(storage, _) => Some((storage.block(), Access::Read)),
        KernelArg::Write(storage, _) => Some((storage.block(), Access::Write)),
        KernelArg::Value(_) => None,
    };
    args.iter().filter_map(operand).collect()
}

/// The values of the arguments, each aligned to a word.
struct Packed {
    words: SmallVec<[u64; 16]>,
    /// The index of each argument's first word.
    starts: SmallVec<[usize; 16]>,
}

impl Packed {
    fn new<R: GpuRuntime>(args: &[KernelArg<'_, GpuStorage<R>>]) -> Self {
        let mut packed = Self { words: SmallVec::new(), starts: SmallVec::new() };
        for arg in args {
            packed.starts.push(packed.words.len());
            match arg {
                KernelArg::Read(storage, offset) => packed.address(storage, *offset),
                KernelArg::Write(storage, offset) => packed.address(storage, *offset),
                KernelArg::Value(value) => value.bytes.chunks(size_of::<u64>()).for_each(|chunk| {
                    let mut word = [0; size_of::<u64>()];
                    word[..chunk.len()].copy_from_slice(chunk);
                    packed.words.push(u64::from_ne_bytes(word));
                }),
            }
        }
        packed
    }

    fn address<R: GpuRuntime>(&mut self, storage: &GpuStorage<R>, offset: usize) {
        self.words.push(storage.ptr().at(storage.dtype(), offset).0);
    }

    fn args(&self) -> SmallVec<[Arg<'_>; 16]> {
        // An empty structure has no words, so it may start at the end of `words`.
        self.starts.iter().map(|&start| Arg::new(&self.words[start..])).collect()
    }
}
