//! Kernels of a user's own, and those of the tree by name: found by content in memory, compiled or
//! loaded where they are not there yet.

mod binary;
mod launch;
mod module;
mod source;

pub(crate) use launch::launch;
pub(crate) use module::{Kernel, LoadedModule};
pub use source::SOURCES_VARIABLE;
pub(crate) use source::{compile, sources_folder, tree_headers};

use crate::code::target::{Code, Target};
use crate::counters::Counts;
use crate::device::GpuDevice;
use crate::runtime::GpuRuntime;
use isobit_hal::kernel::{FuncBackend, KernelParam};
use isobit_hal::{BackendDevice, DeviceId, Error, ErrorKind, Func, KernelCode, Result, trace};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// A kernel on a GPU: what a [`Func`] of these drivers is.
#[derive(Debug)]
pub struct GpuFunc<R: GpuRuntime> {
    device: GpuDevice<R>,
    kernel: Arc<Kernel<R>>,
}

impl<R: GpuRuntime> GpuFunc<R> {
    pub(crate) fn func(device: &GpuDevice<R>, kernel: Arc<Kernel<R>>) -> Func {
        Func::from_backend(Arc::new(Self { device: device.clone(), kernel }))
    }

    /// The driver's own function, for those who launch by themselves. Valid as long as `self`.
    pub fn function(&self) -> R::Function {
        self.kernel.function()
    }
}

impl<R: GpuRuntime> FuncBackend for GpuFunc<R> {
    fn name(&self) -> &str {
        &self.kernel.name
    }

    fn device(&self) -> DeviceId {
        self.device.id()
    }

    fn params(&self) -> Option<&[KernelParam]> {
        self.kernel.described.as_ref().map(|d| &*d.params)
    }

    fn max_threads_per_block(&self) -> Option<u32> {
        self.kernel.described.as_ref()?.max_threads
    }
}

/// A module in the making or made: whoever wants it while it is compiled waits for it.
type Slot<R> = Arc<Mutex<Option<Arc<LoadedModule<R>>>>>;

/// The modules that a device's users gave it, by the hash of what they gave.
#[derive(Debug)]
pub(crate) struct CustomModules<R: GpuRuntime>(Mutex<HashMap<u128, Slot<R>>>);

impl<R: GpuRuntime> Default for CustomModules<R> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<R: GpuRuntime> CustomModules<R> {
    /// A kernel of a module, which is made if this content was not given before.
    ///
    /// # Errors
    /// As [`BackendDevice::get_or_load_custom_func`].
    pub(crate) fn kernel(
        &self,
        (runtime, counts): (&R, &Counts),
        name: &str,
        module: &str,
        code: KernelCode<'_>,
    ) -> Result<Arc<Kernel<R>>> {
        let slot = self.0.lock().entry(content(code)).or_default().clone();
        let mut made = slot.lock();
        let loaded = match &*made {
            Some(loaded) => loaded.clone(),
            None => {
                let loaded = load(runtime, counts, module, code).map_err(|e| in_module(e, module))?;
                made.insert(Arc::new(loaded)).clone()
            }
        };
        drop(made);
        loaded.kernel(runtime, name)
    }
}

fn in_module(error: Error, module: &str) -> Error {
    if module.is_empty() || error.kernel().is_some() { error } else { error.with_kernel(module) }
}

fn load<R: GpuRuntime>(runtime: &R, counts: &Counts, module: &str, code: KernelCode<'_>) -> Result<LoadedModule<R>> {
    let _span = tracing::debug_span!(target: trace::TARGET, "load_module", module).entered();
    match code {
        KernelCode::Source(source) => {
            let code = source::compile_custom(runtime, counts, module, source)?;
            LoadedModule::load(runtime, Code::compiled(R::TARGET, &code))
        }
        KernelCode::Ptx(text) if R::TARGET == Target::Nvptx => {
            if text.contains('\0') {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "the PTX has a NUL: give the text without the one at its end",
                ));
            }
            LoadedModule::load(runtime, Code::Ptx(&[text.as_bytes(), b"\0"].concat()))
        }
        KernelCode::Ptx(_) => {
            let message = format!(
                "PTX is NVIDIA's, the device is {}: give the kernel as source, which every vendor's compiler takes, or as a code object",
                runtime.arch()
            );
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
        KernelCode::Binary(file) => {
            LoadedModule::load(runtime, Code::Object(binary::loadable(R::TARGET, runtime.arch(), file)?))
        }
        other => {
            let message = format!("the {} driver does not know code of the kind {other:?}", R::DRIVER);
            Err(Error::new(ErrorKind::UnsupportedOp, message))
        }
    }
}

/// The hash of all that the code of a module is made from, but for what is one device's anyway.
/// Names are no part of it.
fn content(code: KernelCode<'_>) -> u128 {
    let mut hasher = XxHash3_128::new();
    let mut add = |part: &[u8]| {
        hasher.write(&(part.len() as u64).to_le_bytes());
        hasher.write(part);
    };
    match code {
        KernelCode::Source(source) => {
            add(b"source");
            add(source.text.as_bytes());
            // Counted, so that a header cannot be taken for an option.
            add(&source.headers.len().to_le_bytes());
            source
                .headers
                .iter()
                .for_each(|(name, text)| [name, text].into_iter().for_each(|part| add(part.as_bytes())));
            source.options.iter().for_each(|option| add(option.as_bytes()));
        }
        KernelCode::Ptx(text) => [&b"ptx"[..], text.as_bytes()].into_iter().for_each(add),
        KernelCode::Binary(bytes) => [&b"binary"[..], bytes].into_iter().for_each(add),
        _ => add(b"unknown"),
    }
    hasher.finish_128()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::KernelSource;

    #[test]
    fn content_is_all_but_the_name() {
        let source = |name: &str| KernelSource::new(name, "text").with_header("h", "x").with_option("-DA");
        let of = |source: &KernelSource| content(KernelCode::Source(source));
        assert_eq!(of(&source("a")), of(&source("b")));
        let others = [
            KernelSource::new("a", "texu").with_header("h", "x").with_option("-DA"),
            KernelSource::new("a", "text").with_header("h", "y").with_option("-DA"),
            KernelSource::new("a", "text").with_header("i", "x").with_option("-DA"),
            KernelSource::new("a", "text").with_header("h", "x").with_option("-DB"),
            KernelSource::new("a", "text").with_header("h", "x"),
            KernelSource::new("a", "text").with_option("h").with_option("x").with_option("-DA"),
        ];
        let mut all: Vec<_> = others.iter().map(of).collect();
        all.extend([of(&source("a")), content(KernelCode::Ptx("text")), content(KernelCode::Binary(b"text"))]);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
