//! Hardware registers: those that kernels may read, and the float mode, which kernels may only set
//! to its current value.

use super::constant;
use crate::exec::lower::{Lower, Lowering};
use crate::exec::program::{Exec, Flow, Step, Unsupported};
use crate::exec::source;
use crate::exec::value::Kind;
use crate::exec::wave::{Env, Wave};
use crate::isa::Inst;
use isobit_simgpu_core::watch::clock_was_read;
use std::sync::atomic::Ordering;

/// The value of MODE at the start of every kernel: round to nearest even (bits 3:0), subnormals
/// kept (7:4), NaN clamped to zero (8), IEEE minimum and maximum (9).
const MODE: u32 = 0x3f0;
/// The identifier of MODE.
const MODE_ID: u32 = 1;

/// Returns the register, the first bit, and the unshifted bit mask that a constant encodes.
fn part(imm: i32) -> (u32, u32, u32) {
    let bits = imm as u16 as u32;
    let size = (bits >> 11) + 1;
    (bits & 63, bits >> 6 & 31, u32::MAX >> (32 - size))
}

/// Returns a hardware register's value, by its identifier; `None` for those that are not simulated.
fn value(wave: &Wave, env: &Env<'_>, id: u32) -> Option<u32> {
    let gfx9 = env.program.arch.is_gfx9();
    Some(match id {
        MODE_ID => MODE,
        // STATUS: SCC, EXECZ and VCCZ, the bits that a kernel could see change.
        2 => {
            let vccz = wave.mask(crate::isa::sreg::VCC_LO) == 0;
            let execz = wave.mask(crate::isa::sreg::EXEC_LO) == 0;
            u32::from(wave.scc) | u32::from(execz) << 9 | u32::from(vccz) << 10
        }
        // TRAPSTS, HW_ID of GFX9, IB_STS: no trap, the first hardware unit of each kind, nothing
        // outstanding.
        3 | 7 => 0,
        4 if gfx9 => 0,
        // HW_ID1 and HW_ID2 of GFX11; XCC_ID of gfx942.
        23 | 24 if !gfx9 => 0,
        20 if env.program.arch == crate::isa::Arch::Gfx942 => 0,
        // SH_MEM_BASES: the high 16 bits of the addresses of private memory, and of group memory
        // above them.
        15 => env.shared_aperture & 0xffff_0000 | env.private_aperture >> 16,
        // SHADER_CYCLES, 20 bits.
        29 if !gfx9 => {
            clock_was_read();
            env.clock.fetch_add(1, Ordering::Relaxed) as u32 & 0xf_ffff
        }
        _ => return None,
    })
}

fn get(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let (id, at, mask) = part(env.program.inst(step).imm);
    match value(wave, env, id) {
        Some(word) => {
            wave.set_word(step.sdst, word >> at & mask);
            Flow::Next
        }
        None => {
            env.fault = Some(format!("hardware register {id} is not simulated"));
            Flow::Fault
        }
    }
}

fn set(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let (id, at, mask) = part(env.program.inst(step).imm);
    if id != MODE_ID {
        env.fault = Some(format!("a write to hardware register {id} is not simulated"));
        return Flow::Fault;
    }
    let new = source::word(wave, env, step.scalars[0]);
    mode(env, MODE & !(mask << at) | (new & mask) << at)
}

/// Accepts only the mode in which all kernels of the tree run.
fn mode(env: &mut Env<'_>, mode: u32) -> Flow {
    if mode == MODE {
        return Flow::Next;
    }
    env.fault =
        Some(format!("the float mode {mode:#x} is not simulated, only {MODE:#x}: nearest even, subnormals kept"));
    Flow::Fault
}

fn round_mode(_: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let new = env.program.inst(step).imm as u32 & 15;
    mode(env, MODE & !15 | new)
}

fn denorm_mode(_: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let new = env.program.inst(step).imm as u32 & 15;
    mode(env, MODE & !0xf0 | new << 4)
}

/// Returns a step that reads the instruction's register or literal.
fn reading(lower: &mut Lower, inst: &Inst, exec: Exec) -> Result<Step, Unsupported> {
    let mut step = lower.step(exec);
    step.scalars[0] = lower.scalar(inst, constant::source(inst), Kind::Int32)?;
    Ok(step)
}

/// Hardware registers.
pub const TABLE: &[(&str, Lowering)] = &[
    ("s_getreg_b32", |lower, inst| lower.whole(inst, get, &[])),
    ("s_setreg_b32", |lower, inst| reading(lower, inst, set)),
    ("s_setreg_imm32_b32", |lower, inst| reading(lower, inst, set)),
    ("s_round_mode", |lower, inst| lower.whole(inst, round_mode, &[])),
    ("s_denorm_mode", |lower, inst| lower.whole(inst, denorm_mode, &[])),
];
