//! Private memory by address: a vector offset, a scalar offset, both, or only the constant.

use super::checked_access;
use super::operation::{ADDRESS, Form, Load, Store, row};
use super::space::{Space, offset, optional_address_row, vector_memory};
use super::width::*;
use crate::exec::lower::Lower;
use crate::exec::program::{Source, Unsupported};
use crate::exec::value::Kind;
use crate::exec::{Env, Flow, Step, Wave, source};
use crate::isa::{Inst, Operand};

/// The private address space.
pub struct Scratch;

/// The index of the scalar offset among the step's scalars.
const BASE: usize = 0;

impl Space for Scratch {
    fn address(lower: &mut Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported> {
        // Loads have no data operand before the scalar offset.
        let base = if inst.dst != Operand::None { inst.src[1] } else { inst.src[2] };
        step.scalars[BASE] = match base {
            Operand::None => lower.word(0),
            base => lower.scalar(inst, base, Kind::Int32)?,
        };
        optional_address_row(lower, inst, step)
    }

    #[inline(always)]
    fn run(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form) -> Flow {
        let mask = wave.exec();
        let base = source::word(wave, env, step.scalars[BASE]).wrapping_add(offset(step) as u32);
        let addresses = match step.rows[ADDRESS] {
            Source::Row(_) => wave.v[row(step.rows[ADDRESS]) & 511].0.map(|address| address.wrapping_add(base)),
            _ => [base; 64],
        };
        checked_access::private(wave, step, env, form, mask, &addresses)
    }
}

vector_memory! {
    /// Loads and stores.
    TABLE: "scratch_", Scratch
}
