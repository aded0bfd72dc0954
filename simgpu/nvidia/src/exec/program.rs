//! Lowered code: steps and the data that they refer to.

use super::calls::Calls;
use super::memory::Form;
use super::row::Row;
use super::warp::{Env, Warp};
use isobit_simgpu_core::check::Granules;

/// What the running lanes do after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// They continue with the step at [`Warp::pc`].
    Next,
    /// Like [`Next`](Self::Next), after a backward jump: the lanes may be waiting for another
    /// thread, so others can get a turn.
    Back,
    /// Like [`Back`](Self::Back), but the lanes certainly wait (`nanosleep`): others get a turn
    /// now.
    Yield,
    /// They wait at a barrier of the block, which [`Warp::barrier`] describes.
    Barrier,
    /// The step must be executed again once the other members of its mask have come to it too.
    Converge,
    /// They have ended.
    Exit,
    /// The warp cannot continue; [`Env::fault`] holds the reason.
    Fault,
}

/// The function of a step. [`Warp::pc`] already points to the next step, and a step reads all its
/// sources before it writes.
///
/// # Safety
/// The step was lowered for the features of this processor, its program is the environment's, and
/// the warp has the program's registers.
pub type Exec = unsafe fn(&mut Warp, &Step, &mut Env<'_>) -> Flow;

/// The location of an operand: a row of the warp's registers, a row of the program's constants, or
/// a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place(pub u32);

impl Place {
    /// No operand.
    pub const NONE: Self = Self(u32::MAX);
    /// The flag bit of constants.
    const CONSTANT: u32 = 1 << 31;
    /// The flag bit of negated predicates.
    const NEGATED: u32 = 1 << 30;

    /// Returns the place of a row of the program's constants.
    pub const fn constant(index: u32) -> Self {
        Self(index | Self::CONSTANT)
    }

    /// Returns the negated predicate.
    #[must_use]
    pub const fn negated(self) -> Self {
        Self(self.0 ^ Self::NEGATED)
    }

    /// Whether the place is a constant.
    #[inline(always)]
    pub const fn is_constant(self) -> bool {
        self.0 & Self::CONSTANT != 0
    }

    /// Whether the place is a predicate that is read negated.
    #[inline(always)]
    pub const fn is_negated(self) -> bool {
        self.0 & Self::NEGATED != 0
    }

    /// Returns the number of the row or predicate.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0 & !(Self::CONSTANT | Self::NEGATED)) as usize
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::NONE
    }
}

/// One step.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// What it does.
    pub exec: Exec,
    /// The destination: a row or a predicate.
    pub dst: Place,
    /// A second destination: the predicate `q` of `p|q`, or the predicate beside a value.
    pub also: Place,
    /// The sources.
    pub src: [Place; 4],
    /// The guard predicate, or [`Place::NONE`].
    pub guard: Place,
    /// An index or a number; `exec` defines its meaning.
    pub extra: u32,
}

/// The origin of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Origin {
    /// The PTX line, from 1.
    pub line: u32,
    /// File number and line of the source, if `.loc` gives them.
    pub location: Option<(u32, u32)>,
}

/// A basic block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Its first step.
    pub first: u32,
    /// The blocks that may follow it.
    pub next: Vec<u32>,
}

/// The code of one kernel.
#[derive(Debug, Default)]
pub struct Program {
    /// The steps. Execution starts with the first; the last one does not fall through.
    pub steps: Vec<Step>,
    /// The origin of each step.
    pub origins: Vec<Origin>,
    /// Whether each step accesses memory that threads share.
    pub accesses: Vec<bool>,
    /// Constants, one or two rows each.
    pub constants: Vec<Row>,
    /// Register rows per warp.
    pub rows: usize,
    /// Rows that some path reads before it writes them. These rows start with the contents of
    /// undefined registers; the other rows keep their old contents.
    pub undefined: Vec<u32>,
    /// Predicates per warp.
    pub predicates: usize,
    /// The basic blocks, in the order of their steps. The last one of each body only ends the
    /// threads.
    pub blocks: Vec<Block>,
    /// The memory operations of the steps that access memory, by [`Step::extra`].
    pub forms: Vec<Form>,
    /// Target lists of `brx.idx`, by [`Step::extra`].
    pub targets: Vec<Vec<u32>>,
    /// Lists of places for steps with more operands than a step holds (`mma`), by [`Step::extra`].
    pub lists: Vec<Vec<Place>>,
    /// The smallest sizes of its memory accesses.
    pub granules: Granules,
    /// Whether it has atomics.
    pub atomics: bool,
    /// Whether it calls `printf`.
    pub prints: bool,
    /// Its calls, and the functions that they reach.
    pub calls: Calls,
    /// The PTX text of each step, for findings, and the source files that origins name.
    pub text: Text,
}

impl Program {
    /// Returns the basic block of a step.
    pub fn block_of(&self, step: usize) -> usize {
        self.blocks.partition_point(|block| block.first as usize <= step).saturating_sub(1)
    }
}

/// The PTX text, for quotations.
#[derive(Debug, Default, Clone)]
pub struct Text {
    /// The whole text.
    pub ptx: std::sync::Arc<str>,
    /// The start of each line, by line number minus one.
    pub lines: std::sync::Arc<[u32]>,
    /// `.file`: number and path.
    pub files: std::sync::Arc<[(u32, String)]>,
}
