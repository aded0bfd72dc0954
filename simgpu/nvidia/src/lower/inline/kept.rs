//! Calls that are not inlined: of functions that may call themselves, and through pointers.
//!
//! The body of such a function is its own piece of code, with a frame in the thread's local memory:
//! first its parameters, then its results, then its variables. The call copies the arguments to the
//! new frame, and what follows it ([`COLLECT`]) copies the results back. The caller's variables of
//! a call are always `.param` variables: this module adds them for arguments in other forms.

use super::transfer::{copy, type_name};
use super::{Inliner, call_variable};
use crate::lower::Functions;
use crate::module::LoadError;
use crate::ptx::ast::{
    Body, Function, Instruction, Kind, Operand, Parameter, Prototype, RegisterId, Signature, Space, Statement, Type,
    Variable,
};
use std::collections::{HashMap, HashSet};

/// The opcode of a call; PTX text cannot contain it. Its operands are the number of its [`Site`],
/// and the register of a pointer.
pub const CALL: &str = "(call)";
/// The opcode that copies the results of a call. It follows its [`CALL`] and has no operands.
pub const COLLECT: &str = "(collect)";
/// The opcode that ends a function.
pub const RETURN: &str = "(return)";

/// A call.
#[derive(Debug)]
pub struct Site {
    /// What it calls.
    pub target: Target,
    /// The values that it passes.
    pub signature: Signature,
    /// The caller's variables with the arguments.
    pub arguments: Vec<String>,
    /// The caller's variables for the results.
    pub results: Vec<String>,
}

/// What a call reaches.
#[derive(Debug)]
pub enum Target {
    /// This function.
    Function(String),
    /// Any function that fits, or one of these.
    Pointer(Option<Vec<String>>),
}

/// A function with a frame of its own.
#[derive(Debug)]
pub struct Framed<'a> {
    /// The function.
    pub function: &'a Function,
    /// Its body, which ends with [`RETURN`].
    pub body: Body,
    /// The calls that it makes.
    pub sites: Vec<Site>,
    /// Its variables for the parameters and the results.
    pub parameters: Vec<String>,
    /// See `parameters`.
    pub returns: Vec<String>,
}

/// Returns the functions that calls may reach, directly or through others.
///
/// # Errors
/// Fails if the body of such a function cannot be prepared.
pub fn reached<'a>(functions: &Functions<'a>, sites: &[Site]) -> Result<Vec<Framed<'a>>, LoadError> {
    let mut seen = HashSet::new();
    let mut left = targets(functions, sites);
    let mut found = Vec::new();
    while let Some(function) = left.pop() {
        if seen.insert(function.name.as_str()) {
            let framed = framed(functions, function)?;
            left.extend(targets(functions, &framed.sites));
            found.push(framed);
        }
    }
    Ok(found)
}

fn targets<'a>(functions: &Functions<'a>, sites: &[Site]) -> Vec<&'a Function> {
    let mut all = Vec::new();
    for site in sites {
        match &site.target {
            Target::Function(name) => all.extend(functions.get(name)),
            Target::Pointer(targets) => all.extend(functions.candidates(&site.signature, targets.as_deref())),
        }
    }
    all
}

/// Prepares the body of a function with a frame.
fn framed<'a>(functions: &Functions<'a>, function: &'a Function) -> Result<Framed<'a>, LoadError> {
    let mut inliner = Inliner::new(functions, function);
    inliner.check_countable(&function.name, &function.signature(), function.line)?;
    let at = Instruction {
        guard: None,
        opcode: String::new(),
        modifiers: Vec::new(),
        operands: Vec::new(),
        line: function.line,
        location: None,
    };
    // A predicate goes through a word in memory. The registers of the function follow these.
    let word = inliner.register(32);
    let first = inliner.out.registers.len() as u32;
    let mut symbols = HashMap::new();
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let mut formals =
        |inliner: &mut Inliner<'a, '_>, all: &[Parameter], copies: &mut Vec<Instruction>, enters: bool| {
            let mut names = Vec::new();
            for formal in all {
                let name = format!("{}::{}", function.name, formal.variable.name);
                symbols.insert(formal.variable.name.clone(), name.clone());
                inliner.declare(call_variable(&formal.variable, name.clone()));
                if let Some(RegisterId(id)) = formal.register {
                    let register = Operand::Register(RegisterId(first + id));
                    let memory = Operand::Symbol(name.clone(), 0);
                    copies.extend(match (formal.variable.ty.kind, enters) {
                        (Kind::Predicate, true) => load_predicate(&at, &register, &memory, &word),
                        (Kind::Predicate, false) => store_predicate(&at, &memory, &register, &word),
                        (_, true) => copy(&at, &register, memory, &type_name(formal.variable.ty)),
                        (_, false) => copy(&at, &memory, register, &type_name(formal.variable.ty)),
                    });
                }
                names.push(name);
            }
            names
        };
    let parameters = formals(&mut inliner, &function.parameters, &mut before, true);
    let returns = formals(&mut inliner, &function.returns, &mut behind, false);
    before.into_iter().for_each(|inst| inliner.push(inst));
    let end = inliner.label(format!("the end of {}", function.name));
    if let Some(body) = &function.body {
        inliner.splice(function, body, symbols, Some(end))?;
    }
    inliner.out.statements.push(Statement::Label(end));
    behind.into_iter().for_each(|inst| inliner.push(inst));
    inliner.push(Instruction { opcode: RETURN.into(), ..at });
    Ok(Framed { function, body: inliner.out, sites: inliner.sites, parameters, returns })
}

