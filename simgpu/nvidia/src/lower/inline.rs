//! Inlines calls: the body of the callee replaces the call, with its own registers, labels and
//! variables.
//!
//! A function is never inlined in itself, so one copy of its variables serves all its calls. A
//! formal `.param` parameter is the caller's variable; `ret` is a branch to the end of the call.
//! Calls of functions with frames, and calls through pointers, stay calls ([`kept`]).

mod kept;
mod print;
mod transfer;

pub use kept::{CALL, COLLECT, Framed, RETURN, Site, Target, reached};

use super::Functions;
use crate::exec::control::ASSERTION;
use crate::module::LoadError;
use crate::ptx::ParseError;
use crate::ptx::ast::{
    Base, Body, Function, Guard, Instruction, Kind, LabelId, Operand, Register, RegisterId, Space, Statement, Type,
    Variable,
};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Maximum depth of nested calls.
const DEPTH: usize = 128;
/// Maximum number of statements of a kernel, including everything that it calls.
const STATEMENTS: usize = 1 << 24;

/// A body in which calls are inlined, except for the calls of `sites`.
#[derive(Debug)]
pub struct Inlined<'a> {
    /// The body.
    pub body: Cow<'a, Body>,
    /// The calls that it makes, by the first operand of its [`CALL`]s.
    pub sites: Vec<Site>,
}

/// Returns the body of a kernel in which calls are inlined.
///
/// # Errors
/// Fails on a call of an undefined function, and on a call that does not fit what it calls.
pub fn inline<'a>(functions: &Functions<'a>, kernel: &'a Function, body: &'a Body) -> Result<Inlined<'a>, LoadError> {
    if !body.instructions().any(|inst| inst.opcode == "call") {
        return Ok(Inlined { body: Cow::Borrowed(body), sites: Vec::new() });
    }
    let mut inliner = Inliner::new(functions, kernel);
    inliner.splice(kernel, body, HashMap::new(), None)?;
    Ok(Inlined { body: Cow::Owned(inliner.out), sites: inliner.sites })
}

struct Inliner<'a, 'f> {
    functions: &'f Functions<'a>,
    kernel: &'a Function,
    out: Body,
    /// The functions whose bodies are being inlined, outermost first.
    running: Vec<&'a str>,
    /// The variables that exist already.
    known: HashSet<String>,
    /// The calls that are not inlined.
    sites: Vec<Site>,
}

/// The renaming of a body's names at the place where it is inlined.
struct Names {
    registers: u32,
    labels: u32,
    /// A number that distinguishes copies of target lists.
    copy: usize,
    /// Renamed variables and parameters; others keep their names.
    symbols: HashMap<String, String>,
    /// The target of `ret`; in the kernel itself `ret` stays.
    end: Option<LabelId>,
}

impl<'a, 'f> Inliner<'a, 'f> {
    fn new(functions: &'f Functions<'a>, kernel: &'a Function) -> Self {
        let (out, running, known, sites) = (Body::default(), Vec::new(), HashSet::new(), Vec::new());
        Self { functions, kernel, out, running, known, sites }
    }

    fn error(&self, line: u32, message: impl Into<String>) -> LoadError {
        let function = Some(self.kernel.name.clone());
        LoadError::Invalid(ParseError { line, function, message: message.into() })
    }

    /// Appends a body.
    fn splice(
        &mut self,
        function: &'a Function,
        body: &'a Body,
        mut symbols: HashMap<String, String>,
        end: Option<LabelId>,
    ) -> Result<(), LoadError> {
        let nested = end.is_some();
        for variable in &body.variables {
            let mut variable = variable.clone();
            if nested {
                let name = format!("{}::{}", function.name, variable.name);
                symbols.insert(std::mem::replace(&mut variable.name, name.clone()), name);
            }
            self.declare(variable);
        }
        let names = Names {
            registers: self.out.registers.len() as u32,
            labels: self.out.labels.len() as u32,
            copy: self.out.targets.len(),
            symbols,
            end,
        };
        self.out.registers.extend(body.registers.iter().cloned());
        self.out.labels.extend(body.labels.iter().cloned());
        for (name, labels) in &body.targets {
            let labels = labels.iter().map(|label| names.label(*label)).collect();
            self.out.targets.push((names.list(name), labels));
        }
        self.running.push(&function.name);
        for statement in &body.statements {
            match statement {
                Statement::Label(label) => self.out.statements.push(Statement::Label(names.label(*label))),
                Statement::Instruction(inst) if inst.opcode == "call" => self.call(inst, body, &names)?,
                Statement::Instruction(inst) => {
                    let inst = if nested { transfer::by_address(function, inst) } else { Cow::Borrowed(inst) };
                    self.push(names.renamed(&inst));
                }
            }
        }
        self.running.pop();
        if self.out.statements.len() > STATEMENTS {
            return Err(
                self.error(function.line, format!("including all calls, it has more than {STATEMENTS} instructions"))
            );
        }
        Ok(())
    }

