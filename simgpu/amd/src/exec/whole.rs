//! The engine of instructions that need the whole wave: each is a function of wave, step and
//! environment, found by name like the others.

/// Declares such instructions and their lookup table: `"s_barrier" => |wave, step, env, inst| ->
/// Flow { Flow::Barrier };` The function can also use the decoded instruction. Its scalar sources
/// are lowered to `step.scalars` with the kinds in `[..]`, the scalar destination to `step.sdst`,
/// and the vector destination to `step.dst`.
macro_rules! wave {
    ($(#[$doc:meta])* $table:ident: $($name:literal [$($kind:ident),*] => |$wave:ident, $step:ident, $env:ident| $body:block;)*) => {
        $(#[$doc])*
        pub const $table: &[(&str, $crate::exec::lower::Lowering)] = &[$({
            fn run($wave: &mut $crate::exec::Wave, $step: &$crate::exec::Step, $env: &mut $crate::exec::Env<'_>) -> $crate::exec::Flow $body
            fn lower(
                lower: &mut $crate::exec::lower::Lower,
                inst: &$crate::isa::Inst,
            ) -> Result<$crate::exec::Step, $crate::exec::program::Unsupported> {
                lower.whole(inst, run, &[$($crate::exec::value::Kind::$kind),*])
            }
            ($name, lower as $crate::exec::lower::Lowering)
        }),*];
    };
}
pub(crate) use wave;

use super::lower::{Lower, modifier};
use super::program::{Exec, Step, Unsupported};
use super::value::Kind;
use crate::isa::{Inst, Operand};

impl Lower {
    /// Returns the step of an instruction of the whole wave. The scalar sources come first, with
    /// the given kinds. If there is one kind more than there are sources, it is for the old value
    /// of the scalar destination.
    ///
    /// # Errors
    /// A vector register in place of a scalar; a modifier.
    pub fn whole(&mut self, inst: &Inst, exec: Exec, kinds: &[Kind]) -> Result<Step, Unsupported> {
        if inst.neg | inst.abs | inst.omod != 0 || inst.clamp || inst.sdwa.is_some() || inst.dpp.is_some() {
            return Err(modifier(inst, "a modifier"));
        }
        let mut step = self.step(exec);
        for (at, &kind) in kinds.iter().enumerate() {
            let operand = if at < usize::from(inst.src_count) { inst.src[at] } else { inst.dst };
            step.scalars[at] = self.scalar(inst, operand, kind)?;
        }
        for operand in [inst.dst, inst.sdst] {
            match operand {
                Operand::Sgpr(at) => step.sdst = at,
                Operand::Vgpr(register) => step.dst = self.row(register),
                _ => {}
            }
        }
        Ok(step)
    }
}
