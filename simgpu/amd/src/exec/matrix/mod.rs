//! Matrix instructions: each multiplies small matrices whose elements are spread over the lanes and
//! registers of a wave, and adds a third matrix.
//!
//! They compute all lanes and ignore EXEC, according to AMD's ISA documents. So lanes that do not
//! exist or are not active take part, with what is in their registers.
//!
//! The formats of 16 bits and fewer, `xf32`, and sparse factors are refused: their sums are not
//! chains of IEEE operations, and AMD does not publish how they are rounded.

mod accumulate;
mod mfma;
mod wmma;

use super::program::Source;
use super::row::Row;
use super::wave::{Env, Wave};

/// The tables of these instructions.
pub const TABLES: &[super::Table] = &[mfma::TABLE, wmma::TABLE];

/// Returns why a matrix instruction is not executed, if the name is that of one.
pub fn refused(name: &str) -> Option<&'static str> {
    let (kind, _) = name.strip_prefix("v_")?.split_once('_')?;
    match kind {
        "smfmac" => Some("its first factor is sparse: expand the factor, and use v_mfma"),
        "mfma" | "wmma" => Some(
            "AMD does not publish how its sums of products are rounded: use a matrix instruction on f64, f32 or \
             integers",
        ),
        _ => None,
    }
}

/// Returns a register of an operand, or the constant that is the operand.
#[inline(always)]
fn held<'a>(wave: &'a Wave, env: &'a Env<'_>, operand: Source, register: usize) -> &'a Row {
    match operand {
        Source::Row(first) => &wave.v[(usize::from(first) + register) & 511],
        Source::Constant(row) => &env.program.constants[usize::from(row)],
        Source::Scalar(_) | Source::Mask(_) | Source::Slow(_) => unreachable!("lowering refuses these operands"),
    }
}
