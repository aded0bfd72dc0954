//! The engine of scalar instructions: applies a function of the operands and SCC, which returns the
//! result and the new SCC.

use super::program::Step;
use super::source;
use super::value::Kind;
use super::wave::{Env, Wave};

/// A scalar operand or result.
pub trait Word: Copy {
    /// The meaning of its bits.
    const KIND: Kind;
    /// Reads operand `at` of a step.
    fn read(wave: &Wave, step: &Step, env: &Env<'_>, at: usize) -> Self;
    /// Writes the destination of a step.
    fn write(self, wave: &mut Wave, step: &Step);
}

macro_rules! word {
    ($($type:ty, $kind:ident, $read:ident, $set:ident, $bits:ty;)*) => {$(
        impl Word for $type {
            const KIND: Kind = Kind::$kind;
            #[inline(always)]
            fn read(wave: &Wave, step: &Step, env: &Env<'_>, at: usize) -> Self {
                source::$read(wave, env, step.scalars[at]) as $type
            }
            #[inline(always)]
            fn write(self, wave: &mut Wave, step: &Step) {
                wave.$set(step.sdst, self as $bits);
            }
        }
    )*};
}

word! {
    u32, Int32, word, set_word, u32;
    i32, Int32, word, set_word, u32;
    u64, Uint64, pair, set_pair, u64;
    i64, Int64, pair, set_pair, u64;
}

/// The result of a scalar instruction.
pub trait Outcome {
    /// Writes the result.
    fn write(self, wave: &mut Wave, step: &Step);
}

/// Only a new SCC.
#[derive(Debug, Clone, Copy)]
pub struct Scc(pub bool);

impl Outcome for Scc {
    #[inline(always)]
    fn write(self, wave: &mut Wave, _: &Step) {
        wave.scc = self.0;
    }
}

impl<W: Word> Outcome for W {
    #[inline(always)]
    fn write(self, wave: &mut Wave, step: &Step) {
        Word::write(self, wave, step);
    }
}

impl<W: Word> Outcome for (W, Scc) {
    #[inline(always)]
    fn write(self, wave: &mut Wave, step: &Step) {
        Word::write(self.0, wave, step);
        wave.scc = self.1.0;
    }
}

/// Declares scalar instructions and their lookup table: `"s_add_u32" => |scc, a: u32, b: u32| ->
/// (u32, Scc) { ... };` If the function has one operand more than the instruction has sources, it
/// is the destination's old value.
macro_rules! scalars {
    ($(#[$doc:meta])* $table:ident: $($name:literal => |$scc:ident $(, $x:ident: $t:ty)*| -> $out:ty $body:block;)*) => {
        $(#[$doc])*
        pub const $table: &[(&str, $crate::exec::lower::Lowering)] = &[$({
            #[allow(unused_assignments, unused_mut, unused_variables, reason = "the counter is not read after the last operand")]
            fn run(
                wave: &mut $crate::exec::Wave,
                step: &$crate::exec::Step,
                env: &mut $crate::exec::Env<'_>,
            ) -> $crate::exec::Flow {
                let $scc = wave.scc;
                let mut at = 0;
                $(let $x = {
                    let operand = <$t as $crate::exec::scalar::Word>::read(wave, step, env, at);
                    at += 1;
                    operand
                };)*
                let out: $out = $body;
                $crate::exec::scalar::Outcome::write(out, wave, step);
                $crate::exec::Flow::Next
            }
            fn lower(
                lower: &mut $crate::exec::lower::Lower,
                inst: &$crate::isa::Inst,
            ) -> Result<$crate::exec::Step, $crate::exec::program::Unsupported> {
                lower.whole(inst, run, &[$(<$t as $crate::exec::scalar::Word>::KIND),*])
            }
            ($name, lower as $crate::exec::lower::Lowering)
        }),*];
    };
}
pub(crate) use scalars;
