//! The modules and kernels of one device. They are loaded on first use and kept until the device
//! closes.

use crate::code::custom::{self, Kernel, LoadedModule};
use crate::code::rtc::{RtcSource, architecture_option};
use crate::code::table;
use crate::code::target::Code;
use crate::counters::Counts;
use crate::key::Key;
use crate::runtime::GpuRuntime;
use isobit_hal::{Error, ErrorKind, Result, trace};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub(crate) struct Modules<R: GpuRuntime> {
    // Declared before the modules they point into, so dropped first.
    functions: Box<[OnceLock<R::Function>]>,
    loaded: Mutex<Vec<Option<Arc<LoadedModule<R>>>>>,
}

impl<R: GpuRuntime> Modules<R> {
    pub(crate) fn new() -> Self {
        Self {
            functions: (0..table::KERNELS.len()).map(|_| OnceLock::new()).collect(),
            loaded: Mutex::new(vec![None; table::IMAGES.len()]),
        }
    }

    /// Returns the kernel of a key. Loads its module if needed.
    #[inline]
    pub(crate) fn function(&self, (runtime, counts): (&R, &Counts), key: Key) -> Result<(R::Function, &'static str)> {
        let index = table::find(key).ok_or_else(|| {
            Error::new(ErrorKind::KernelMissing, format!("the kernel table has no entry {:#018x}", key.to_bits()))
        })?;
        let entry = &table::KERNELS[index];
        if let Some(function) = self.functions[index].get() {
            return Ok((*function, entry.symbol));
        }
        let module = self.module(runtime, counts, entry.module)?;
        let function = runtime.function(&module.module, entry.symbol)?;
        Ok((*self.functions[index].get_or_init(|| function), entry.symbol))
    }

    /// Returns the kernel of a symbol with its metadata, for launches by a user.
    ///
    /// # Errors
    /// Returns `KernelMissing`, naming kernels with similar names.
    pub(crate) fn kernel(&self, (runtime, counts): (&R, &Counts), symbol: &str) -> Result<Arc<Kernel<R>>> {
        let index = table::find_symbol(symbol).ok_or_else(|| {
            let message = format!(
                "the kernel tree has no kernel {symbol}; similar names are {}",
                table::nearest(symbol).join(", ")
            );
            Error::new(ErrorKind::KernelMissing, message).with_kernel(symbol)
        })?;
        self.module(runtime, counts, table::KERNELS[index].module)?.kernel(runtime, symbol)
    }

    fn module(&self, runtime: &R, counts: &Counts, index: usize) -> Result<Arc<LoadedModule<R>>> {
        // A module is loaded under the lock, so that two threads do not both load it.
        let mut loaded = self.loaded.lock();
        if let Some(module) = &loaded[index] {
            return Ok(module.clone());
        }
        let module = Arc::new(load(runtime, counts, index)?);
        loaded[index] = Some(module.clone());
        Ok(module)
    }
}

fn load<R: GpuRuntime>(runtime: &R, counts: &Counts, index: usize) -> Result<LoadedModule<R>> {
    let image = &table::IMAGES[index];
    let _span = tracing::debug_span!(target: trace::TARGET, "load_module", module = image.name).entered();
    let options = custom::tree_options();
    let own = custom::sources_folder().is_none() && options.is_empty();
    let packed = if own { image.unpack(R::TARGET, runtime.arch())? } else { None };
    let code = match packed {
        Some(code) => code,
        None => {
            let headers = custom::headers_of(image.text)?;
            let headers: Vec<_> = headers.iter().map(|(name, text)| (*name, text.as_ref())).collect();
            let variant = image.variant.filter(|[arch, _]| *arch == runtime.arch());
            let variant = variant.map(|[_, variant]| architecture_option(R::TARGET, variant));
            let options: Vec<&str> = options.iter().chain(&variant).map(String::as_str).collect();
            let source = RtcSource { name: image.name, text: image.text, headers: &headers, options: &options };
            custom::compile(runtime, counts, &source)
                .map_err(|e| missing::<R>(runtime, image.archs(R::TARGET), image.name, e))?
        }
    };
    LoadedModule::load(runtime, Code::compiled(R::TARGET, &code)).map_err(|e| e.with_kernel(image.name))
}

fn missing<R: GpuRuntime>(runtime: &R, archs: Vec<Cow<'static, str>>, name: &str, cause: Error) -> Error {
    if cause.kind() != ErrorKind::LibraryUnavailable {
        return cause.with_kernel(name);
    }
    let packed =
        if archs.is_empty() { "no compiled code".to_string() } else { format!("code for {}", archs.join(", ")) };
    Error::new(
        ErrorKind::KernelMissing,
        format!(
            "module {name}: this build contains {packed}, the device is {}, and its run-time compiler is not on this machine. \
             Install it (NVRTC or HIPRTC), or rebuild with clang 19 or newer and this architecture in ISOBIT_CUDA_ARCHS or \
             ISOBIT_ROCM_ARCHS",
            runtime.arch()
        ),
    )
    .with_kernel(name)
    .with_source(cause)
}
