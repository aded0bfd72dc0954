//! Lowered code: steps, with what they refer to.

use super::memory::Form;
use super::row::Row;
use super::warp::{Env, Warp};
use isobit_simgpu_core::check::Granules;

/// What becomes of the running lanes after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// They go on with the step at [`Warp::pc`].
    Next,
    /// As [`Next`](Self::Next), after going back in the code: where they may be waiting for another
    /// thread, others get a turn.
    Back,
    /// As [`Back`](Self::Back), where they surely wait (`nanosleep`): others get a turn now.
    Yield,
    /// They wait at a barrier of the block, which [`Warp::barrier`] describes.
    Barrier,
    /// The step is to be executed again once the other members of its mask have come to it too.
    Converge,
    /// They have ended.
    Exit,
    /// The warp cannot go on; [`Env::fault`] says why.
    Fault,
}

/// The function of a step. [`Warp::pc`] is the step after it already, and a step reads all its
/// sources before it writes.
///
/// # Safety
/// The step was lowered for the features of this processor, its program is the environment's, and
/// the warp has the program's registers.
pub type Exec = unsafe fn(&mut Warp, &Step, &mut Env<'_>) -> Flow;

/// Where an operand is: a row of the warp's registers, a row of the program's constants, or a
/// predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place(pub u32);

impl Place {
    /// No operand.
    pub const NONE: Self = Self(u32::MAX);
    /// Set for constants.
    const CONSTANT: u32 = 1 << 31;
    /// Set for predicates that are read negated.
    const NEGATED: u32 = 1 << 30;

    /// A row of the program's constants.
    pub const fn constant(index: u32) -> Self {
        Self(index | Self::CONSTANT)
    }

    /// The predicate, read negated.
    #[must_use]
    pub const fn negated(self) -> Self {
        Self(self.0 ^ Self::NEGATED)
    }

    /// True for a constant.
    #[inline(always)]
    pub const fn is_constant(self) -> bool {
        self.0 & Self::CONSTANT != 0
    }

    /// True for a predicate that is read negated.
    #[inline(always)]
    pub const fn is_negated(self) -> bool {
        self.0 & Self::NEGATED != 0
    }

    /// The number of the row or predicate.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0 & !(Self::CONSTANT | Self::NEGATED)) as usize
    }
}

/// One step.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// What it does.
    pub exec: Exec,
    /// The destination: a row or a predicate.
    pub dst: Place,
    /// A second destination: the predicate `q` of `p|q`, or the one beside a value.
    pub also: Place,
    /// The sources.
    pub src: [Place; 4],
    /// The predicate that it is executed under, or [`Place::NONE`].
    pub guard: Place,
    /// An index or a number, as `exec` takes it.
    pub extra: u32,
}

/// Where a step comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Origin {
    /// The line in the PTX, from 1.
    pub line: u32,
    /// File number and line of the source, where `.loc` gives them.
    pub location: Option<(u32, u32)>,
}

/// A basic block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Its first step.
    pub first: u32,
    /// The blocks that may come after it.
    pub next: Vec<u32>,
}

/// The code of one kernel.
#[derive(Debug, Default)]
pub struct Program {
    /// The steps; execution starts with the first, and the last one does not fall through.
    pub steps: Vec<Step>,
    /// Where each step comes from.
    pub origins: Vec<Origin>,
    /// Constants, a row or two each.
    pub constants: Vec<Row>,
    /// Rows of registers that a warp needs.
    pub rows: usize,
    /// Rows that some path reads before it writes them: a warp starts with zeros there, and with
    /// whatever was there in the others.
    pub zeroed: Vec<u32>,
    /// Predicates that a warp needs.
    pub predicates: usize,
    /// The basic blocks, in the order of their steps.
    pub blocks: Vec<Block>,
    /// What steps that reach memory do there, by [`Step::extra`].
    pub forms: Vec<Form>,
    /// Lists of steps that `brx.idx` jumps to, by [`Step::extra`].
    pub targets: Vec<Vec<u32>>,
    /// Lists of places, for steps that have more operands than fit (`mma`), by [`Step::extra`].
    pub lists: Vec<Vec<Place>>,
    /// Its smallest accesses to memory.
    pub granules: Granules,
    /// It has atomics.
    pub atomics: bool,
    /// The text of the PTX line of each step, for findings, and the source files that origins name.
    pub text: Text,
}

impl Program {
    /// The basic block of a step.
    fn block_of(&self, step: usize) -> usize {
        self.blocks.partition_point(|block| block.first as usize <= step).saturating_sub(1)
    }

    /// True where threads that have passed step `from` may come to step `to`.
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        let (start, goal) = (self.block_of(from), self.block_of(to));
        if start == goal && from < to {
            return true;
        }
        let mut seen = vec![false; self.blocks.len()];
        let mut left = vec![start];
        while let Some(block) = left.pop() {
            for &next in self.blocks.get(block).map_or(&[][..], |block| &block.next) {
                if next as usize == goal {
                    return true;
                }
                if !std::mem::replace(&mut seen[next as usize], true) {
                    left.push(next as usize);
                }
            }
        }
        false
    }
}

/// The PTX text, to quote from.
#[derive(Debug, Default, Clone)]
pub struct Text {
    /// The whole text.
    pub ptx: std::sync::Arc<str>,
    /// Where each line starts, by its number less one.
    pub lines: std::sync::Arc<[u32]>,
    /// `.file`: number and path.
    pub files: std::sync::Arc<[(u32, String)]>,
}