impl<'a> Inliner<'a, '_> {
    /// Refuses values that cannot be counted.
    fn check_countable(&self, name: &str, signature: &Signature, line: u32) -> Result<(), LoadError> {
        if signature.parameters.iter().chain(&signature.returns).all(|bytes| *bytes != 0) {
            return Ok(());
        }
        let what = "takes a variable number of arguments, which is simulated only for calls that can be inlined";
        Err(self.error(line, format!("{name} {what}")))
    }

    /// Emits the call of a function with a frame.
    pub(super) fn keep_direct(
        &mut self,
        function: &Function,
        at: &Instruction,
        returns: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), LoadError> {
        let target = Target::Function(function.name.clone());
        self.keep(&function.name, target, function.signature(), None, at, (returns, arguments))
    }

    /// Emits a call through a pointer.
    pub(super) fn keep_indirect(
        &mut self,
        pointer: Operand,
        prototype: &str,
        body: &Body,
        at: &Instruction,
        returns: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), LoadError> {
        let found = body.prototypes.iter().find(|(name, _)| name == prototype);
        let (signature, targets) = match found {
            Some((_, Prototype::Signature(signature))) => (signature.clone(), None),
            Some((_, Prototype::Targets(targets))) => {
                let unknown = targets.iter().find(|name| self.functions.get(name).is_none());
                if let Some(unknown) = unknown {
                    return Err(self.error(at.line, format!("call: {unknown} of {prototype} is not a function")));
                }
                let first = targets.first().and_then(|name| self.functions.get(name));
                (first.map(Function::signature).unwrap_or_default(), Some(targets.clone()))
            }
            None => return Err(self.error(at.line, format!("call: {prototype} is not a prototype"))),
        };
        self.keep(prototype, Target::Pointer(targets), signature, Some(pointer), at, (returns, arguments))
    }

    fn keep(
        &mut self,
        name: &str,
        target: Target,
        signature: Signature,
        pointer: Option<Operand>,
        at: &Instruction,
        (returns, arguments): (&[Operand], &[Operand]),
    ) -> Result<(), LoadError> {
        let counts = (signature.parameters.len(), signature.returns.len());
        if counts != (arguments.len(), returns.len()) {
            return Err(self.error(at.line, format!("call: {name} takes {} and returns {} values", counts.0, counts.1)));
        }
        self.check_countable(name, &signature, at.line)?;
        let number = self.sites.len();
        let site = Site { target, signature: signature.clone(), arguments: Vec::new(), results: Vec::new() };
        self.sites.push(site);
        for (index, (actual, bytes)) in arguments.iter().zip(signature.parameters).enumerate() {
            let variable = match actual {
                Operand::Symbol(given, 0) => self.passed(at, name, given, bytes)?,
                actual => {
                    let memory = self.call_variable(format!("(argument {index} of call {number})"), bytes);
                    for inst in self.store(at, name, &memory, actual, bytes)? {
                        self.push(inst);
                    }
                    memory
                }
            };
            self.sites[number].arguments.push(variable);
        }
        let mut behind = Vec::new();
        for (index, (actual, bytes)) in returns.iter().zip(signature.returns).enumerate() {
            let variable = match actual {
                Operand::Symbol(given, 0) => self.passed(at, name, given, bytes)?,
                actual => {
                    let memory = self.call_variable(format!("(result {index} of call {number})"), bytes);
                    behind.extend(self.load(at, name, actual, &memory, bytes)?);
                    memory
                }
            };
            self.sites[number].results.push(variable);
        }
        let operands = [Operand::Integer(number as u64)].into_iter().chain(pointer).collect();
        self.push(instruction(at, CALL, &[], operands));
        if !self.sites[number].results.is_empty() {
            self.push(instruction(at, COLLECT, &[], Vec::new()));
        }
        behind.into_iter().for_each(|inst| self.push(inst));
        Ok(())
    }

    /// Adds a variable for a value of a call.
    fn call_variable(&mut self, name: String, bytes: u64) -> String {
        let (ty, align) = (Type { kind: Kind::Bits, bits: 8 * bytes.min(8) as u32 }, bytes.min(8) as u32);
        let (init, relocations, external) = (None, Vec::new(), false);
        let variable = Variable { name, space: Space::Param, ty, align, bytes, init, relocations, external, line: 0 };
        let name = variable.name.clone();
        self.declare(variable);
        name
    }

    fn unfit(&self, at: &Instruction, name: &str, bytes: u64) -> LoadError {
        self.error(at.line, format!("call: {name} and its argument of {bytes} bytes do not have the same width"))
    }

    /// Checks a variable that a call passes.
    fn passed(&self, at: &Instruction, name: &str, given: &str, bytes: u64) -> Result<String, LoadError> {
        match self.out.variables.iter().find(|variable| variable.name == given) {
            Some(variable) if variable.bytes == bytes => Ok(given.to_owned()),
            Some(_) => Err(self.unfit(at, name, bytes)),
            None => Err(self.error(at.line, format!("call: {given} is not a variable that {name} can take"))),
        }
    }

    fn store(
        &mut self,
        at: &Instruction,
        name: &str,
        memory: &str,
        actual: &Operand,
        bytes: u64,
    ) -> Result<Vec<Instruction>, LoadError> {
        let memory = Operand::Symbol(memory.to_owned(), 0);
        let ty = match actual {
            Operand::Register(id) => {
                let ty = self.out.registers[id.0 as usize].ty;
                if ty.kind == Kind::Predicate && bytes == 1 {
                    let word = self.register(32);
                    return Ok(store_predicate(at, &memory, actual, &word));
                }
                if ty.kind == Kind::Predicate || ty.bits.max(16) != (8 * bytes as u32).max(16) {
                    return Err(self.unfit(at, name, bytes));
                }
                format!("b{}", 8 * bytes)
            }
            Operand::Single(_) | Operand::Double(_) if matches!(bytes, 4 | 8) => format!("f{}", 8 * bytes),
            Operand::Integer(_) if matches!(bytes, 1 | 2 | 4 | 8) => format!("b{}", 8 * bytes),
            _ => return Err(self.unfit(at, name, bytes)),
        };
        Ok(copy(at, &memory, actual.clone(), &ty))
    }

    fn load(
        &mut self,
        at: &Instruction,
        name: &str,
        actual: &Operand,
        memory: &str,
        bytes: u64,
    ) -> Result<Vec<Instruction>, LoadError> {
        let memory = Operand::Symbol(memory.to_owned(), 0);
        match actual {
            Operand::Sink => Ok(Vec::new()),
            Operand::Register(id) => {
                let ty = self.out.registers[id.0 as usize].ty;
                if ty.kind == Kind::Predicate && bytes == 1 {
                    let word = self.register(32);
                    return Ok(load_predicate(at, actual, &memory, &word));
                }
                if ty.kind == Kind::Predicate || ty.bits.max(16) != (8 * bytes as u32).max(16) {
                    return Err(self.unfit(at, name, bytes));
                }
                Ok(copy(at, actual, memory, &format!("b{}", 8 * bytes)))
            }
            _ => Err(self.unfit(at, name, bytes)),
        }
    }
}

fn instruction(at: &Instruction, opcode: &str, modifiers: &[&str], operands: Vec<Operand>) -> Instruction {
    let modifiers = modifiers.iter().map(|modifier| (*modifier).to_owned()).collect();
    Instruction { guard: None, opcode: opcode.into(), modifiers, operands, ..at.clone() }
}

/// Stores a predicate as a byte; `word` is a free register.
fn store_predicate(at: &Instruction, memory: &Operand, predicate: &Operand, word: &Operand) -> Vec<Instruction> {
    let operands = vec![word.clone(), Operand::Integer(1), Operand::Integer(0), predicate.clone()];
    let select = instruction(at, "selp", &["b32"], operands);
    [vec![select], copy(at, memory, word.clone(), "b8")].concat()
}

/// Loads a predicate that [`store_predicate`] stored.
fn load_predicate(at: &Instruction, predicate: &Operand, memory: &Operand, word: &Operand) -> Vec<Instruction> {
    let operands = vec![predicate.clone(), word.clone(), Operand::Integer(0)];
    [copy(at, word, memory.clone(), "u8"), vec![instruction(at, "setp", &["ne", "u32"], operands)]].concat()
}
