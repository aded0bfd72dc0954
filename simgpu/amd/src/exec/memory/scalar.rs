//! Scalar memory: loads to scalar registers, by address or by buffer resource, and clocks.

use crate::exec::lower::{Lower, Lowering};
use crate::exec::marks::Mark;
use crate::exec::program::{Scalar, Unsupported};
use crate::exec::value::Kind;
use crate::exec::wave::SITE_CACHES;
use crate::exec::{Env, Exec, Flow, Step, Wave, source};
use crate::isa::{Inst, Operand, sreg};
use isobit_simgpu_core::check::Access;
use isobit_simgpu_core::watch::clock_was_read;
use std::sync::atomic::Ordering;

/// Indices of a step's scalars: the base (or the resource's first half) and the offset register.
const BASE: usize = 0;
/// See [`BASE`].
const OFFSET: usize = 1;

/// Lowers a load of `N` words; through a resource if `BUFFER` is set.
fn load<const N: usize, const BUFFER: bool>(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    let exec = if lower.mark == Mark::Compared { run::<N, BUFFER, true> as Exec } else { run::<N, BUFFER, false> };
    let mut step = lower.whole(inst, exec, &[Kind::Uint64])?;
    step.scalars[OFFSET] = match inst.src[1] {
        Operand::None => lower.word(0),
        register => lower.scalar(inst, register, Kind::Int32)?,
    };
    step.target = inst.imm as u32;
    Ok(step)
}

fn run<const N: usize, const BUFFER: bool, const COMPARED: bool>(
    wave: &mut Wave,
    step: &Step,
    env: &mut Env<'_>,
) -> Flow {
    let base = source::pair(wave, env, step.scalars[BASE]);
    let offset = i64::from(step.target as i32) + i64::from(source::word(wave, env, step.scalars[OFFSET]));
    let mut words = [0; N];
    let (mut address, mut count) = (base.wrapping_add_signed(offset), N);
    if BUFFER {
        address = (base & 0xffff_ffff_ffff).wrapping_add_signed(offset);
        // Words outside the resource read as zero.
        let bytes = match step.scalars[BASE] {
            Scalar::Register(at) => wave.word(at + 2),
            _ => 0,
        };
        let left = i64::from(bytes).saturating_sub(offset & !3);
        count = if offset < 0 { 0 } else { N.min(usize::try_from(left / 4).unwrap_or(0)) };
    }
    // The low bits of the address are ignored.
    address &= !3;
    if count > 0 {
        let (place, site) = (wave.place(env), wave.site());
        let cache = &mut env.caches[site as usize % SITE_CACHES];
        let bytes = 4 * count as u32;
        let access = if COMPARED { Access::ComparedLoad } else { Access::Load };
        if env.launch.check_uniform(&place, access, site, address, bytes, 4, cache, env.describe) {
            for (i, word) in words.iter_mut().enumerate().take(count) {
                // SAFETY: the check found all of the words in a live allocation, at a multiple of
                // four. If other threads of the simulated card write them at the same time, the
                // kernel has a race, which the checks report.
                *word = unsafe { (address as *const u32).add(i).read() };
            }
        } else if let Some(part) = env.launch.part(access, address, bytes) {
            let to = words.as_mut_ptr().cast::<u8>().wrapping_add(part.skipped);
            // SAFETY: the part lies in a live allocation, and `words` has room for all of it.
            unsafe { to.copy_from_nonoverlapping(part.address as *const u8, part.bytes) };
        }
    }
    if step.sdst != sreg::NULL {
        for (i, word) in words.into_iter().enumerate() {
            wave.set_word(step.sdst + i as u8, word);
        }
    }
    Flow::Next
}

/// Lowers an instruction that reads a clock. Each reading is larger than the previous one.
fn clock(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    fn run(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
        clock_was_read();
        wave.set_pair(step.sdst, env.clock.fetch_add(1, Ordering::Relaxed));
        Flow::Next
    }
    lower.whole(inst, run, &[])
}

/// The scalar memory instructions.
pub const TABLE: &[(&str, Lowering)] = &[
    ("s_load_b32", load::<1, false>),
    ("s_load_b64", load::<2, false>),
    ("s_load_b128", load::<4, false>),
    ("s_load_b256", load::<8, false>),
    ("s_load_b512", load::<16, false>),
    ("s_buffer_load_b32", load::<1, true>),
    ("s_buffer_load_b64", load::<2, true>),
    ("s_buffer_load_b128", load::<4, true>),
    ("s_buffer_load_b256", load::<8, true>),
    ("s_buffer_load_b512", load::<16, true>),
    ("s_memtime", clock),
    ("s_memrealtime", clock),
];
