//! Memory accesses by buffer resource. On gfx90a private memory is accessed in this way, through a
//! swizzled resource; other resources describe global memory.

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

/// The address space of buffer resources.
pub struct Buffer;

/// The index of the scalar offset among the step's scalars.
const OFFSET: usize = 0;
/// A bit in the second word of a resource: the elements of the lanes are interleaved (on GFX11 it
/// is the higher of two bits).
const SWIZZLED: u32 = 1 << 31;

/// A resource over unstructured global memory.
struct Raw {
    base: u64,
    bytes: u32,
}

/// Whether the resource of a step is one of private memory.
#[inline(always)]
pub fn is_private(wave: &Wave, step: &Step) -> bool {
    wave.word(step.sdst + 1) & SWIZZLED != 0
}

impl Space for Buffer {
    fn address(lower: &mut Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported> {
        if inst.idxen {
            return Err(modifier(inst, "an index"));
        }
        let Operand::Sgpr(resource) = inst.src[2] else {
            return Err(modifier(inst, "a resource that is not in registers"));
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
        if is_private(wave, step) {
            // Offsets of the whole wave count the bytes of all its lanes.
            let base = offset.wrapping_add(scalar / wave.width as u32);
            return checked_access::private(wave, step, env, form, mask, &vector.map(|v| v.wrapping_add(base)));
        }
        let raw = match resource(wave, step.sdst) {
            Ok(raw) => raw,
            Err(why) => {
                env.fault = Some(why);
                return Flow::Fault;
            }
        };
        // Loads outside the resource return zero, and stores there are ignored.
        let at = vector.map(|v| u64::from(v) + u64::from(offset));
        let inside = |lane: usize, bytes: u32| at[lane] + u64::from(scalar) + u64::from(bytes) <= u64::from(raw.bytes);
        let reaching =
            |bytes: u32| mask & (0..64).fold(0, |lanes, lane| lanes | u64::from(inside(lane, bytes)) << lane);
        let whole = reaching(form.bytes);
        let addresses = at.map(|at| raw.base.wrapping_add(at).wrapping_add(scalar.into()));
        if whole != mask {
            partly_outside(wave, step, env, form, mask & !whole, &addresses, reaching);
        }
        if whole != 0 {
            checked_access::global(wave, step, env, form, whole, &addresses);
        }
        Flow::Next
    }
}

/// Handles lanes that do not lie in their resource as a whole. A load or store of several words is
/// compared with the end word by word; `reaching` returns the lanes whose first bytes, of this
/// number, lie inside.
#[cold]
fn partly_outside(
    wave: &mut Wave,
    step: &Step,
    env: &mut Env<'_>,
    form: &Form,
    mut lanes: u64,
    addresses: &[u64; LANES],
    reaching: impl Fn(u32) -> u64,
) {
    if form.access != Access::Atomic {
        for bytes in (1..form.bytes.div_ceil(4)).rev().map(|words| 4 * words) {
            let part = lanes & reaching(bytes);
            if part != 0 {
                checked_access::first_bytes(wave, step, env, form, bytes, part, addresses);
                lanes &= !part;
            }
        }
    }
    zero(wave, step, form, lanes);
}

/// Handles lanes that access memory outside their resource: loads return zero, and stores are
/// ignored.
fn zero(wave: &mut Wave, step: &Step, form: &Form, lanes: u64) {
    if lanes == 0 || !form.access.reads() || step.dst == NO_ROW {
        return;
    }
    let mut zeros = [0; MOST];
    if !form.access.writes() {
        // SAFETY: a load reads at most one lane's maximum, and `zeros` has that size.
        unsafe { (form.lanes)(wave, step, lanes, &[zeros.as_mut_ptr().cast(); LANES]) };
    } else {
        lanes_of(lanes).for_each(|lane| set_words(wave, step.dst.into(), form.stored, lane as usize, zeros));
    }
}

/// Returns a raw-bytes resource from four scalar registers.
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