    fn declare(&mut self, variable: Variable) {
        if self.known.insert(variable.name.clone()) {
            self.out.variables.push(variable);
        }
    }

    /// Replaces a call with the body of its function, if it can be inlined.
    fn call(&mut self, inst: &'a Instruction, body: &Body, names: &Names) -> Result<(), LoadError> {
        if let Some(modifier) = inst.modifiers.iter().find(|modifier| *modifier != "uni") {
            return Err(self.error(inst.line, format!("call: the modifier .{modifier} is not supported")));
        }
        let (returns, callee, arguments) = parts(inst).map_err(|why| self.error(inst.line, format!("call: {why}")))?;
        let renamed = |all: &[Operand]| all.iter().map(|operand| names.operand(operand)).collect::<Vec<_>>();
        let (returns, arguments) = (renamed(returns), renamed(arguments));
        let after = self.label(match callee {
            Callee::Name(name) => format!("after the call of {name}"),
            Callee::Pointer(..) => "after the call through a pointer".to_owned(),
        });
        let at = names.renamed(inst);
        if let Some(guard) = at.guard {
            let skip = Guard { negated: !guard.negated, ..guard };
            self.push(branch(&at, Some(skip), after));
        }
        let at = Instruction { guard: None, ..at };
        match callee {
            Callee::Name(name) => match self.functions.get(name) {
                Some(function) if function.body.is_some() && self.functions.has_frame(name) => {
                    self.keep_direct(function, &at, &returns, &arguments)?;
                }
                Some(function) if function.body.is_some() => self.enter(function, &at, &returns, &arguments, after)?,
                _ => self.outside(name, &at, &returns, &arguments)?,
            },
            Callee::Pointer(pointer, prototype) => {
                let pointer = names.operand(pointer);
                self.keep_indirect(pointer, prototype, body, &at, &returns, &arguments)?;
            }
        }
        self.out.statements.push(Statement::Label(after));
        Ok(())
    }

    fn enter(
        &mut self,
        function: &'a Function,
        at: &Instruction,
        returns: &[Operand],
        arguments: &[Operand],
        after: LabelId,
    ) -> Result<(), LoadError> {
        let name = function.name.as_str();
        if self.running.len() == DEPTH {
            return Err(self.error(at.line, format!("call: more than {DEPTH} nested calls")));
        }
        let Some(body) = &function.body else { return Ok(()) };
        if function.parameters.len() != arguments.len() || function.returns.len() != returns.len() {
            let counts = (function.parameters.len(), function.returns.len());
            return Err(self.error(at.line, format!("call: {name} takes {} and returns {} values", counts.0, counts.1)));
        }
        let mut symbols = HashMap::new();
        let registers = self.out.registers.len() as u32;
        for (formal, actual) in function.parameters.iter().zip(arguments) {
            let before = self.pass(at, function, formal, actual, registers, &mut symbols, transfer::Way::In)?;
            before.into_iter().for_each(|inst| self.push(inst));
        }
        let mut behind = Vec::new();
        for (formal, actual) in function.returns.iter().zip(returns) {
            behind.extend(self.pass(at, function, formal, actual, registers, &mut symbols, transfer::Way::Out)?);
        }
        // Values that are returned in registers are copied at the end of the body; without such
        // values, the end of the body is the end of the call.
        let end = if behind.is_empty() { after } else { self.label(format!("the end of {name}")) };
        self.splice(function, body, symbols, Some(end))?;
        if !behind.is_empty() {
            self.out.statements.push(Statement::Label(end));
            behind.into_iter().for_each(|inst| self.push(inst));
        }
        Ok(())
    }

    /// Handles a function of the device runtime: supports those that compiled kernels call.
    fn outside(
        &mut self,
        name: &str,
        at: &Instruction,
        returns: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), LoadError> {
        match name {
            "vprintf" => self.print(at, returns, arguments),
            "__assertfail" => {
                let (modifiers, operands) = (Vec::new(), Vec::new());
                self.push(Instruction { opcode: ASSERTION.to_owned(), modifiers, operands, ..at.clone() });
                Ok(())
            }
            "malloc" | "free" | "cudaLaunchDeviceV2" | "cudaGetParameterBufferV2" => {
                Err(self.error(at.line, format!("call: {name} of the device's runtime is not simulated")))
            }
            _ => Err(LoadError::Unresolved(name.to_owned())),
        }
    }

