//! `vprintf(format, list)`, the function of the device runtime that `printf` calls.

use super::{Inliner, transfer};
use crate::exec::PRINT;
use crate::module::LoadError;
use crate::ptx::ast::{Instruction, Operand};

impl Inliner<'_, '_> {
    /// Replaces a call of `vprintf` with an instruction that has its result, the address of the
    /// format and the address of the arguments in registers.
    pub(super) fn print(
        &mut self,
        at: &Instruction,
        returns: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), LoadError> {
        let ([format, list], [] | [_]) = (arguments, returns) else {
            let counts = (arguments.len(), returns.len());
            let message =
                format!("call: vprintf takes 2 arguments and returns 1 value, not {} and {}", counts.0, counts.1);
            return Err(self.error(at.line, message));
        };
        let [format, list] = [format, list].map(|argument| match argument {
            Operand::Register(_) => argument.clone(),
            argument => {
                let register = self.register(64);
                let copy = transfer::set(at, &register, argument.clone(), "b64", &self.out.registers);
                copy.into_iter().for_each(|inst| self.push(inst));
                register
            }
        });
        let result = match returns {
            [Operand::Register(id)] => Operand::Register(*id),
            _ => self.register(32),
        };
        let operands = vec![result.clone(), format, list];
        self.push(Instruction { opcode: PRINT.to_owned(), modifiers: Vec::new(), operands, ..at.clone() });
        if let [to @ Operand::Symbol(..)] = returns {
            let copy = transfer::set(at, to, result, "b32", &self.out.registers);
            copy.into_iter().for_each(|inst| self.push(inst));
        }
        Ok(())
    }
}
