//! The modifiers of an instruction. The lowering takes them one by one; leftover modifiers are an
//! error.

use crate::ptx::ast::{Instruction, Type};

/// The parts that follow the opcode.
#[derive(Debug, Clone)]
pub struct Modifiers<'a> {
    left: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    /// Returns all modifiers of an instruction.
    pub fn of(inst: &'a Instruction) -> Self {
        Self { left: inst.modifiers.iter().map(String::as_str).collect() }
    }

    /// Takes a modifier if it is present, and returns whether it was.
    pub fn take(&mut self, name: &str) -> bool {
        let at = self.left.iter().position(|left| *left == name);
        at.map(|at| self.left.remove(at)).is_some()
    }

    /// Takes the first of several names that is present.
    pub fn take_any(&mut self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.take(name))
    }

    /// Takes the first type.
    ///
    /// # Errors
    /// Fails if there is no type.
    pub fn take_type(&mut self) -> Result<Type, String> {
        let at = self.left.iter().position(|left| Type::named(left).is_some());
        let at = at.ok_or("it has no type")?;
        Ok(Type::named(self.left.remove(at)).expect("it is a type"))
    }

    /// Checks that no modifier is left.
    ///
    /// # Errors
    /// Fails if a modifier is left.
    pub fn finish(self) -> Result<(), String> {
        match self.left.first() {
            Some(left) => Err(format!("the modifier .{left} is not supported here")),
            None => Ok(()),
        }
    }
}
