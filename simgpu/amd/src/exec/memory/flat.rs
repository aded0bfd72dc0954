//! Generic addresses: those in the apertures refer to group and private memory, all others to
//! global memory.

use super::atomic::*;
use super::checked_access;
use super::operation::{ADDRESS, Form, Load, Store, row};
use super::space::{Space, address_row, offset, vector_atomics, vector_memory};
use super::width::*;
use crate::exec::lower::Lower;
use crate::exec::program::Unsupported;
use crate::exec::{Env, Flow, Step, Wave};
use crate::isa::Inst;

/// The generic address space.
pub struct Flat;

impl Space for Flat {
    fn address(lower: &mut Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported> {
        address_row(lower, inst, step)
    }

    #[inline(always)]
    fn run(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form) -> Flow {
        let mask = wave.exec();
        let address = row(step.rows[ADDRESS]);
        let [low, high] = [address, address + 1].map(|row| &wave.v[row & 511].0);
        let offset = offset(step) as u64;
        let addresses: [u64; 64] =
            std::array::from_fn(|lane| (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_add(offset));
        let within = |aperture: u32| {
            let lane_in = |lane: usize| u64::from((addresses[lane] >> 32) as u32 == aperture) << lane;
            mask & (0..64).fold(0, |lanes, lane| lanes | lane_in(lane))
        };
        let (shared, private) = (within(env.shared_aperture), within(env.private_aperture));
        let low = addresses.map(|address| address as u32);
        if shared != 0 {
            checked_access::local(wave, step, env, form, shared, &low);
        }
        if private != 0 && checked_access::private(wave, step, env, form, private, &low) == Flow::Fault {
            return Flow::Fault;
        }
        let global = mask & !shared & !private;
        if global != 0 {
            checked_access::global(wave, step, env, form, global, &addresses);
        }
        Flow::Next
    }
}

vector_memory! {
    /// Loads and stores.
    TABLE: "flat_", Flat
}

vector_atomics! {
    /// Atomics.
    ATOMICS: "flat_", Flat
}
