//! Lowering: translates PTX to steps. Tables map opcodes to the functions that lower them; an
//! instruction that no table has, or that such a function does not accept, is an error that names
//! it.

mod allocate;
mod block_layout;
mod blocks;
mod calls;
mod compared;
mod function;
mod functions;
mod inline;
mod liveness;
mod modifiers;
mod operands;
mod tables;
#[doc(hidden)]
pub use tables::tables;

pub use calls::Calling;
pub use function::{Code, Lowered, Part, lower};
pub use functions::Functions;
pub use inline::{CALL, COLLECT, Framed, Inlined, RETURN, Site, Target, inline, reached};
pub use modifiers::Modifiers;

use crate::exec::program::{Exec, Origin, Place, Program, Step};
use crate::exec::row::{LANES, Row};
use crate::module::Approximation;
use crate::ptx::ast::{Instruction, Kind, Operand, Register, RegisterId, Type};
use isobit_simgpu_core::vector::has_vector_unit;
use std::collections::HashMap;

/// Lowers an instruction by pushing its steps.
pub type Lowering = fn(&mut Lower<'_>, &Instruction) -> Result<(), String>;

/// Opcodes and their lowerings.
pub type Table = &'static [(&'static str, Lowering)];

/// The location of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// `.global` and `.const`: an address in device memory.
    Memory(u64),
    /// `.shared`: an offset in the block's shared memory.
    Shared(u32),
    /// `.local`, and `.param` of calls: an offset in the thread's local memory.
    Local(u32),
    /// `.param` of the entry: an offset in the argument buffer.
    Argument(u32),
    /// The same as `Local` of a function with a frame: an offset in its frame.
    Frame(u32),
}

/// The state of a function that is being lowered.
pub struct Lower<'a> {
    /// The code lowered so far.
    pub program: Program,
    /// Whether steps may use AVX2 and the features that come with it.
    pub avx2: bool,
    /// The shift of approximate instructions.
    pub approximation: Approximation,
    /// The registers of the function, by number.
    pub registers: &'a [Register],
    /// The first row (or the predicate) of each register, by number.
    pub rows: &'a [u32],
    /// The locations of the variables, by name.
    pub locations: &'a HashMap<String, Location>,
    /// Whether a compare-and-swap compares the value of the current instruction, a load.
    pub compared: bool,
    /// What calls need.
    pub calling: Calling<'a>,
    constants: HashMap<(u64, u32), u32>,
    /// The guard and the origin of the current instruction.
    guard: Place,
    origin: Origin,
}

impl<'a> Lower<'a> {
    /// Creates an empty state.
    pub fn new(
        approximation: Approximation,
        registers: &'a [Register],
        rows: &'a [u32],
        locations: &'a HashMap<String, Location>,
    ) -> Self {
        Self {
            program: Program::default(),
            avx2: has_vector_unit(),
            approximation,
            registers,
            rows,
            locations,
            compared: false,
            calling: Calling::default(),
            constants: HashMap::new(),
            guard: Place::NONE,
            origin: Origin::default(),
        }
    }

    /// Returns one of two equivalent functions; the second does not need the features of newer
    /// processors.
    pub fn choose(&self, fast: Exec, base: Exec) -> Exec {
        if self.avx2 { fast } else { base }
    }

    /// Starts an instruction, whose steps get its guard and origin.
    ///
    /// # Errors
    /// Fails if its guard is not a predicate.
    pub fn begin(&mut self, inst: &Instruction) -> Result<(), String> {
        self.origin = Origin { line: inst.line, location: inst.location };
        self.guard = match inst.guard {
            Some(guard) if guard.negated => self.predicate(&Operand::Negated(guard.register))?,
            Some(guard) => self.predicate(&Operand::Register(guard.register))?,
            None => Place::NONE,
        };
        Ok(())
    }

    /// Returns a step of the instruction, without operands.
    pub fn step(&self, exec: Exec) -> Step {
        Step { exec, dst: Place::NONE, also: Place::NONE, src: [Place::NONE; 4], guard: self.guard, extra: 0 }
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        self.add(step, false);
    }

    /// Adds a step that accesses memory that threads share.
    pub fn push_access(&mut self, step: Step) {
        self.add(step, true);
    }

