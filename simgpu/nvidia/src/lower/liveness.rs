//! Computes the range of code in which each register holds a value.
//!
//! Each register has one interval in the laid-out code, from the first to the last position at
//! which it may hold a value that is read. Each lane has its own position in a row, so the order in
//! which diverged lanes execute the code in between does not matter.

use super::blocks::{End, Graph};
use super::operands::{self, Use};
use crate::ptx::ast::{Operand, RegisterId};
use std::ops::Range;

/// The range in which a register holds a value: instruction numbers in layout order, both ends
/// inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// The register.
    pub register: RegisterId,
    /// Where it starts.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// Whether some path reads it before it writes it.
    pub undefined: bool,
}

/// The facts about one block.
#[derive(Debug, Default)]
struct Facts {
    /// The numbers of its instructions, plus one for its end.
    numbers: Range<u32>,
    /// Among the registers that live across blocks: those that are read before they are written,
    /// and those that are written.
    exposed: Vec<u64>,
    written: Vec<u64>,
    live_in: Vec<u64>,
    live_out: Vec<u64>,
}

/// Returns the intervals of the registers that occur; `registers` is the number of all registers.
pub fn intervals(graph: &Graph<'_>, order: &[usize], registers: usize) -> Vec<Interval> {
    let mut scan = Scan { spans: vec![None; registers], dense: vec![u32::MAX; registers], crossing: Vec::new() };
    let mut facts: Vec<Facts> = graph.blocks.iter().map(|_| Facts::default()).collect();
    scan.occurrences(graph, order, &mut facts);
    scan.gather(graph, order, &mut facts);
    solve(graph, order, &mut facts);
    for &block in order {
        let Facts { numbers, live_in, live_out, .. } = &facts[block];
        each_bit(live_in, |bit| scan.extend(scan.crossing[bit], numbers.start));
        each_bit(live_out, |bit| scan.extend(scan.crossing[bit], numbers.end - 1));
    }
    let mut undefined = vec![false; registers];
    if let Some(&entry) = order.first() {
        each_bit(&facts[entry].live_in, |bit| undefined[scan.crossing[bit] as usize] = true);
    }
    let spans = scan.spans.iter().enumerate().filter_map(|(at, span)| span.map(|span| (at, span)));
    spans
        .map(|(at, (start, end))| Interval { register: RegisterId(at as u32), start, end, undefined: undefined[at] })
        .collect()
}

/// Calls `found` for each register that the instructions and the end of a block use, with the
/// number of the instruction.
fn uses(graph: &Graph<'_>, block: usize, first: u32, mut found: impl FnMut(u32, RegisterId, Use)) -> u32 {
    let mut number = first;
    for inst in graph.code(block) {
        operands::each(inst, |id, how| found(number, id, how));
        number += 1;
    }
    match &graph.blocks[block].end {
        End::Branch { when, .. } => found(number, when.register, Use::Read),
        End::Switch { index: Operand::Register(id), .. } => found(number, *id, Use::Read),
        _ => {}
    }
    number + 1
}

struct Scan {
    /// By register: the range of positions in which it was found.
    spans: Vec<Option<(u32, u32)>>,
    /// By register: its index among those that live across blocks.
    dense: Vec<u32>,
    /// The registers that live across blocks.
    crossing: Vec<u32>,
}

impl Scan {
    fn extend(&mut self, register: u32, number: u32) {
        if let Some(span) = self.spans.get_mut(register as usize) {
            let (start, end) = span.get_or_insert((number, number));
            (*start, *end) = ((*start).min(number), (*end).max(number));
        }
    }

    /// Numbers all instructions, and finds the registers that a block reads before it writes them:
    /// only these live across blocks.
    fn occurrences(&mut self, graph: &Graph<'_>, order: &[usize], facts: &mut [Facts]) {
        let mut written_in = vec![usize::MAX; self.spans.len()];
        let mut number = 0;
        for &block in order {
            let first = number;
            number = uses(graph, block, first, |number, id, how| {
                self.extend(id.0, number);
                let at = id.0 as usize;
                match how {
                    Use::Write => written_in[at] = block,
                    Use::Read if written_in[at] != block && self.dense[at] == u32::MAX => {
                        self.dense[at] = self.crossing.len() as u32;
                        self.crossing.push(id.0);
                    }
                    Use::Read | Use::WriteSome => {}
                }
            });
            facts[block].numbers = first..number;
        }
    }

    fn gather(&self, graph: &Graph<'_>, order: &[usize], facts: &mut [Facts]) {
        let words = self.crossing.len().div_ceil(64);
        for &block in order {
            let (mut exposed, mut written) = (vec![0; words], vec![0; words]);
            uses(graph, block, 0, |_, id, how| {
                let dense = self.dense[id.0 as usize];
                if dense == u32::MAX {
                    return;
                }
                let (word, bit) = (dense as usize / 64, 1u64 << (dense % 64));
                match how {
                    Use::Read => exposed[word] |= bit & !written[word],
                    Use::Write => written[word] |= bit,
                    Use::WriteSome => {}
                }
            });
            let facts = &mut facts[block];
            (facts.live_in, facts.live_out) = (exposed.clone(), vec![0; words]);
            (facts.exposed, facts.written) = (exposed, written);
        }
    }
}

/// Propagates the reads backwards along the edges until nothing changes.
fn solve(graph: &Graph<'_>, order: &[usize], facts: &mut [Facts]) {
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev() {
            let mut out = std::mem::take(&mut facts[block].live_out);
            for next in graph.next(block) {
                out.iter_mut().zip(&facts[next].live_in).for_each(|(out, live)| *out |= live);
            }
            let Facts { exposed, written, live_in, live_out, .. } = &mut facts[block];
            for (word, live) in live_in.iter_mut().enumerate() {
                let now = exposed[word] | out[word] & !written[word];
                changed |= now != *live;
                *live = now;
            }
            *live_out = out;
        }
    }
}

fn each_bit(words: &[u64], mut found: impl FnMut(usize)) {
    for (at, &word) in words.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            found(64 * at + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}
