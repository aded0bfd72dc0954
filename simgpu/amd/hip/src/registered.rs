//! Host functions and variables that stand for kernels and variables of fat binaries, loaded for a
//! card at their first use there.

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

/// What compiled programs registered. It is apart from the state of the process, which
/// registration, done by the loader, must not start.
pub(crate) struct Registered {
    pub(crate) binaries: Table<FatBinary>,
    functions: RwLock<HashMap<usize, Entry>>,
    variables: RwLock<HashMap<usize, Entry>>,
    /// Kernels that were found, by host function and card.
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

    /// Forgets all that came from a binary.
    pub(crate) fn remove(&self, binary: &Arc<FatBinary>) {
        let of_binary = |entry: &Entry| Arc::ptr_eq(&entry.binary, binary);
        let mut functions = self.functions.write();
        let mut found = self.found.write();
        found.retain(|(host, _), _| functions.get(host).is_some_and(|entry| !of_binary(entry)));
        functions.retain(|_, entry| !of_binary(entry));
        self.variables.write().retain(|_, entry| !of_binary(entry));
    }
}

/// The kernel that a host function stands for, on the current card.
pub(crate) fn function(process: &Process, host: *const c_void) -> Result<Arc<Function>> {
    let key = (host as usize, current_device());
    if let Some(found) = REGISTERED.found.read().get(&key) {
        return Ok(found.clone());
    }
    let entry = REGISTERED.functions.read().get(&key.0).cloned();
    let Some(entry) = entry else { bail!(INVALID_DEVICE_FUNCTION, "{host:p} stands for no kernel") };
    let module = entry.binary.module(process, key.1)?;
    let function = module.function(&entry.name, 0).map_err(|e| Error::new(Code::INVALID_DEVICE_FUNCTION, e.why))?;
    REGISTERED.found.write().insert(key, function.clone());
    Ok(function)
}

/// Address and size of the variable that a host variable stands for, on the current card.
pub(crate) fn variable(process: &Process, host: *const c_void) -> Result<(u64, usize)> {
    let entry = REGISTERED.variables.read().get(&(host as usize)).cloned();
    let Some(entry) = entry else { bail!(INVALID_SYMBOL, "{host:p} stands for no variable of a device") };
    match entry.binary.module(process, current_device())?.module.global(&entry.name) {
        Some((address, bytes)) => Ok((address, bytes as usize)),
        None => bail!(INVALID_SYMBOL, "the code for the card has no variable {}", entry.name),
    }
}
