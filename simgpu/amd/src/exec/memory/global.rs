//! Global memory: the address is 64 bits in two vector registers, or a scalar base with a 32-bit
//! vector offset.

use super::atomic::*;
use super::checked_access;
use super::operation::{ADDRESS, Form, Load, Store, row};
use super::space::{Space, address_row, offset, vector_atomics, vector_memory};
use super::width::*;
use crate::exec::lower::Lower;
use crate::exec::program::{Scalar, Unsupported};
use crate::exec::value::Kind;
use crate::exec::{Env, Flow, Step, Wave, source};
use crate::isa::{Inst, Operand};
use isobit_simgpu_core::check::LANES;

/// The global address space.
pub struct Global;

/// The index of the scalar base among the step's scalars.
const BASE: usize = 0;

impl Space for Global {
    fn address(lower: &mut Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported> {
        address_row(lower, inst, step)?;
        // Loads have no data operand before it.
        let base = if inst.src_count == 2 { inst.src[1] } else { inst.src[2] };
        if base != Operand::None {
            step.scalars[BASE] = lower.scalar(inst, base, Kind::Uint64)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn run(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form) -> Flow {
        let mask = wave.exec();
        if mask != 0 {
            let addresses = addresses(wave, step, env);
            checked_access::global(wave, step, env, form, mask, &addresses);
        }
        Flow::Next
    }
}

/// Returns the addresses of all lanes of a full-sized wave, active or not.
#[inline(always)]
fn addresses(wave: &Wave, step: &Step, env: &Env<'_>) -> [u64; LANES] {
    let low = &wave.v[row(step.rows[ADDRESS]) & 511].0;
    let offset = offset(step) as u64;
    if let Scalar::Register(_) = step.scalars[BASE] {
        let base = source::pair(wave, env, step.scalars[BASE]).wrapping_add(offset);
        return std::array::from_fn(|lane| base.wrapping_add(low[lane].into()));
    }
    let high = &wave.v[(row(step.rows[ADDRESS]) + 1) & 511].0;
    std::array::from_fn(|lane| (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_add(offset))
}

vector_memory! {
    /// Loads and stores.
    TABLE: "global_", Global
}

vector_atomics! {
    /// Atomics.
    ATOMICS: "global_", Global
}