    fn add(&mut self, step: Step, accesses: bool) {
        self.program.steps.push(step);
        self.program.origins.push(self.origin);
        self.program.accesses.push(accesses);
    }

    /// Returns the declaration of a register.
    pub fn register(&self, id: RegisterId) -> &Register {
        &self.registers[id.0 as usize]
    }

    /// Returns the place of a register.
    pub fn place(&self, id: RegisterId) -> Place {
        Place(self.rows[id.0 as usize])
    }

    /// Returns the place of a constant: the low `bits` bits of `value` in every lane.
    pub fn constant(&mut self, value: u64, bits: u32) -> Place {
        let bits = bits.max(16);
        let value = if bits == 64 { value } else { value & ((1 << bits) - 1) };
        let constants = &mut self.program.constants;
        let index = *self.constants.entry((value, bits)).or_insert_with(|| {
            let index = constants.len() as u32;
            let words: Vec<u32> = match bits {
                16 => vec![value as u32 * 0x1_0001; LANES],
                32 => vec![value as u32; LANES],
                _ => [value as u32, (value >> 32) as u32].repeat(LANES),
            };
            constants.extend(words.chunks(LANES).map(|row| Row(row.try_into().expect("whole rows"))));
            index
        });
        Place::constant(index)
    }

    /// Returns a source of a type: a register of the same width, or a constant.
    ///
    /// # Errors
    /// Fails if it is neither.
    pub fn source(&mut self, operand: &Operand, ty: Type) -> Result<Place, String> {
        match *operand {
            Operand::Register(id) if self.width(id) == ty.bits.max(16) => Ok(self.place(id)),
            Operand::Register(id) => {
                let register = self.register(id);
                Err(format!("{} has {} bits, but {} are expected", register.name, register.ty.bits, ty.bits))
            }
            Operand::Integer(value) if matches!(ty.kind, Kind::Bits | Kind::Unsigned | Kind::Signed) => {
                Ok(self.constant(value, ty.bits))
            }
            Operand::Single(bits) if ty.bits == 32 => Ok(self.constant(bits.into(), 32)),
            Operand::Double(bits) if ty.bits == 64 => Ok(self.constant(bits, 64)),
            Operand::Double(bits) if ty == (Type { kind: Kind::Float, bits: 32 }) => {
                Ok(self.constant((f64::from_bits(bits) as f32).to_bits().into(), 32))
            }
            ref other => Err(format!("the operand {other:?} is not a source of {} bits", ty.bits)),
        }
    }

    /// Returns a destination of a type: a register of the same width.
    ///
    /// # Errors
    /// Fails if it is not.
    pub fn destination(&self, operand: &Operand, ty: Type) -> Result<Place, String> {
        match *operand {
            Operand::Register(id) if self.width(id) == ty.bits.max(16) => Ok(self.place(id)),
            ref other => Err(format!("the operand {other:?} is not a destination of {} bits", ty.bits)),
        }
    }

    /// Returns a predicate, as source or destination; a constant is valid only as a source.
    ///
    /// # Errors
    /// Fails if it is not a predicate.
    pub fn predicate(&self, operand: &Operand) -> Result<Place, String> {
        let (id, negated) = match *operand {
            Operand::Register(id) => (id, false),
            Operand::Negated(id) => (id, true),
            Operand::Integer(value) => return Ok(Place::constant(u32::from(value != 0))),
            ref other => return Err(format!("the operand {other:?} is not a predicate")),
        };
        let register = self.register(id);
        if register.ty.kind != Kind::Predicate {
            return Err(format!("{} is not a predicate", register.name));
        }
        Ok(if negated { self.place(id).negated() } else { self.place(id) })
    }

    /// Returns a predicate that is written.
    ///
    /// # Errors
    /// Fails if it is not a predicate, or is negated or constant.
    pub fn written_predicate(&self, operand: &Operand) -> Result<Place, String> {
        match operand {
            Operand::Register(_) => self.predicate(operand),
            other => Err(format!("the operand {other:?} is not a destination")),
        }
    }

    /// Returns the bits that a register takes in its rows: 8-bit registers take 16, predicates
    /// none.
    pub fn width(&self, id: RegisterId) -> u32 {
        match self.register(id).ty {
            Type { kind: Kind::Predicate, .. } => 0,
            ty => ty.bits.max(16),
        }
    }
}
