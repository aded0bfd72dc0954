//! Exchanges between the lanes of a warp: shuffles, votes, matches, reductions.
//!
//! A `.sync` instruction waits for all live lanes of its mask. The mask can be a register, and
//! lanes can have different masks: each lane exchanges with those of its own mask.

mod matching;
mod reduce;
mod shuffle;
mod vote;
mod whole;

use super::lane::row;
use super::{Env, Flow, LANES, Place, Program, Warp};
use crate::lower::Lower;
use crate::ptx::ast::{Kind, Operand, Type};

/// The tables of these instructions.
pub const TABLES: &[crate::lower::Table] = &[shuffle::TABLE, vote::TABLE, matching::TABLE, reduce::TABLE, whole::TABLE];

const WORD: Type = Type { kind: Kind::Bits, bits: 32 };

/// Lanes that exchange with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    /// The active lanes that have this mask.
    lanes: u32,
    /// The lanes of the mask that are active.
    members: u32,
}

/// Returns the masks from a source. Without a mask operand, the mask is the active lanes.
#[inline(always)]
fn masks(warp: &Warp, program: &Program, place: Place) -> [u32; LANES] {
    match place {
        Place::NONE => [warp.active; LANES],
        // SAFETY: lowering gave the step a 32-bit source.
        place => unsafe { *row(warp, program, place).cast() },
    }
}

/// Groups the active lanes by their masks. If a member is missing, or a lane is not in its own
/// mask, returns what happens to the step.
#[inline(always)]
fn groups(warp: &Warp, env: &mut Env<'_>, masks: &[u32; LANES]) -> Result<impl Iterator<Item = Group> + use<>, Flow> {
    let mut found = [Group { lanes: 0, members: 0 }; LANES];
    let mut count = 0;
    let mut left = warp.active;
    while left != 0 {
        let mask = masks[left.trailing_zeros() as usize & 31];
        if !warp.converged(mask) {
            return Err(Flow::Converge);
        }
        let lanes = lanes_with(masks, mask) & left;
        if lanes & !mask != 0 {
            let lane = (lanes & !mask).trailing_zeros();
            env.fault = Some(format!("lane {lane} is not in its own member mask {mask:#010x}").into());
            return Err(Flow::Fault);
        }
        found[count] = Group { lanes, members: mask & warp.active };
        count += 1;
        left &= !lanes;
    }
    Ok(found.into_iter().take(count))
}

/// Returns the lanes whose word is `value`.
#[inline(always)]
fn lanes_with<T: Copy + PartialEq>(words: &[T; LANES], value: T) -> u32 {
    words.iter().enumerate().fold(0, |lanes, (lane, word)| lanes | u32::from(*word == value) << lane)
}

/// Returns the mask operand of an instruction; only `.sync` instructions have one.
///
/// # Errors
/// Fails if it is not a 32-bit source, or if there is an operand too few or too many.
fn mask(lower: &mut Lower<'_>, rest: &[Operand], sync: bool) -> Result<Place, String> {
    match rest {
        [mask] if sync => lower.source(mask, WORD),
        [] if !sync => Ok(Place::NONE),
        _ => Err("a member mask is needed with .sync, and only then".into()),
    }
}
