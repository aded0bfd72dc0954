//! The calls of a program: what they reach, and where their values are.

use super::program::Place;
use super::stack::RETURN_ADDRESS;
use crate::ptx::ast::{Function, Signature};
use std::sync::Arc;

/// The calls of a program, and what they reach.
#[derive(Debug, Default)]
pub struct Calls {
    /// The calls, by [`Step::extra`].
    pub sites: Vec<Site>,
    /// The functions with frames.
    pub callees: Vec<Callee>,
    /// The row with the start of each lane's frame.
    pub frame: Place,
    /// Whether there is a stack: for calls, or for allocations.
    pub stack: bool,
    /// The bytes that a chain of calls can need in which each function is at most once. Drivers
    /// give every thread that much, whatever the limit is.
    pub least: u32,
    /// What the addresses of the module's functions stand for.
    pub known: Arc<[Known]>,
}

/// A call.
#[derive(Debug)]
pub struct Site {
    /// The functions that it may reach.
    pub reach: Reach,
    /// The arguments, from the caller's variables to the new frame.
    pub arguments: Vec<Move>,
    /// The results, from the frame that was left to the caller's variables.
    pub results: Vec<Move>,
    /// The registers of the caller that the function may overwrite.
    pub kept: Vec<Slot>,
    /// The values that it passes.
    pub signature: Signature,
}

/// The functions that a call may reach, by their numbers.
#[derive(Debug, Clone)]
pub enum Reach {
    /// Only this one.
    Function(u32),
    /// Those whose address is the first source.
    Pointer(Vec<u32>),
}

/// Bytes that a call copies between a variable of the caller and the frame of the function.
#[derive(Debug, Clone, Copy)]
pub struct Move {
    /// The caller's variable, in the thread's local memory.
    pub here: u32,
    /// Whether `here` is relative to the caller's frame.
    pub framed: bool,
    /// The offset in the other frame.
    pub there: u32,
    /// The number of bytes.
    pub bytes: u32,
}

/// The place of a register.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// Its first row, or its predicate.
    pub place: Place,
    /// Its bits: 16 to 128, or 0 for a predicate.
    pub bits: u32,
}

/// A function with a frame.
#[derive(Debug)]
pub struct Callee {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Its first step.
    pub entry: u32,
    /// The step that returns; none if the function never does.
    pub end: Option<u32>,
    /// The bytes of its frame.
    pub frame: u32,
    /// The bytes of its frame that count for the limit: local variables, and values that cards do
    /// not pass in registers.
    pub counted: u32,
    /// The registers that some path reads before it writes them: they start with
    /// the contents of undefined registers.
    pub undefined: Vec<Slot>,
    /// Where the results are in the frame.
    pub results: std::ops::Range<u32>,
}

/// What the address of a function stands for.
#[derive(Debug)]
pub struct Known {
    /// The address.
    pub address: u64,
    /// The name of the function.
    pub name: String,
    /// What it is.
    pub what: What,
}

/// What a function is to a call through a pointer.
#[derive(Debug, PartialEq, Eq)]
pub enum What {
    /// A function that takes and returns these values.
    Function(Signature),
    /// A kernel, which cannot be called.
    Kernel,
    /// A pure virtual function.
    Pure,
}

/// Where the values of a call are in a frame. Only their sizes matter, so that a caller knows the
/// places without knowing the function.
#[derive(Debug)]
pub struct Slots {
    /// The offsets of the parameters.
    pub parameters: Vec<u32>,
    /// The offsets of the results.
    pub returns: Vec<u32>,
    /// The end of both.
    pub end: u32,
}

/// The largest size of a value that cards pass in registers.
const IN_REGISTERS: u64 = 8;
/// The bytes of values after which a frame is too large for any stack.
pub const MOST_VALUES: u64 = 1 << 20;

impl Slots {
    /// Lays out the values of a call.
    pub fn new(signature: &Signature) -> Self {
        let mut end = 0;
        let mut place = |bytes: &u64| {
            let at = u64::from(end).next_multiple_of(bytes.next_power_of_two().min(16));
            end = at.saturating_add(*bytes).min(MOST_VALUES) as u32;
            at as u32
        };
        let parameters = signature.parameters.iter().map(&mut place).collect();
        let returns = signature.returns.iter().map(&mut place).collect();
        Self { parameters, returns, end }
    }
}

impl Callee {
    /// Describes a function whose steps are not known yet, by the bytes of its frame and of the
    /// local variables in it.
    pub fn new(function: &Function, address: Option<u64>, frame: u32, locals: u32, undefined: Vec<Slot>) -> Self {
        let signature = function.signature();
        let slots = Slots::new(&signature);
        let values = signature.parameters.iter().chain(&signature.returns);
        let in_memory: u64 = values.filter(|bytes| **bytes > IN_REGISTERS).sum();
        let counted = locals.saturating_add(in_memory as u32).next_multiple_of(8);
        let results = slots.returns.first().copied().unwrap_or(slots.end)..slots.end;
        let (name, address) = (function.name.clone(), address.unwrap_or_default());
        Self { name, address, entry: 0, end: None, frame, counted, undefined, results }
    }
}

impl Calls {
    /// Completes the description of all calls and functions.
    pub fn finish(&mut self, known: Arc<[Known]>) {
        let words = |site: &Site| 4 * site.kept.iter().map(Slot::words).sum::<u32>();
        let kept = self.sites.iter().map(words).max().unwrap_or(0);
        let each = self.callees.iter().map(|callee| callee.counted.saturating_add(kept + RETURN_ADDRESS));
        (self.least, self.known) = (each.fold(0, u32::saturating_add), known);
    }
}

impl Slot {
    /// Returns the number of words in which a stack keeps the register.
    pub fn words(&self) -> u32 {
        self.bits.div_ceil(32).max(1)
    }
}
