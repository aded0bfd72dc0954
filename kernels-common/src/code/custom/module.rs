//! A loaded module of the tree or of a user: its kernels by name, each with the metadata from its
//! code.

use crate::code::kernel_metadata::{self, Described};
use crate::code::target::Code;
use crate::runtime::GpuRuntime;
use isobit_hal::{Error, ErrorKind, LaunchConfig, Result};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of names that a message lists.
const LISTED: usize = 20;

/// A kernel with the metadata from its code.
#[derive(Debug)]
pub(crate) struct Kernel<R: GpuRuntime> {
    function: R::Function,
    pub(super) name: String,
    pub(super) described: Option<Described>,
    /// The bytes of dynamic shared memory that launches may currently request.
    shared: Mutex<u32>,
    /// Keeps `function` valid.
    _module: Arc<R::Module>,
}

impl<R: GpuRuntime> Kernel<R> {
    /// Returns the driver's function, which is valid as long as `self`.
    pub(crate) fn function(&self) -> R::Function {
        self.function
    }

    /// Allows launches to request the dynamic shared memory of a configuration.
    pub(super) fn allow_shared(&self, runtime: &R, config: &LaunchConfig) -> Result<()> {
        if config.shared_bytes == 0 {
            return Ok(());
        }
        // The lock is held during the driver call, so that no other thread lowers the limit that
        // this thread has raised.
        let mut allowed = self.shared.lock();
        if config.shared_bytes > *allowed {
            runtime.allow_dynamic_shared(self.function, config.shared_bytes)?;
            *allowed = config.shared_bytes;
        }
        Ok(())
    }
}

/// A module that a device has loaded and keeps until it closes.
#[derive(Debug)]
pub(crate) struct LoadedModule<R: GpuRuntime> {
    pub(crate) module: Arc<R::Module>,
    described: Vec<Described>,
    kernels: Mutex<HashMap<String, Arc<Kernel<R>>>>,
}

impl<R: GpuRuntime> LoadedModule<R> {
    /// Loads code as a module.
    ///
    /// # Errors
    /// Same as [`ModuleRuntime::load_module`](crate::ModuleRuntime::load_module).
    pub(crate) fn load(runtime: &R, code: Code<'_>) -> Result<Self> {
        let module = Arc::new(runtime.load_module(code)?);
        Ok(Self { module, described: kernel_metadata::kernels(code), kernels: Mutex::default() })
    }

    /// Returns a kernel of the module.
    ///
    /// # Errors
    /// Returns `KernelMissing`, listing the kernels of the module.
    pub(crate) fn kernel(&self, runtime: &R, name: &str) -> Result<Arc<Kernel<R>>> {
        let mut kernels = self.kernels.lock();
        if let Some(kernel) = kernels.get(name) {
            return Ok(kernel.clone());
        }
        let function = runtime.function(&self.module, name).map_err(|e| self.missing(name, e))?;
        let described = self.described.iter().find(|k| k.name == name).cloned();
        let (name, module) = (name.to_string(), self.module.clone());
        let kernel = Arc::new(Kernel { function, name, described, shared: Mutex::default(), _module: module });
        kernels.insert(kernel.name.clone(), kernel.clone());
        Ok(kernel)
    }

    #[cold]
    fn missing(&self, name: &str, cause: Error) -> Error {
        if cause.kind() != ErrorKind::KernelMissing || self.described.is_empty() {
            return cause;
        }
        let names: Vec<_> = self.described.iter().take(LISTED).map(|k| k.name.as_str()).collect();
        let more = match self.described.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "the module has no kernel {name}; it has {}{more}. Names must match the compiled code: declare the kernel extern \"C\"",
            names.join(", ")
        );
        Error::new(ErrorKind::KernelMissing, message).with_kernel(name).with_source(cause)
    }
}
