//! Special registers: the position of a thread, the shape of the launch, clocks.

use super::lane::write;
use super::{Env, Flow, LANES, Step, Warp};
use crate::lower::{Lower, Modifiers};
use crate::ptx::ast::{Instruction, Kind, Operand};
use isobit_simgpu_core::watch::clock_was_read;
use std::sync::atomic::Ordering;

/// A special register.
#[derive(Clone, Copy)]
enum Special {
    /// The same value in all lanes.
    Same(fn(&Warp, &Env<'_>) -> u64),
    /// A function of the lane.
    Lane(fn(u32) -> u32),
    /// A coordinate of the thread within its block.
    Thread(u8),
}

/// `mov` from a special register.
///
/// # Errors
/// Fails if the register is unknown, is not simulated, or has another type.
pub fn special(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    let [to, Operand::Special(name, part)] = inst.operands.as_slice() else {
        return Err("it needs a register and a special register".into());
    };
    let full = || {
        format!("{name}{}", part.map_or("", |part| [".x", ".y", ".z", ".w"].get(usize::from(part)).unwrap_or(&".?")))
    };
    let (index, bits) = find(name, *part).ok_or_else(|| format!("the special register {} is not simulated", full()))?;
    // 32-bit special registers can be read as 16 bits, their width in the first versions of PTX.
    let fits = ty.bits == bits || ty.bits == 16 && bits == 32 || ty.bits == 32 && name == "%gridid";
    if !fits || !matches!(ty.kind, Kind::Bits | Kind::Unsigned | Kind::Signed) {
        return Err(format!("the special register {} has {bits} bits", full()));
    }
    let dst = lower.destination(to, ty)?;
    let exec = match ty.bits {
        16 => read::<u16>,
        32 => read::<u32>,
        _ => read::<u64>,
    };
    let step = Step { dst, extra: index as u32, ..lower.step(exec) };
    lower.push(step);
    Ok(())
}

/// Conversion of a number to the type of a register, which keeps the low bits.
trait Low: Copy {
    fn low(value: u64) -> Self;
}

macro_rules! low {
    ($($type:ty)*) => {$(
        impl Low for $type {
            #[inline(always)]
            fn low(value: u64) -> Self {
                value as Self
            }
        }
    )*};
}

low!(u16 u32 u64);

fn read<T: Low>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let values: [T; LANES] = match REGISTERS[step.extra as usize].3 {
        Special::Same(value) => [T::low(value(warp, env)); LANES],
        Special::Lane(value) => std::array::from_fn(|lane| T::low(value(lane as u32).into())),
        Special::Thread(part) => threads(warp, env, usize::from(part)).map(|at| T::low(at.into())),
    };
    // SAFETY: lowering checked that the register has this width.
    unsafe { write(warp, step.dst, &values) };
    Flow::Next
}

/// Returns one coordinate of all threads of a warp. Threads are numbered linearly, with x the
/// fastest.
fn threads(warp: &Warp, env: &Env<'_>, part: usize) -> [u32; LANES] {
    let [width, height, _] = env.threads;
    let first = warp.number * LANES as u32;
    let mut at = [first % width, first / width % height, first / width / height];
    std::array::from_fn(|_| {
        let now = at[part];
        at[0] += 1;
        if at[0] == width {
            (at[0], at[1]) = (0, at[1] + 1);
        }
        if at[1] == height {
            (at[1], at[2]) = (0, at[2] + 1);
        }
        now
    })
}

/// Returns a clock value that increases with every reading.
fn now(_: &Warp, env: &Env<'_>) -> u64 {
    clock_was_read();
    env.clock.fetch_add(1, Ordering::Relaxed)
}

fn find(name: &str, part: Option<u8>) -> Option<(usize, u32)> {
    let name = match name.strip_prefix("%envreg").map(str::parse::<u32>) {
        Some(Ok(0..32)) => "%envreg",
        _ => name,
    };
    let at = REGISTERS.iter().position(|register| register.0 == name && register.1 == part)?;
    Some((at, REGISTERS[at].2))
}

/// Names, parts, bits and values.
const REGISTERS: &[(&str, Option<u8>, u32, Special)] = &[
    ("%tid", Some(0), 32, Special::Thread(0)),
    ("%tid", Some(1), 32, Special::Thread(1)),
    ("%tid", Some(2), 32, Special::Thread(2)),
    ("%tid", Some(3), 32, Special::Same(|_, _| 0)),
    ("%ntid", Some(0), 32, Special::Same(|_, env| env.threads[0].into())),
    ("%ntid", Some(1), 32, Special::Same(|_, env| env.threads[1].into())),
    ("%ntid", Some(2), 32, Special::Same(|_, env| env.threads[2].into())),
    ("%ntid", Some(3), 32, Special::Same(|_, _| 1)),
    ("%ctaid", Some(0), 32, Special::Same(|_, env| env.block_at[0].into())),
    ("%ctaid", Some(1), 32, Special::Same(|_, env| env.block_at[1].into())),
    ("%ctaid", Some(2), 32, Special::Same(|_, env| env.block_at[2].into())),
    ("%ctaid", Some(3), 32, Special::Same(|_, _| 0)),
    ("%nctaid", Some(0), 32, Special::Same(|_, env| env.grid[0].into())),
    ("%nctaid", Some(1), 32, Special::Same(|_, env| env.grid[1].into())),
    ("%nctaid", Some(2), 32, Special::Same(|_, env| env.grid[2].into())),
    ("%nctaid", Some(3), 32, Special::Same(|_, _| 1)),
    ("%laneid", None, 32, Special::Lane(|lane| lane)),
    ("%warpid", None, 32, Special::Same(|warp, _| warp.number.into())),
    // One multiprocessor runs all blocks.
    ("%nwarpid", None, 32, Special::Same(|_, _| 32)),
    ("%smid", None, 32, Special::Same(|_, _| 0)),
    ("%nsmid", None, 32, Special::Same(|_, _| 1)),
    ("%gridid", None, 64, Special::Same(|_, _| 0)),
    ("%lanemask_eq", None, 32, Special::Lane(|lane| 1 << lane)),
    ("%lanemask_lt", None, 32, Special::Lane(|lane| (1 << lane) - 1)),
    ("%lanemask_le", None, 32, Special::Lane(|lane| u32::MAX >> (31 - lane))),
    ("%lanemask_gt", None, 32, Special::Lane(|lane| !(u32::MAX >> (31 - lane)))),
    ("%lanemask_ge", None, 32, Special::Lane(|lane| u32::MAX << lane)),
    ("%clock", None, 32, Special::Same(now)),
    ("%clock_hi", None, 32, Special::Same(|warp, env| now(warp, env) >> 32)),
    ("%clock64", None, 64, Special::Same(now)),
    ("%globaltimer", None, 64, Special::Same(now)),
    ("%globaltimer_lo", None, 32, Special::Same(now)),
    ("%globaltimer_hi", None, 32, Special::Same(|warp, env| now(warp, env) >> 32)),
    ("%dynamic_smem_size", None, 32, Special::Same(|_, env| env.dynamic_shared.into())),
    ("%total_smem_size", None, 32, Special::Same(|_, env| env.shared.bytes().len() as u64)),
    ("%aggr_smem_size", None, 32, Special::Same(|_, env| env.shared.bytes().len() as u64)),
    ("%envreg", None, 32, Special::Same(|_, _| 0)),
];
