//! Lowering: translates decoded instructions to steps.

use super::marks::{Mark, marks};
use super::program::{Exec, Finish, Flow, Program, Scalar, Source, Special, Step, Unsupported};
use super::row::Row;
use super::source::{Base, Slow};
use super::value::{Kind, MAX_ROWS};
use super::wave::{Env, Wave};
use crate::isa::{Arch, DecodeError, Inst, Operand, decode, sreg};
use isobit_simgpu_core::vector::has_vector_unit;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Creates the step of an instruction.
pub type Lowering = fn(&mut Lower, &Inst) -> Result<Step, Unsupported>;

/// The offset of approximate instructions (reciprocal, root, exponential, logarithm, sine) from
/// their best result, in ULP: -1, 0 or 1, all within their documented error.
pub type Approximation = i8;

/// The state of a lowering.
#[derive(Debug)]
pub struct Lower {
    /// The target.
    pub arch: Arch,
    /// The shift of approximations.
    pub approximation: Approximation,
    /// Whether AVX2 and FMA may be used.
    pub vector_unit: bool,
    /// The length of the instruction and its place, for branches.
    pub offset: u32,
    /// What the instruction is for the race checks.
    pub mark: Mark,
    constants: Vec<Row>,
    constant_at: HashMap<u32, u16>,
    words: Vec<u64>,
    word_at: HashMap<u64, u16>,
    slow: Vec<Slow>,
    slow_at: HashMap<Slow, u16>,
    finishes: Vec<Finish>,
    pairs: Vec<[Step; 2]>,
}

/// Returns all supported instructions, by canonical name.
fn table() -> &'static HashMap<&'static str, Lowering> {
    static TABLE: OnceLock<HashMap<&'static str, Lowering>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut all = HashMap::new();
        for &(name, lowering) in super::TABLES.iter().copied().flatten().copied().flatten() {
            let before = all.insert(name, lowering);
            debug_assert!(before.is_none(), "{name} is in two tables");
        }
        all
    })
}

/// Returns the canonical names of all supported instructions.
pub fn names() -> impl Iterator<Item = &'static str> {
    table().keys().copied()
}

/// Lowers the text of a code object. An instruction that cannot be executed becomes a step that
/// faults when it is reached.
pub fn program(arch: Arch, approximation: Approximation, text: &[u8], base: u64) -> Program {
    let mut rest = text;
    let code = std::iter::from_fn(|| {
        if rest.len() < 4 {
            return None;
        }
        let decoded = decode(arch, rest);
        let size = decoded.as_ref().map_or(4, |inst| usize::from(inst.size));
        rest = rest.get(size..).unwrap_or_default();
        Some(decoded)
    });
    Lower::new(arch, approximation, has_vector_unit()).program(code, base)
}

fn fault(_: &mut Wave, _: &Step, _: &mut Env<'_>) -> Flow {
    Flow::Fault
}

impl Lower {
    /// Starts a program. `vector_unit` may only be true if [`has_vector_unit`] is.
    pub fn new(arch: Arch, approximation: Approximation, vector_unit: bool) -> Self {
        Self {
            arch,
            approximation,
            vector_unit,
            offset: 0,
            mark: Mark::Plain,
            constants: Vec::new(),
            constant_at: HashMap::new(),
            words: Vec::new(),
            word_at: HashMap::new(),
            slow: Vec::new(),
            slow_at: HashMap::new(),
            finishes: vec![Finish { kind: Kind::Int32, omod: 0, clamp: false, part: None, dpp: None }],
            pairs: Vec::new(),
        }
    }

    /// Lowers consecutive instructions.
    pub fn program(mut self, code: impl Iterator<Item = Result<Inst, DecodeError>>, base: u64) -> Program {
        let (mut steps, mut insts, mut faults, mut at) = (Vec::new(), Vec::new(), HashMap::new(), Vec::new());
        let code: Vec<_> = code.collect();
        let marks = marks(self.arch, &code);
        for (decoded, mark) in code.into_iter().zip(&marks) {
            self.mark = *mark;
            self.offset = 4 * at.len() as u32;
            let (size, lowered) = match decoded {
                Err(e) => (4, Err(Unsupported::Decode(e))),
                Ok(inst) => {
                    let size = usize::from(inst.size);
                    let lowered = self.one(&inst);
                    insts.push(inst);
                    (size, lowered)
                }
            };
            let mut step = lowered.unwrap_or_else(|why| {
                faults.insert(steps.len() as u32, why);
                self.step(fault)
            });
            step.inst = (insts.len() as u32).saturating_sub(1);
            at.push(steps.len() as u32);
            at.resize(at.len() + size / 4 - 1, u32::MAX);
            steps.push(step);
        }
        faults.insert(steps.len() as u32, Unsupported::Name("after the end of the code".into()));
        self.offset = 4 * at.len() as u32;
        steps.push(self.step(fault));
        let mut program = Program {
            arch: self.arch,
            base,
            steps,
            insts,
            constants: self.constants,
            words: self.words,
            slow: self.slow,
            finishes: self.finishes,
            pairs: self.pairs,
            marks,
            at,
            faults,
        };
        super::control::resolve(&mut program);
        program
    }

