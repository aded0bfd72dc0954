//! Lowered code: a step for each instruction, with what the steps refer to.

use super::row::Row;
use super::source::Slow;
use super::wave::{Env, Wave};
use crate::isa::{Arch, DecodeError, Inst};

/// What becomes of the wave after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It goes on.
    Next,
    /// It waits for the other waves of its group.
    Barrier,
    /// It has ended.
    End,
    /// It went back in the code: where it may be waiting for another wave, those get a turn.
    Back,
    /// It lets other waves run.
    Yield,
    /// It cannot go on; the program's step says why.
    Fault,
}

/// The function of a step.
///
/// # Safety
/// The step was lowered for the wave's width and the features of this processor, and its program is
/// the environment's.
pub type Exec = unsafe fn(&mut Wave, &Step, &mut Env<'_>) -> Flow;

/// Where a word of every lane comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A row of the wave.
    Row(u16),
    /// A row of the program's constants.
    Constant(u16),
    /// A scalar register, the same for every lane.
    Scalar(u8),
    /// A bit a lane of a scalar register or pair.
    Mask(u8),
    /// A special scalar, or a row that is changed on its way.
    Slow(u16),
}

/// Where a scalar operand comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// A register or pair.
    Register(u8),
    /// One of the program's words.
    Word(u16),
    /// A special value.
    Special(Special),
}

/// Values that are not registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Special {
    /// The aperture of group memory: its address, whose low half is 0.
    SharedBase,
    /// Its last byte.
    SharedLimit,
    /// The aperture of private memory.
    PrivateBase,
    /// Its last byte.
    PrivateLimit,
    /// Is VCC zero?
    Vccz,
    /// Is EXEC zero?
    Execz,
    /// The scalar condition.
    Scc,
}

/// A lowered instruction.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// What it does.
    pub exec: Exec,
    /// Bytes from the start of the code.
    pub offset: u32,
    /// Its instruction among the program's.
    pub inst: u32,
    /// The rows of vector operands, in order.
    pub rows: [Source; super::value::MAX_ROWS],
    /// Scalar operands, in order.
    pub scalars: [Scalar; 3],
    /// The first row of the vector result.
    pub dst: u16,
    /// The scalar destination.
    pub sdst: u8,
    /// Flags also go to EXEC (`v_cmpx` on GFX9).
    pub sets_exec: bool,
    /// How the result is changed on its way: an index into the program's, 0 for not at all.
    pub finish: u16,
    /// Where a branch goes, or another number of the step's own.
    pub target: u32,
}

/// How a vector result is changed before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish {
    /// Its type.
    pub kind: super::value::Kind,
    /// Times 2, 4, or a half.
    pub omod: u8,
    /// Floats go to 0..1.
    pub clamp: bool,
    /// The part of the register that is written, and what becomes of the rest.
    pub part: Option<(crate::isa::Select, crate::isa::Unused)>,
    /// Lanes that DPP's masks let through; a permutation may forbid more.
    pub dpp: Option<crate::isa::Dpp>,
}

/// The steps of a code object's text.
#[derive(Debug)]
pub struct Program {
    /// The target.
    pub arch: Arch,
    /// Where the code is in device memory.
    pub base: u64,
    /// The steps, in the order of the code.
    pub steps: Vec<Step>,
    /// The instructions, decoded.
    pub insts: Vec<Inst>,
    /// Constant rows.
    pub constants: Vec<Row>,
    /// Scalar constants.
    pub words: Vec<u64>,
    /// Sources that are changed on their way.
    pub slow: Vec<Slow>,
    /// Changes of results. The first is a filler.
    pub finishes: Vec<Finish>,
    /// Pairs of steps that are executed as one.
    pub pairs: Vec<[Step; 2]>,
    /// The step at each dword of the code; `u32::MAX` inside an instruction.
    pub at: Vec<u32>,
    /// Why a step cannot be executed, for those that cannot.
    pub faults: std::collections::HashMap<u32, Unsupported>,
}

/// An instruction that is not executed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsupported {
    /// Its bytes are no instruction.
    Decode(DecodeError),
    /// No table has the name.
    Name(String),
    /// It has a modifier that its engine does not take.
    Modifier(String, &'static str),
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Decode(e) => write!(f, "no instruction: {e}"),
            Self::Name(name) => write!(f, "the instruction {name} is not simulated"),
            Self::Modifier(name, modifier) => write!(f, "the instruction {name} with {modifier} is not simulated"),
        }
    }
}

impl std::error::Error for Unsupported {}

impl Program {
    /// The step at an address in device memory.
    pub fn step_at(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(self.base)?;
        if offset % 4 != 0 {
            return None;
        }
        self.at.get(usize::try_from(offset / 4).ok()?).copied().filter(|&at| at != u32::MAX).map(|at| at as usize)
    }

    /// The address of a step's instruction.
    pub fn address_of(&self, step: &Step) -> u64 {
        self.base + u64::from(step.offset)
    }

    /// The instruction of a step.
    #[inline(always)]
    pub fn inst(&self, step: &Step) -> &Inst {
        &self.insts[step.inst as usize]
    }
}
