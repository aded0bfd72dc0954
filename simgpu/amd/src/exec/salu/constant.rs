//! Scalar instructions with a 16-bit constant: each is another instruction with the constant as its
//! last source.

use crate::exec::lower::{Lower, Lowering};
use crate::exec::program::{Step, Unsupported};
use crate::isa::{Inst, Operand};

/// The use of the instruction's register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Register {
    /// As destination only.
    Written,
    /// As first source only.
    Read,
    /// As both.
    Changed,
}

/// How the constant is extended to 32 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extension {
    Signed,
    Unsigned,
}

/// Lowers as the instruction `name`, with the constant as a source.
fn lower(
    lower: &mut Lower,
    inst: &Inst,
    name: &'static str,
    register: Register,
    extension: Extension,
) -> Result<Step, Unsupported> {
    let constant = Operand::Literal(match extension {
        Extension::Signed => inst.imm as i16 as u32,
        Extension::Unsigned => u32::from(inst.imm as u16),
    });
    let read = match register {
        Register::Written => None,
        Register::Read => Some(source(inst)),
        Register::Changed => Some(inst.dst),
    };
    let mut src = [Operand::None; 4];
    let used = read.into_iter().chain([constant]).zip(&mut src).map(|(operand, at)| *at = operand).count();
    lower.one(&Inst { name, src, src_count: used as u8, ..inst.clone() })
}

/// Returns the register that an instruction with a constant reads: the encoding has it in the
/// destination's field.
pub fn source(inst: &Inst) -> Operand {
    if inst.src_count > 0 { inst.src[0] } else { inst.dst }
}

macro_rules! constants {
    (@register written) => { Register::Written };
    (@register read) => { Register::Read };
    (@register changed) => { Register::Changed };
    (@extension signed) => { Extension::Signed };
    (@extension unsigned) => { Extension::Unsigned };
    ($($name:literal as $other:literal, $register:ident, $extension:ident;)*) => {
        /// Instructions with a constant.
        pub const TABLE: &[(&str, Lowering)] = &[$(
            ($name, |at, inst| {
                lower(at, inst, $other, constants!(@register $register), constants!(@extension $extension))
            })
        ),*];
    };
}

constants! {
    "s_movk_i32" as "s_mov_b32", written, signed;
    "s_cmovk_i32" as "s_cmov_b32", written, signed;
    "s_addk_i32" as "s_add_i32", changed, signed;
    "s_mulk_i32" as "s_mul_i32", changed, signed;
    "s_cmpk_eq_i32" as "s_cmp_eq_i32", read, signed;
    "s_cmpk_lg_i32" as "s_cmp_lg_i32", read, signed;
    "s_cmpk_gt_i32" as "s_cmp_gt_i32", read, signed;
    "s_cmpk_ge_i32" as "s_cmp_ge_i32", read, signed;
    "s_cmpk_lt_i32" as "s_cmp_lt_i32", read, signed;
    "s_cmpk_le_i32" as "s_cmp_le_i32", read, signed;
    "s_cmpk_eq_u32" as "s_cmp_eq_u32", read, unsigned;
    "s_cmpk_lg_u32" as "s_cmp_lg_u32", read, unsigned;
    "s_cmpk_gt_u32" as "s_cmp_gt_u32", read, unsigned;
    "s_cmpk_ge_u32" as "s_cmp_ge_u32", read, unsigned;
    "s_cmpk_lt_u32" as "s_cmp_lt_u32", read, unsigned;
    "s_cmpk_le_u32" as "s_cmp_le_u32", read, unsigned;
}