    fn label(&mut self, name: String) -> LabelId {
        self.out.labels.push(name);
        LabelId(self.out.labels.len() as u32 - 1)
    }

    /// Adds a register of this number of bits.
    fn register(&mut self, bits: u32) -> Operand {
        let id = RegisterId(self.out.registers.len() as u32);
        let ty = Type { kind: Kind::Bits, bits };
        self.out.registers.push(Register { name: format!("%(value {})", id.0), ty });
        Operand::Register(id)
    }

    fn push(&mut self, inst: Instruction) {
        self.out.statements.push(Statement::Instruction(inst));
    }
}

/// What a call names.
#[derive(Debug, Clone, Copy)]
enum Callee<'a> {
    /// A function.
    Name(&'a str),
    /// A register with the address of a function, and the name of a prototype.
    Pointer(&'a Operand, &'a str),
}

/// Returns the results, the callee, and the arguments.
fn parts(inst: &Instruction) -> Result<(&[Operand], Callee<'_>, &[Operand]), String> {
    let (returns, rest) = match &inst.operands[..] {
        [Operand::List(returns), rest @ ..] => (&returns[..], rest),
        rest => (&[][..], rest),
    };
    Ok(match rest {
        [pointer @ Operand::Register(_), Operand::List(arguments), Operand::Name(prototype)] => {
            (returns, Callee::Pointer(pointer, prototype), arguments)
        }
        [pointer @ Operand::Register(_), Operand::Name(prototype)] => {
            (returns, Callee::Pointer(pointer, prototype), &[])
        }
        [Operand::Register(_), ..] => return Err("a call through a pointer needs a prototype".into()),
        [Operand::Name(name) | Operand::Symbol(name, 0)] => (returns, Callee::Name(name), &[]),
        [Operand::Name(name) | Operand::Symbol(name, 0), Operand::List(arguments)] => {
            (returns, Callee::Name(name), arguments)
        }
        _ => return Err("it does not name a function".into()),
    })
}

fn branch(like: &Instruction, guard: Option<Guard>, to: LabelId) -> Instruction {
    let (modifiers, operands) = (Vec::new(), vec![Operand::Label(to)]);
    Instruction { guard, opcode: "bra".into(), modifiers, operands, ..like.clone() }
}

impl Names {
    fn register(&self, id: RegisterId) -> RegisterId {
        RegisterId(id.0 + self.registers)
    }

    fn label(&self, label: LabelId) -> LabelId {
        LabelId(label.0 + self.labels)
    }

    fn list(&self, name: &str) -> String {
        if self.end.is_some() { format!("{name}@{}", self.copy) } else { name.to_owned() }
    }

    fn symbol(&self, name: &str) -> String {
        self.symbols.get(name).map_or(name, String::as_str).to_owned()
    }

    fn renamed(&self, inst: &Instruction) -> Instruction {
        let guard = inst.guard.map(|guard| Guard { register: self.register(guard.register), ..guard });
        if let ("ret", Some(end)) = (inst.opcode.as_str(), self.end) {
            return branch(inst, guard, end);
        }
        let operands = inst.operands.iter().map(|operand| match operand {
            // Other instructions name functions, which have one name everywhere.
            Operand::Name(name) if inst.opcode == "brx" => Operand::Name(self.list(name)),
            operand => self.operand(operand),
        });
        Instruction { guard, operands: operands.collect(), ..inst.clone() }
    }

    fn operand(&self, operand: &Operand) -> Operand {
        let all = |operands: &[Operand]| operands.iter().map(|operand| self.operand(operand)).collect();
        match operand {
            Operand::Register(id) => Operand::Register(self.register(*id)),
            Operand::Negated(id) => Operand::Negated(self.register(*id)),
            Operand::Pair(first, second) => {
                Operand::Pair(first.map(|id| self.register(id)), second.map(|id| self.register(id)))
            }
            Operand::Vector(operands) => Operand::Vector(all(operands)),
            Operand::List(operands) => Operand::List(all(operands)),
            Operand::Address(Base::Register(id), offset) => {
                Operand::Address(Base::Register(self.register(*id)), *offset)
            }
            Operand::Address(Base::Symbol(name), offset) => Operand::Address(Base::Symbol(self.symbol(name)), *offset),
            Operand::Symbol(name, offset) => Operand::Symbol(self.symbol(name), *offset),
            Operand::Label(label) => Operand::Label(self.label(*label)),
            other => other.clone(),
        }
    }
}

/// Creates a variable for a call; it is local to the thread.
fn call_variable(like: &Variable, name: String) -> Variable {
    Variable { name, space: Space::Param, init: None, relocations: Vec::new(), ..like.clone() }
}
