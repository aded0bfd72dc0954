//! Lowered code: one step per instruction, and the data that the steps refer to.

use super::marks::Mark;
use super::row::Row;
use super::source::Slow;
use super::wave::{Env, Wave};
use crate::isa::{Arch, DecodeError, Inst};

/// How the wave continues after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// With the next step.
    Next,
    /// It waits for the other waves of its group.
    Barrier,
    /// It has ended.
    End,
    /// With a backward jump: it may be waiting for other waves, so those get a turn.
    Back,
    /// It yields to other waves.
    Yield,
    /// It cannot continue; the program's step has the reason.
    Fault,
}

/// The function of a step.
///
/// # Safety
/// The step was lowered for the wave's width and this processor's features, and the environment
/// contains its program.
pub type Exec = unsafe fn(&mut Wave, &Step, &mut Env<'_>) -> Flow;

/// The source of a word of every lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A row of the wave.
    Row(u16),
    /// A row of the program's constants.
    Constant(u16),
    /// A scalar register, the same for every lane.
    Scalar(u8),
    /// One bit per lane of a scalar register or pair.
    Mask(u8),
    /// A special scalar, or a row that is modified when it is fetched.
    Slow(u16),
}

/// The source of a scalar operand.
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
    /// The aperture of group memory: its address, with a low half of 0.
    SharedBase,
    /// The last byte of the aperture of group memory.
    SharedLimit,
    /// The aperture of private memory.
    PrivateBase,
    /// The last byte of the aperture of private memory.
    PrivateLimit,
    /// Whether VCC is zero.
    Vccz,
    /// Whether EXEC is zero.
    Execz,
    /// The scalar condition.
    Scc,
}

/// A lowered instruction.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The function that executes it.
    pub exec: Exec,
    /// The offset from the start of the code, in bytes.
    pub offset: u32,
    /// The index of its instruction in the program.
    pub inst: u32,
    /// The rows of vector operands, in order.
    pub rows: [Source; super::value::MAX_ROWS],
    /// Scalar operands, in order.
    pub scalars: [Scalar; 3],
    /// The first row of the vector result.
    pub dst: u16,
    /// The scalar destination.
    pub sdst: u8,
    /// Whether flags are also written to EXEC (`v_cmpx` on GFX9).
    pub sets_exec: bool,
    /// The modification of the result: an index into the program's `finishes`, 0 for none.
    pub finish: u16,
    /// The target of a branch, or another number that the step needs.
    pub target: u32,
}

/// The modification of a vector result before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish {
    /// Its type.
    pub kind: super::value::Kind,
    /// The output modifier: times 2, times 4, or divided by 2.
    pub omod: u8,
    /// Whether floats are clamped to 0..1.
    pub clamp: bool,
    /// The part of the register that is written, and what happens to the rest.
    pub part: Option<(crate::isa::Select, crate::isa::Unused)>,
    /// The DPP masks that restrict the written lanes; a permutation may exclude more.
    pub dpp: Option<crate::isa::Dpp>,
}

/// The steps of a code object's text.
#[derive(Debug)]
pub struct Program {
    /// The target.
    pub arch: Arch,
    /// The address of the code in device memory.
    pub base: u64,
    /// The steps, in the order of the code.
    pub steps: Vec<Step>,
    /// The instructions, decoded.
    pub insts: Vec<Inst>,
    /// Constant rows.
    pub constants: Vec<Row>,
    /// Scalar constants.
    pub words: Vec<u64>,
    /// Sources that are modified when they are fetched.
    pub slow: Vec<Slow>,
    /// Modifications of results. The first is a placeholder.
    pub finishes: Vec<Finish>,
    /// Pairs of steps that are executed as one.
    pub pairs: Vec<[Step; 2]>,
    /// What the loads and stores among the steps are for the race checks.
    pub marks: Vec<Mark>,
    /// The step at each dword of the code; `u32::MAX` inside an instruction.
    pub at: Vec<u32>,
    /// The reasons why steps cannot be executed, by step.
    pub faults: std::collections::HashMap<u32, Unsupported>,
}

/// Why an instruction cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsupported {
    /// Its bytes are not an instruction.
    Decode(DecodeError),
    /// Its name is in no table.
    Name(String),
    /// It is not simulated for this reason.
    Refused(String, &'static str),
    /// It has a modifier that its engine does not support.
    Modifier(String, &'static str),
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Decode(e) => write!(f, "invalid instruction: {e}"),
            Self::Name(name) => write!(f, "the instruction {name} is not simulated"),
            Self::Refused(name, why) => write!(f, "the instruction {name} is not simulated: {why}"),
            Self::Modifier(name, modifier) => write!(f, "the instruction {name} with {modifier} is not simulated"),
        }
    }
}

impl std::error::Error for Unsupported {}

impl Program {
    /// Returns the step at an address in device memory.
    pub fn step_at(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(self.base)?;
        if offset % 4 != 0 {
            return None;
        }
        self.at.get(usize::try_from(offset / 4).ok()?).copied().filter(|&at| at != u32::MAX).map(|at| at as usize)
    }

    /// Returns the address of a step's instruction.
    pub fn address_of(&self, step: &Step) -> u64 {
        self.base + u64::from(step.offset)
    }

    /// Returns the instruction of a step.
    #[inline(always)]
    pub fn inst(&self, step: &Step) -> &Inst {
        &self.insts[step.inst as usize]
    }
}