    /// Lowers one instruction.
    ///
    /// # Errors
    /// A name or a modifier that is not simulated.
    pub fn one(&mut self, inst: &Inst) -> Result<Step, Unsupported> {
        match &inst.second {
            Some(other) => self.dual(inst, other),
            None => self.half(inst),
        }
    }

    /// Lowers an instruction, or one half of a pair.
    ///
    /// # Errors
    /// An instruction or a modifier that is not simulated.
    pub fn half(&mut self, inst: &Inst) -> Result<Step, Unsupported> {
        let lowering = table().get(inst.name).ok_or_else(|| match super::matrix::refused(inst.name) {
            Some(why) => Unsupported::Refused(inst.mnemonic.into(), why),
            None => Unsupported::Name(inst.mnemonic.into()),
        })?;
        lowering(self, inst)
    }

    /// Returns the version of a function for this processor.
    pub fn choose(&self, fast: Exec, base: Exec) -> Exec {
        if self.vector_unit { fast } else { base }
    }

    /// Returns a step without operands.
    pub fn step(&self, exec: Exec) -> Step {
        Step {
            exec,
            offset: self.offset,
            inst: 0,
            rows: [Source::Row(0); MAX_ROWS],
            scalars: [Scalar::Word(0); 3],
            dst: 0,
            sdst: sreg::NULL,
            sets_exec: false,
            finish: 0,
            target: 0,
        }
    }

    /// Returns a constant row with one word in every lane.
    pub fn constant(&mut self, word: u32) -> Source {
        Source::Constant(*self.constant_at.entry(word).or_insert_with(|| {
            self.constants.push(Row::splat(word));
            (self.constants.len() - 1) as u16
        }))
    }

    /// Returns a scalar constant.
    pub fn word(&mut self, value: u64) -> Scalar {
        Scalar::Word(*self.word_at.entry(value).or_insert_with(|| {
            self.words.push(value);
            (self.words.len() - 1) as u16
        }))
    }

    /// Returns a source that is modified when it is fetched.
    pub fn slow(&mut self, slow: Slow) -> Source {
        Source::Slow(*self.slow_at.entry(slow).or_insert_with(|| {
            self.slow.push(slow);
            (self.slow.len() - 1) as u16
        }))
    }

    /// Adds two steps that are executed as one.
    pub fn pair(&mut self, pair: [Step; 2]) -> u32 {
        self.pairs.push(pair);
        (self.pairs.len() - 1) as u32
    }

    /// Adds a modification of the result.
    pub fn finish(&mut self, finish: Finish) -> u16 {
        if finish == (Finish { kind: finish.kind, ..self.finishes[0] }) {
            return 0;
        }
        let found = self.finishes.iter().skip(1).position(|f| *f == finish);
        found.map_or_else(
            || {
                self.finishes.push(finish);
                (self.finishes.len() - 1) as u16
            },
            |at| (at + 1) as u16,
        )
    }

    /// Returns a scalar operand of a kind.
    ///
    /// # Errors
    /// A vector register.
    pub fn scalar(&mut self, inst: &Inst, operand: Operand, kind: Kind) -> Result<Scalar, Unsupported> {
        Ok(match operand {
            Operand::Sgpr(at) => Scalar::Register(at),
            Operand::Inline(code) => self.word(kind.inline_constant(code)),
            Operand::Literal(word) => self.word(kind.literal(word)),
            Operand::None | Operand::Vgpr(_) => return Err(modifier(inst, "an operand that is not a scalar")),
            other => Scalar::Special(special(other)),
        })
    }

    /// Returns the first row of a vector register.
    pub fn row(&self, register: u16) -> u16 {
        register & 511
    }

