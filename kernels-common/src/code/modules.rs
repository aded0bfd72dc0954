//! The modules and kernels of one device. They are loaded on first use and kept until the device
//! closes.

use crate::code::custom::{self, Kernel, LoadedModule};
use crate::code::image::Image;
use crate::code::ptx_part;
use crate::code::rtc::{RtcSource, architecture_option};
use crate::code::table::{self, Entry};
use crate::code::target::{Code, Target};
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
    loaded: Mutex<Loaded<R>>,
}

#[derive(Debug)]
struct Loaded<R: GpuRuntime> {
    modules: Vec<Option<Arc<LoadedModule<R>>>>,
    /// Modules of one kernel each.
    parts: Vec<R::Module>,
}

impl<R: GpuRuntime> Modules<R> {
    pub(crate) fn new() -> Self {
        Self {
            functions: (0..table::KERNELS.len()).map(|_| OnceLock::new()).collect(),
            loaded: Mutex::new(Loaded { modules: vec![None; table::IMAGES.len()], parts: Vec::new() }),
        }
    }

    /// Returns the kernel of a key. Loads it, or its module, if needed.
    #[inline]
    pub(crate) fn function(&self, (runtime, counts): (&R, &Counts), key: Key) -> Result<(R::Function, &'static str)> {
        let index = table::find(key).ok_or_else(|| {
            Error::new(ErrorKind::KernelMissing, format!("the kernel table has no entry {:#018x}", key.to_bits()))
        })?;
        let entry = &table::KERNELS[index];
        if let Some(function) = self.functions[index].get() {
            return Ok((*function, entry.symbol));
        }
        // Under the lock, so that two threads do not both load it.
        let mut loaded = self.loaded.lock();
        if let Some(function) = self.functions[index].get() {
            return Ok((*function, entry.symbol));
        }
        let part = if loaded.modules[entry.module].is_none() { part(runtime, entry)? } else { None };
        let function = match part {
            Some(part) => {
                let function = runtime.function(&part, entry.symbol)?;
                loaded.parts.push(part);
                function
            }
            None => runtime.function(&loaded.module(runtime, counts, entry.module)?.module, entry.symbol)?,
        };
        Ok((*self.functions[index].get_or_init(|| function), entry.symbol))
    }

    /// Loads kernels that are not loaded yet. One after the other: NVIDIA's driver compiles PTX
    /// under a lock, and 16 threads took 5.5 s for what one thread did in 4.7.
    ///
    /// # Errors
    /// Same as [`function`](Self::function), for the first kernel that has one.
    pub(crate) fn preload(&self, of_device: (&R, &Counts), keys: &[Key]) -> Result<()> {
        keys.iter().try_for_each(|key| self.function(of_device, *key).map(drop))
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
        let module = self.loaded.lock().module(runtime, counts, table::KERNELS[index].module)?;
        module.kernel(runtime, symbol)
    }
}

impl<R: GpuRuntime> Loaded<R> {
    fn module(&mut self, runtime: &R, counts: &Counts, index: usize) -> Result<Arc<LoadedModule<R>>> {
        if let Some(module) = &self.modules[index] {
            return Ok(module.clone());
        }
        let module = Arc::new(load(runtime, counts, index)?);
        self.modules[index] = Some(module.clone());
        Ok(module)
    }
}

/// Returns the packed code of a module that fits a device, unless the device is to compile it.
fn packed<R: GpuRuntime>(runtime: &R, image: &Image) -> Result<Option<Vec<u8>>> {
    let own = custom::sources_folder().is_none() && custom::tree_options().is_empty();
    if own { image.unpack(R::TARGET, runtime.arch()) } else { Ok(None) }
}

/// Loads a kernel without the others of its module. Returns `None` if its code cannot be divided.
fn part<R: GpuRuntime>(runtime: &R, entry: &Entry) -> Result<Option<R::Module>> {
    let image = &table::IMAGES[entry.module];
    let code = if R::TARGET == Target::Nvptx { packed(runtime, image)? } else { None };
    let Some(text) = code.and_then(|code| ptx_part::only(&code, entry.symbol)) else { return Ok(None) };
    let _span = tracing::debug_span!(target: trace::TARGET, "load_kernel", kernel = entry.symbol).entered();
    runtime.load_module(Code::compiled(R::TARGET, &text)).map(Some).map_err(|e| e.with_kernel(entry.symbol))
}

fn load<R: GpuRuntime>(runtime: &R, counts: &Counts, index: usize) -> Result<LoadedModule<R>> {
    let image = &table::IMAGES[index];
    let _span = tracing::debug_span!(target: trace::TARGET, "load_module", module = image.name).entered();
    let code = match packed(runtime, image)? {
        Some(code) => code,
        None => {
            let options = custom::tree_options();
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
