//! Variables in device memory: each has its own allocation, so that the simulator detects and names
//! out-of-bounds accesses.

use super::LoadError;
use crate::lower::Functions;
use crate::ptx::ParseError;
use crate::ptx::ast::{Module as Tree, Relocation, Space, Variable};
use isobit_simgpu_core::memory::{Kind, Memory};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The `.global` and `.const` variables of a module; dropping this frees them.
pub(crate) struct Variables {
    memory: Arc<Memory>,
    /// By name: the address and the size. Variables of a function are named `function::variable`.
    placed: HashMap<String, (u64, u64)>,
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.placed).finish()
    }
}

impl Drop for Variables {
    fn drop(&mut self) {
        for (base, _) in self.placed.values() {
            // The memory was allocated when the module was loaded; if freeing fails, it stays
            // allocated, which is harmless.
            let _ = self.memory.free(*base);
        }
    }
}

impl Variables {
    /// Allocates and initialises the variables.
    pub(super) fn place(memory: &Arc<Memory>, tree: &Tree, functions: &Functions<'_>) -> Result<Self, LoadError> {
        let mut variables = Self { memory: memory.clone(), placed: HashMap::new() };
        for (name, variable) in all(tree) {
            variables.allocate(name, variable)?;
        }
        for (name, variable) in all(tree) {
            variables.fill(&name, variable, functions)?;
        }
        Ok(variables)
    }

    /// Returns the address and the size of a variable of the module, or of one of a function.
    pub(super) fn find(&self, function: &str, name: &str) -> Option<(u64, u64)> {
        self.placed.get(name).or_else(|| self.placed.get(&format!("{function}::{name}"))).copied()
    }

    /// Returns the variables of the module.
    pub(super) fn globals(&self) -> HashMap<String, (u64, u64)> {
        let of_module = self.placed.iter().filter(|(name, _)| !name.contains("::"));
        of_module.map(|(name, place)| (name.clone(), *place)).collect()
    }

    fn allocate(&mut self, name: String, variable: &Variable) -> Result<(), LoadError> {
        let kind = if variable.space == Space::Const { Kind::Constant } else { Kind::Device };
        let bytes = usize::try_from(variable.bytes).map_err(|error| LoadError::OutOfMemory(error.to_string()))?;
        if variable.align > 256 {
            return Err(invalid(variable, format!("{name}: alignment {} is too large", variable.align)));
        }
        if self.placed.contains_key(&name) {
            return Err(invalid(variable, format!("{name} is defined twice")));
        }
        let base = self.memory.alloc(bytes, kind, &name).map_err(|error| LoadError::OutOfMemory(error.to_string()))?;
        self.placed.insert(name, (base, variable.bytes));
        Ok(())
    }

    fn fill(&self, name: &str, variable: &Variable, functions: &Functions<'_>) -> Result<(), LoadError> {
        let Some(&(base, size)) = self.placed.get(name) else { return Ok(()) };
        let mut bytes = variable.init.clone().unwrap_or_default();
        bytes.resize(size as usize, 0);
        for relocation in &variable.relocations {
            let address = self.address(name, relocation, functions)?;
            let place = usize::try_from(relocation.at)
                .ok()
                .and_then(|at| bytes.get_mut(at..)?.get_mut(..relocation.bytes.min(8) as usize));
            let place = place.ok_or_else(|| invalid(variable, format!("an address lies outside of {name}")))?;
            place.copy_from_slice(&address.to_le_bytes()[..place.len()]);
        }
        // SAFETY: the allocation was just made with this size, and nothing else refers to it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base as *mut u8, bytes.len()) };
        self.memory.set_initialised(base, bytes.len(), true);
        Ok(())
    }

    /// Returns what an initial value stores of the address of a variable or a function.
    fn address(&self, name: &str, relocation: &Relocation, functions: &Functions<'_>) -> Result<u64, LoadError> {
        let function = name.split_once("::").map_or("", |(function, _)| function);
        let variable = self.find(function, &relocation.symbol).map(|(base, _)| base);
        let base = variable.or_else(|| functions.address(&relocation.symbol));
        let base = base.ok_or_else(|| LoadError::Unresolved(relocation.symbol.clone()))?;
        Ok(base.wrapping_add_signed(relocation.addend).checked_shr(relocation.shift).unwrap_or(0))
    }
}

fn invalid(variable: &Variable, message: String) -> LoadError {
    LoadError::Invalid(ParseError { line: variable.line, function: None, message })
}

/// Returns the variables of a module that are in device memory, with their names.
fn all(tree: &Tree) -> impl Iterator<Item = (String, &Variable)> {
    let of_module = tree.variables.iter().map(|variable| (variable.name.clone(), variable));
    let of_functions = tree.functions.iter().flat_map(|function| {
        let variables = function.body.iter().flat_map(|body| &body.variables);
        variables.map(move |variable| (format!("{}::{}", function.name, variable.name), variable))
    });
    of_module
        .chain(of_functions)
        .filter(|(_, variable)| matches!(variable.space, Space::Global | Space::Const) && !variable.external)
}
