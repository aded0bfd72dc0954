//! Modules and kernels of one device: loaded when first wanted, kept for its life.

use crate::image::{Code, Target};
use crate::key::Key;
use crate::rtc::{CompileCache, RtcSource};
use crate::runtime::GpuRuntime;
use crate::table;
use isobit_hal::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

#[derive(Debug)]
pub(crate) struct Modules<R: GpuRuntime> {
    // Declared before the modules they point into, so dropped first.
    functions: Box<[OnceLock<R::Function>]>,
    loaded: Mutex<Vec<Option<Arc<R::Module>>>>,
}

impl<R: GpuRuntime> Modules<R> {
    pub(crate) fn new() -> Self {
        Self {
            functions: (0..table::KERNELS.len()).map(|_| OnceLock::new()).collect(),
            loaded: Mutex::new(vec![None; table::IMAGES.len()]),
        }
    }

    /// The kernel of a key, its module loaded if need be.
    pub(crate) fn function(&self, runtime: &R, key: Key) -> Result<(R::Function, &'static str)> {
        let index = table::find(key).ok_or_else(|| {
            Error::new(ErrorKind::KernelMissing, format!("the kernel table has no entry {:#018x}", key.to_bits()))
        })?;
        let entry = &table::KERNELS[index];
        if let Some(function) = self.functions[index].get() {
            return Ok((*function, entry.symbol));
        }
        let module = self.module(runtime, entry.module)?;
        let function = runtime.function(&module, entry.symbol)?;
        Ok((*self.functions[index].get_or_init(|| function), entry.symbol))
    }

    fn module(&self, runtime: &R, index: usize) -> Result<Arc<R::Module>> {
        // A module is loaded under the lock, so that two threads do not both load it.
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = &loaded[index] {
            return Ok(module.clone());
        }
        let module = Arc::new(load(runtime, index)?);
        loaded[index] = Some(module.clone());
        Ok(module)
    }
}

/// Names a folder of kernel sources that stand in for the embedded ones: every module is compiled from them on the device, so that a
/// changed kernel is tried without a build. A file that is not there is taken from the embedded sources.
pub const SOURCES_VARIABLE: &str = "ISOBIT_KERNEL_SOURCES";

fn load<R: GpuRuntime>(runtime: &R, index: usize) -> Result<R::Module> {
    let image = &table::IMAGES[index];
    let folder = std::env::var_os(SOURCES_VARIABLE).map(PathBuf::from);
    let packed = if folder.is_none() { image.code_for(R::TARGET, runtime.arch()) } else { None };
    let code = match packed {
        Some(code) => code,
        None => {
            let mut headers: Vec<(&str, Cow<'_, str>)> =
                table::headers()?.iter().map(|(name, text)| (*name, Cow::from(text))).collect();
            if let Some(folder) = folder {
                for (name, text) in &mut headers {
                    if let Ok(other) = std::fs::read_to_string(folder.join(name)) {
                        *text = other.into();
                    }
                }
            }
            let headers: Vec<_> = headers.iter().map(|(name, text)| (*name, text.as_ref())).collect();
            let source = RtcSource { name: image.name, text: image.text, headers: &headers };
            compile(runtime, &source).map_err(|e| missing::<R>(runtime, image.archs(R::TARGET), image.name, e))?
        }
    };
    let code = match R::TARGET {
        Target::Nvptx => Code::Ptx(&code),
        Target::Amdgcn => Code::Object(&code),
    };
    runtime.load_module(code).map_err(|e| e.with_kernel(image.name))
}

fn compile<R: GpuRuntime>(runtime: &R, source: &RtcSource<'_>) -> Result<Vec<u8>> {
    let compiler = runtime.compiler()?;
    let made_for = (R::TARGET, runtime.arch(), compiler.as_str());
    CompileCache::of_environment().get_or_compile(source, made_for, || runtime.compile(source))
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
            "module {name}: this build carries {packed}, the device is {}, and its run-time compiler is not on this machine. \
             Install it (NVRTC or HIPRTC), or rebuild with clang 19 or newer and this architecture in ISOBIT_CUDA_ARCHS or \
             ISOBIT_ROCM_ARCHS",
            runtime.arch()
        ),
    )
    .with_kernel(name)
    .with_source(cause)
}
