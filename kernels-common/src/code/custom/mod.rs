//! Custom kernels, and kernels of the tree by name. Loaded modules are found by their content in
//! memory, and compiled or loaded if missing.

mod binary;
mod launch;
mod module;
mod source;

pub(crate) use binary::loadable;
pub(crate) use launch::launch;
pub(crate) use module::{Kernel, LoadedModule};
pub use source::{OPTIONS_VARIABLE, SOURCES_VARIABLE};
pub(crate) use source::{compile, headers_of, sources_folder, tree_options};

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

/// A kernel on a GPU: the implementation of [`Func`] in the GPU drivers.
#[derive(Debug)]
pub struct GpuFunc<R: GpuRuntime> {
    device: GpuDevice<R>,
    kernel: Arc<Kernel<R>>,
}

impl<R: GpuRuntime> GpuFunc<R> {
    pub(crate) fn func(device: &GpuDevice<R>, kernel: Arc<Kernel<R>>) -> Func {
        Func::from_backend(Arc::new(Self { device: device.clone(), kernel }))
    }

    /// Returns the driver's own function, for code that launches it directly. It is valid as long
    /// as `self`.
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

/// A module that is loaded or being loaded. Threads that need a module while it is being compiled
/// wait for it.
type Slot<R> = Arc<Mutex<Option<Arc<LoadedModule<R>>>>>;

/// The modules that users loaded on a device, by the hash of their input.
#[derive(Debug)]
pub(crate) struct CustomModules<R: GpuRuntime>(Mutex<HashMap<u128, Slot<R>>>);

impl<R: GpuRuntime> Default for CustomModules<R> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<R: GpuRuntime> CustomModules<R> {
    /// Returns a kernel of a module. Creates the module if this content has not been loaded before.
    ///
    /// # Errors
    /// Same as [`BackendDevice::get_or_load_custom_func`].
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
                    "the PTX contains a NUL: pass the text without a trailing NUL",
                ));
            }
            LoadedModule::load(runtime, Code::Ptx(&[text.as_bytes(), b"\0"].concat()))
        }
        KernelCode::Ptx(_) => {
            let message = format!(
                "PTX is for NVIDIA GPUs, the device is {}: pass the kernel as source, which every vendor's compiler accepts, or as a code object",
                runtime.arch()
            );
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
        KernelCode::Binary(file) => {
            LoadedModule::load(runtime, Code::Object(loadable(R::TARGET, runtime.arch(), file)?))
        }
        other => {
            let message = format!("the {} driver does not support code of kind {other:?}", R::DRIVER);
            Err(Error::new(ErrorKind::UnsupportedOp, message))
        }
    }
}

/// Returns the hash of everything that determines a module's code, except for properties of the
/// device. Names are not included.
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
            // The count is hashed too, so that a header cannot be confused with an option.
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
