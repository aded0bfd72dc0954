//! Scalar instructions that change EXEC and save a copy. They set SCC if any lane is active
//! afterwards.

use crate::exec::program::{Flow, Step};
use crate::exec::wave::{Env, Wave};
use crate::exec::{source, whole::wave};
use crate::isa::sreg;

/// The part of EXEC that an instruction uses.
trait Width {
    fn source(wave: &Wave, step: &Step, env: &Env<'_>) -> u64;
    fn exec(wave: &Wave) -> u64;
    fn set(wave: &mut Wave, at: u8, bits: u64);
    const ALL: u64;
}

/// The low half: 32-lane waves.
struct Low;
/// All of EXEC.
struct Both;

impl Width for Low {
    fn source(wave: &Wave, step: &Step, env: &Env<'_>) -> u64 {
        source::word(wave, env, step.scalars[0]).into()
    }
    fn exec(wave: &Wave) -> u64 {
        wave.word(sreg::EXEC_LO).into()
    }
    fn set(wave: &mut Wave, at: u8, bits: u64) {
        wave.set_word(at, bits as u32);
    }
    const ALL: u64 = 0xffff_ffff;
}

impl Width for Both {
    fn source(wave: &Wave, step: &Step, env: &Env<'_>) -> u64 {
        source::pair(wave, env, step.scalars[0])
    }
    fn exec(wave: &Wave) -> u64 {
        wave.exec()
    }
    fn set(wave: &mut Wave, at: u8, bits: u64) {
        wave.set_pair(at, bits);
    }
    const ALL: u64 = u64::MAX;
}

/// Saves the old EXEC and changes it.
#[inline(always)]
fn save<W: Width>(wave: &mut Wave, step: &Step, env: &Env<'_>, change: impl Fn(u64, u64) -> u64) -> Flow {
    let (s, exec) = (W::source(wave, step, env), W::exec(wave));
    let new = change(s, exec) & W::ALL;
    W::set(wave, step.sdst, exec);
    W::set(wave, sreg::EXEC_LO, new);
    wave.scc = new != 0;
    Flow::Next
}

/// Changes EXEC and writes the new value to the destination.
#[inline(always)]
fn write<W: Width>(wave: &mut Wave, step: &Step, env: &Env<'_>, change: impl Fn(u64, u64) -> u64) -> Flow {
    let new = change(W::source(wave, step, env), W::exec(wave)) & W::ALL;
    W::set(wave, step.sdst, new);
    W::set(wave, sreg::EXEC_LO, new);
    wave.scc = new != 0;
    Flow::Next
}

wave! {
    /// Changes of EXEC. `not0` inverts the source, `not1` EXEC.
    TABLE:
    "s_and_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| s & exec) };
    "s_and_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| s & exec) };
    "s_or_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| s | exec) };
    "s_or_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| s | exec) };
    "s_xor_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| s ^ exec) };
    "s_xor_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| s ^ exec) };
    "s_and_not0_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| !s & exec) };
    "s_and_not0_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| !s & exec) };
    "s_and_not1_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| s & !exec) };
    "s_and_not1_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| s & !exec) };
    "s_or_not0_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| !s | exec) };
    "s_or_not0_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| !s | exec) };
    "s_or_not1_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| s | !exec) };
    "s_or_not1_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| s | !exec) };
    "s_nand_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| !(s & exec)) };
    "s_nand_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| !(s & exec)) };
    "s_nor_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| !(s | exec)) };
    "s_nor_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| !(s | exec)) };
    "s_xnor_saveexec_b32" [Int32] => |wave, step, env| { save::<Low>(wave, step, env, |s, exec| !(s ^ exec)) };
    "s_xnor_saveexec_b64" [Uint64] => |wave, step, env| { save::<Both>(wave, step, env, |s, exec| !(s ^ exec)) };
    "s_and_not0_wrexec_b32" [Int32] => |wave, step, env| { write::<Low>(wave, step, env, |s, exec| !s & exec) };
    "s_and_not0_wrexec_b64" [Uint64] => |wave, step, env| { write::<Both>(wave, step, env, |s, exec| !s & exec) };
    "s_and_not1_wrexec_b32" [Int32] => |wave, step, env| { write::<Low>(wave, step, env, |s, exec| s & !exec) };
    "s_and_not1_wrexec_b64" [Uint64] => |wave, step, env| { write::<Both>(wave, step, env, |s, exec| s & !exec) };
}
