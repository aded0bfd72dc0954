//! `printf`: formats the text of each thread at once, since the memory that the arguments refer to
//! may change later, and gives it to the card's output.
//!
//! The arguments are in a buffer, each at a multiple of its size: integers of 4 or 8 bytes, floats
//! as `double`, strings as addresses. The result is the number of arguments that the format uses.

use super::lane::{self, row};
use super::memory::{read, text};
use super::program::{Flow, Step};
use super::row::LANES;
use super::warp::{Env, Warp};
use crate::lower::{Lower, Table};
use crate::ptx::ast::{Instruction, Kind, Type};
use isobit_simgpu_core::check::lanes_of;
use isobit_simgpu_core::print::{Arguments, Stream, Text, format};
use isobit_simgpu_core::watch::has_effect;

/// The opcode for a call of `vprintf`; PTX text cannot contain it.
pub const PRINT: &str = "(vprintf)";

/// The instruction.
pub const TABLE: Table = &[(PRINT, lower)];

/// The number of arguments that a call can have; CUDA prints further conversions as they stand.
const MOST: u32 = 32;
/// CUDA's results for a null pointer instead of a format, and for an error.
const NO_FORMAT: u32 = -1i32 as u32;
const FAILED: u32 = -2i32 as u32;

fn lower(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let [result, format, list] = &inst.operands[..] else { return Err("it needs a format and arguments".into()) };
    let wide = Type { kind: Kind::Bits, bits: 64 };
    let mut step = lower.step(print);
    step.dst = lower.destination(result, Type { kind: Kind::Bits, bits: 32 })?;
    (step.src[0], step.src[1]) = (lower.source(format, wide)?, lower.source(list, wide)?);
    // Strings may be anywhere, and are read to the byte.
    lower.program.granules.note_global(1);
    lower.program.granules.note_local(1);
    lower.program.prints = true;
    lower.push_access(step);
    Ok(())
}

fn print(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    has_effect();
    // SAFETY: lowering gave the step two 64-bit sources.
    let [formats, lists] = [0, 1].map(|at| unsafe { *row(warp, env.program, step.src[at]).cast::<[u64; LANES]>() });
    let mut results = [NO_FORMAT; LANES];
    // Nearly always, all threads have the same format.
    let mut known: Option<(u64, Option<Vec<u8>>)> = None;
    for lane in lanes_of(warp.active.into()).map(|lane| lane as usize).filter(|lane| formats[*lane] != 0) {
        let address = formats[lane];
        if known.as_ref().is_none_or(|(known, _)| *known != address) {
            known = Some((address, text(warp, env, lane, address, None)));
        }
        results[lane] = FAILED;
        if let Some((_, Some(found))) = &known {
            let printed = format(found, &mut List { warp, env, lane, base: lists[lane], offset: 0, taken: 0 });
            results[lane] = printed.arguments;
            if let Some(output) = env.launch.output() {
                output.put(Stream::Out, printed.text);
            }
        }
    }
    // SAFETY: lowering gave the step a 32-bit destination.
    unsafe { lane::write(warp, step.dst, &results) };
    Flow::Next
}

/// The argument buffer of one thread.
struct List<'a, 'e> {
    warp: &'a mut Warp,
    env: &'a mut Env<'e>,
    lane: usize,
    base: u64,
    /// The end of the arguments that were taken, and their number.
    offset: u64,
    taken: u32,
}

impl List<'_, '_> {
    /// Takes an argument of `N` bytes.
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        if self.taken == MOST {
            return None;
        }
        let at = self.offset.next_multiple_of(N as u64);
        (self.taken, self.offset) = (self.taken + 1, at + N as u64);
        let mut bytes = [0; N];
        read(self.warp, self.env, self.lane, self.base.wrapping_add(at), &mut bytes).then_some(bytes)
    }
}

impl Arguments for List<'_, '_> {
    const END_WITHOUT: bool = false;

    fn integer(&mut self, wide: bool) -> Option<u64> {
        if wide {
            self.take().map(u64::from_le_bytes)
        } else {
            self.take().map(|bytes| u32::from_le_bytes(bytes).into())
        }
    }

    fn double(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    fn text(&mut self, most: Option<usize>) -> Option<Text> {
        match self.take().map(u64::from_le_bytes)? {
            0 => Some(Text::Null),
            address => text(self.warp, self.env, self.lane, address, most).map(Text::Bytes),
        }
    }
}
