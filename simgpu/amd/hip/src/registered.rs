//! Host functions and variables that are registered for kernels and variables of fat binaries. They
//! are loaded for a card at their first use on it.

use crate::Code;
use crate::error::{Error, Result, bail};
use crate::fatbin::FatBinary;
use crate::module::Function;
use crate::process::{Process, current_device};
use isobit_simgpu_runtime_common::handles::{Kind, Table};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, LazyLock};

/// The registrations of compiled programs. They are separate from the state of the process, because
/// registration happens in the dynamic loader and must not create that state.
pub(crate) struct Registered {
    pub(crate) binaries: Table<FatBinary>,
    functions: RwLock<HashMap<usize, Entry>>,
    variables: RwLock<HashMap<usize, Entry>>,
    /// Kernels that have been looked up, by host function and card.
    found: RwLock<HashMap<(usize, usize), Arc<Function>>>,
}

#[derive(Debug, Clone)]
struct Entry {
    binary: Arc<FatBinary>,
    name: String,
}

pub(crate) static REGISTERED: LazyLock<Registered> = LazyLock::new(|| Registered {
    binaries: Table::new(Kind::FatBinary),
    functions: RwLock::default(),
    variables: RwLock::default(),
    found: RwLock::default(),
});

impl Registered {
    pub(crate) fn add_function(&self, host: *const c_void, binary: Arc<FatBinary>, name: String) {
        let entry = Entry { binary, name };
        self.functions.write().insert(host as usize, entry);
    }

    pub(crate) fn add_variable(&self, host: *const c_void, binary: Arc<FatBinary>, name: String) {
        let entry = Entry { binary, name };
        self.variables.write().insert(host as usize, entry);
    }

    /// Removes every registration of a binary.
    pub(crate) fn remove(&self, binary: &Arc<FatBinary>) {
        let of_binary = |entry: &Entry| Arc::ptr_eq(&entry.binary, binary);
        let mut functions = self.functions.write();
        let mut found = self.found.write();
        found.retain(|(host, _), _| functions.get(host).is_some_and(|entry| !of_binary(entry)));
        functions.retain(|_, entry| !of_binary(entry));
        self.variables.write().retain(|_, entry| !of_binary(entry));
    }
}

/// Returns the kernel that is registered for a host function, on the current card. Fails if the
/// card does not accept calls.
pub(crate) fn function(process: &Process, host: *const c_void) -> Result<Arc<Function>> {
    let key = (host as usize, current_device());
    process.check(key.1)?;
    if let Some(found) = REGISTERED.found.read().get(&key) {
        return Ok(found.clone());
    }
    let entry = REGISTERED.functions.read().get(&key.0).cloned();
    let Some(entry) = entry else { bail!(INVALID_DEVICE_FUNCTION, "no kernel is registered for {host:p}") };
    let module = entry.binary.module(process, key.1)?;
    let function = module.function(&entry.name, 0).map_err(|e| Error::new(Code::INVALID_DEVICE_FUNCTION, e.why))?;
    REGISTERED.found.write().insert(key, function.clone());
    Ok(function)
}

/// Returns the address and size of the variable that is registered for a host variable, on the
/// current card. Fails if the card does not accept calls.
pub(crate) fn variable(process: &Process, host: *const c_void) -> Result<(u64, usize)> {
    process.check(current_device())?;
    let entry = REGISTERED.variables.read().get(&(host as usize)).cloned();
    let Some(entry) = entry else { bail!(INVALID_SYMBOL, "no device variable is registered for {host:p}") };
    match entry.binary.module(process, current_device())?.module.global(&entry.name) {
        Some((address, bytes)) => Ok((address, bytes as usize)),
        None => bail!(INVALID_SYMBOL, "the code for the card has no variable {}", entry.name),
    }
}
