//! The modifiers of an instruction, taken one by one: what is left over is an error.

use crate::ptx::ast::{Instruction, Type};

/// What comes after the opcode.
#[derive(Debug, Clone)]
pub struct Modifiers<'a> {
    left: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    /// All of an instruction's.
    pub fn of(inst: &'a Instruction) -> Self {
        Self { left: inst.modifiers.iter().map(String::as_str).collect() }
    }

    /// Takes a modifier, if it is there.
    pub fn take(&mut self, name: &str) -> bool {
        let at = self.left.iter().position(|left| *left == name);
        at.map(|at| self.left.remove(at)).is_some()
    }

    /// Takes the first of several that is there.
    pub fn take_any(&mut self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.take(name))
    }

    /// Takes the first type.
    ///
    /// # Errors
    /// There is none.
    pub fn take_type(&mut self) -> Result<Type, String> {
        let at = self.left.iter().position(|left| Type::named(left).is_some());
        let at = at.ok_or("it has no type")?;
        Ok(Type::named(self.left.remove(at)).expect("it is a type"))
    }

    /// Ends the taking.
    ///
    /// # Errors
    /// A modifier is left.
    pub fn finish(self) -> Result<(), String> {
        match self.left.first() {
            Some(left) => Err(format!("the modifier .{left} is not known here")),
            None => Ok(()),
        }
    }
}
