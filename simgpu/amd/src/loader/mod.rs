//! Loads code objects like a card's runtime: selects one from a bundle, maps and relocates it, and
//! reads what kernels need.

#[doc(hidden)]
pub mod bundle;
mod coverage;
mod elf;
mod kernel;
mod metadata;

pub use kernel::{Arg, ArgKind, Kernel};
pub(crate) use metadata::Formats;

use crate::exec::lower::{self, Approximation};
use crate::isa::Arch;
use isobit_simgpu_core::memory::{Kind, Memory};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Reads the metadata of a code object, in msgpack, and returns the number of kernels.
///
/// # Errors
/// Fails if it is damaged, or needs a feature that is not simulated.
#[doc(hidden)]
pub fn kernels_described(note: &[u8]) -> Result<usize, LoadError> {
    metadata::kernels(note).map(|kernels| kernels.len())
}

/// Why an image could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The image contains code, but none for this card.
    NoCode {
        /// The card.
        wanted: String,
        /// The targets in the image.
        found: Vec<String>,
    },
    /// The image is not a code object, or it is damaged.
    Invalid(String),
    /// The code object needs a feature that is not simulated.
    Unsupported(String),
    /// There is not enough memory for the code object.
    OutOfMemory(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCode { wanted, found } => {
                write!(f, "the image has no code for {wanted}; it has code for {}", found.join(", "))
            }
            Self::Invalid(why) => write!(f, "invalid code object: {why}"),
            Self::Unsupported(what) => write!(f, "the code object needs a feature that is not simulated: {what}"),
            Self::OutOfMemory(why) => write!(f, "no memory for the code object: {why}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// A loaded code object. It is unloaded when the module and all its kernels are dropped.
#[derive(Debug)]
pub struct Module {
    kernels: HashMap<String, Arc<Kernel>>,
    globals: HashMap<String, (u64, u64)>,
    image: Arc<Image>,
}

/// The memory of a module's segments.
pub(crate) struct Image {
    memory: Arc<Memory>,
    base: u64,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({:#x})", self.base)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // The memory was allocated when the module was loaded. A failure to free it is harmless: it
        // stays allocated.
        let _ = self.memory.free(self.base);
    }
}

impl Module {
    /// Loads the code object of an image that matches a target. The image is one code object or a
    /// bundle of several.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load(
        arch: Arch,
        approximation: Approximation,
        memory: &Arc<Memory>,
        image: &[u8],
    ) -> Result<Self, LoadError> {
        let object = bundle::choose(arch, image)?;
        let elf = elf::Elf::parse(arch, object)?;
        let kind = if elf.writable { Kind::Device } else { Kind::Code };
        let name = format!("code object for {}", arch.name());
        let base = memory.alloc(elf.size, kind, &name).map_err(|e| LoadError::OutOfMemory(e.to_string()))?;
        let owner = Arc::new(Image { memory: memory.clone(), base });
        let mut bytes = vec![0; elf.size];
        elf.map(&mut bytes, base)?;
        // SAFETY: the allocation was just made with this size, and nothing else uses it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base as *mut u8, bytes.len()) };
        memory.set_initialised(base, bytes.len(), true);
        let text = bytes.get(elf.text.clone()).ok_or_else(|| LoadError::Invalid("text outside the segments".into()))?;
        let program = Arc::new(lower::program(arch, approximation, text, base + elf.text.start as u64));
        let mut kernels = Vec::new();
        for kernel in metadata::kernels(&elf.metadata)? {
            let Some(&(descriptor, _)) = elf.symbols.get(&kernel.symbol) else {
                return Err(LoadError::Invalid(format!("no symbol {}", kernel.symbol)));
            };
            let code_bytes = elf.symbols.get(&kernel.name).map_or(u64::MAX >> 1, |&(_, size)| size);
            let kernel = Kernel::new(arch, kernel, &bytes, descriptor as usize, code_bytes, base, &program, &owner)?;
            kernels.push(kernel);
        }
        if isobit_simgpu_core::coverage::wanted() {
            coverage::register(arch, object, elf.text.start as u64, &program, &mut kernels);
        }
        let kernels = kernels.into_iter().map(|kernel| (kernel.name.clone(), Arc::new(kernel))).collect();
        let globals = elf.symbols.into_iter().map(|(name, (at, size))| (name, (base + at, size))).collect();
        Ok(Self { kernels, globals, image: owner })
    }

    /// Returns a kernel by its name.
    pub fn kernel(&self, name: &str) -> Option<Arc<Kernel>> {
        self.kernels.get(name).cloned()
    }

    /// Returns every kernel.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.values().map(|kernel| &**kernel)
    }

    /// Returns the address and size of a variable.
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        self.globals.get(name).copied()
    }

    /// Returns the module's address in device memory.
    pub fn base(&self) -> u64 {
        self.image.base
    }
}
