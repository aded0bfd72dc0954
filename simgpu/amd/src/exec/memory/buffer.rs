//! Memory by buffer resource. gfx90a reaches private memory so, by a resource that is swizzled;
//! other resources are over global memory.

use super::atomic::*;
use super::checked_access;
use super::operation::{ADDRESS, Form, Load, NO_ROW, Store, row, set_words};
use super::space::{Space, offset, optional_address_row, vector_atomics, vector_memory};
use super::width::*;
use crate::exec::lower::{Lower, modifier};
use crate::exec::program::{Source, Unsupported};
use crate::exec::value::Kind;
use crate::exec::{Env, Flow, Step, Wave, source};
use crate::isa::{Inst, Operand};
use isobit_simgpu_core::check::{Access, LANES, lanes_of};

/// Memory by buffer resource.
pub struct Buffer;

/// The place of the scalar offset.
const OFFSET: usize = 0;
/// In the second word of a resource: the lanes' elements lie together (on GFX11 of two bits the
/// higher).
const SWIZZLED: u32 = 1 << 31;

/// A resource over global memory without structure.
struct Raw {
    base: u64,
    bytes: u32,
}

impl Space for Buffer {
    fn address(lower: &mut Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported> {
        if inst.idxen {
            return Err(modifier(inst, "an index"));
        }
        let Operand::Sgpr(resource) = inst.src[2] else {
            return Err(modifier(inst, "a resource that is in no registers"));
        };
        step.sdst = resource;
        step.scalars[OFFSET] = lower.scalar(inst, inst.src[3], Kind::Int32)?;
        optional_address_row(lower, inst, step)
    }

    #[inline(always)]
    fn run(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form) -> Flow {
        let mask = wave.exec();
        let scalar = source::word(wave, env, step.scalars[OFFSET]);
        let offset = offset(step) as u32;
        let vector = match step.rows[ADDRESS] {
            Source::Row(_) => wave.v[row(step.rows[ADDRESS]) & 511].0,
            _ => [0; 64],
        };
        if wave.word(step.sdst + 1) & SWIZZLED != 0 {
            // Offsets of the wave as a whole count the bytes of all its lanes.
            let base = offset.wrapping_add(scalar / wave.width as u32);
            checked_access::private(wave, step, env, form, mask, &vector.map(|v| v.wrapping_add(base)));
            return Flow::Next;
        }
        let raw = match resource(wave, step.sdst) {
            Ok(raw) => raw,
            Err(why) => {
                env.fault = Some(why);
                return Flow::Fault;
            }
        };
        // What lies outside of the resource reads zero, and is not written.
        let at = vector.map(|v| u64::from(v) + u64::from(offset));
        let inside = |lane: usize| at[lane] + u64::from(scalar) + u64::from(form.bytes) <= u64::from(raw.bytes);
        let reached = mask & (0..64).fold(0, |lanes, lane| lanes | u64::from(inside(lane)) << lane);
        zero(wave, step, form, mask & !reached);
        let addresses = at.map(|at| raw.base.wrapping_add(at).wrapping_add(scalar.into()));
        if reached != 0 {
            checked_access::global(wave, step, env, form, reached, &addresses);
        }
        Flow::Next
    }
}

/// What lanes get that reach outside of their resource: zeros, and a store goes nowhere.
fn zero(wave: &mut Wave, step: &Step, form: &Form, lanes: u64) {
    if lanes == 0 || form.access == Access::Store || step.dst == NO_ROW {
        return;
    }
    let mut zeros = [0; MOST];
    if form.access == Access::Load {
        // SAFETY: a load reads no more than a lane can take.
        unsafe { (form.lanes)(wave, step, lanes, &[zeros.as_mut_ptr().cast(); LANES]) };
    } else {
        lanes_of(lanes).for_each(|lane| set_words(wave, step.dst.into(), form.stored, lane as usize, zeros));
    }
}

/// A resource of raw bytes from four scalar registers.
fn resource(wave: &Wave, at: u8) -> Result<Raw, String> {
    let [base, high, bytes] = [0, 1, 2].map(|i| wave.word(at + i));
    match high >> 16 & 0x3fff {
        0 => Ok(Raw { base: u64::from(base) | u64::from(high & 0xffff) << 32, bytes }),
        stride => Err(format!("a buffer resource of elements of {stride} bytes is not simulated")),
    }
}

vector_memory! {
    /// Loads and stores.
    TABLE: "buffer_", Buffer
}

vector_atomics! {
    /// Atomics.
    ATOMICS: "buffer_", Buffer
}