    /// Returns the row of a vector operand that is written or read without modification.
    ///
    /// # Errors
    /// An operand other than a vector register.
    pub fn vgpr(&self, inst: &Inst, operand: Operand) -> Result<u16, Unsupported> {
        match operand {
            Operand::Vgpr(register) => Ok(self.row(register)),
            _ => Err(modifier(inst, "an operand that is not a vector register")),
        }
    }

    /// Returns the rows of a vector operand, without modifiers.
    ///
    /// # Errors
    /// An operand that a vector instruction cannot read.
    pub fn rows(&mut self, inst: &Inst, operand: Operand, kind: Kind) -> Result<[Source; 2], Unsupported> {
        if kind == Kind::Mask {
            return match operand {
                Operand::Sgpr(at) => Ok([Source::Mask(at); 2]),
                Operand::Inline(_) | Operand::Literal(_) => Err(modifier(inst, "a constant as a mask")),
                _ => Err(modifier(inst, "an operand that is not a mask")),
            };
        }
        Ok(match operand {
            Operand::Vgpr(register) => {
                let row = self.row(register);
                [Source::Row(row), Source::Row((row + 1) & 511)]
            }
            // NULL reads as zero, also as a pair.
            Operand::Sgpr(sreg::NULL) => [Source::Scalar(sreg::NULL); 2],
            Operand::Sgpr(at) => [Source::Scalar(at), Source::Scalar(at.wrapping_add(1))],
            Operand::Inline(code) => self.constant_rows(kind, kind.inline_constant(code)),
            Operand::Literal(word) => self.constant_rows(kind, kind.literal(word)),
            Operand::None => return Err(modifier(inst, "a missing operand")),
            other => [false, true].map(|high| {
                self.slow(Slow {
                    from: Base::Special(special(other), high),
                    ..Slow::plain(Source::Row(0), Kind::Int32)
                })
            }),
        })
    }

    fn constant_rows(&mut self, kind: Kind, bits: u64) -> [Source; 2] {
        // A constant for a pair of binary32 is in the low one; the high operation reads it only if
        // op_sel_hi selects it.
        let high = if kind == Kind::PackedF32 { 0 } else { (bits >> 32) as u32 };
        [self.constant(bits as u32), self.constant(high)]
    }

    /// Lowers a lane-by-lane instruction.
    ///
    /// # Errors
    /// A modifier that the kinds do not support.
    pub fn vector(
        &mut self,
        inst: &Inst,
        exec: Exec,
        kinds: &[Kind],
        result: Option<Kind>,
        flag: bool,
    ) -> Result<Step, Unsupported> {
        let mut step = self.step(exec);
        let mut used = 0;
        for (at, &kind) in kinds.iter().enumerate() {
            let operand = match inst.src.get(at) {
                Some(&operand) if at < usize::from(inst.src_count) => operand,
                _ if kind == Kind::Mask => Operand::Sgpr(sreg::VCC_LO),
                _ => return Err(modifier(inst, "too few operands")),
            };
            let rows = self.rows(inst, operand, kind)?;
            let rows = self.modified(inst, at, kind, rows)?;
            let dwords = kind.dwords();
            step.rows[used..used + dwords].copy_from_slice(&rows[..dwords]);
            used += dwords;
        }
        if let Some(kind) = result {
            step.dst = self.vgpr(inst, inst.dst)?;
            step.finish = self.result(inst, kind)?;
        }
        if flag {
            let at = if result.is_some() { inst.sdst } else { inst.dst };
            let Operand::Sgpr(at) = at else { return Err(modifier(inst, "flags outside a scalar register")) };
            step.sdst = at;
            step.sets_exec = inst.name.starts_with("v_cmpx") && at != sreg::EXEC_LO;
            if result.is_none() {
                step.finish = self.finish(Finish { dpp: inst.dpp, ..self.finishes[0] });
            }
        }
        Ok(step)
    }
}

/// Returns the special value of a special operand.
fn special(operand: Operand) -> Special {
    match operand {
        Operand::SharedBase => Special::SharedBase,
        Operand::SharedLimit => Special::SharedLimit,
        Operand::PrivateBase => Special::PrivateBase,
        Operand::PrivateLimit => Special::PrivateLimit,
        Operand::Vccz => Special::Vccz,
        Operand::Execz => Special::Execz,
        _ => Special::Scc,
    }
}

/// Returns the error of a modifier that is not simulated.
pub fn modifier(inst: &Inst, what: &'static str) -> Unsupported {
    Unsupported::Modifier(inst.mnemonic.into(), what)
}
