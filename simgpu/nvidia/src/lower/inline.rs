//! Calls: the body of what is called takes the place of the call, with registers, labels and
//! variables of its own.
//!
//! A function is never called while it runs (recursion is refused), so that one copy of its
//! variables serves all its calls. A formal `.param` parameter is the caller's variable; `ret` is a
//! branch behind the call.

mod transfer;

use crate::exec::control::ASSERTION;
use crate::module::LoadError;
use crate::ptx::ParseError;
use crate::ptx::ast::{
    Base, Body, Function, Guard, Instruction, LabelId, Operand, RegisterId, Space, Statement, Variable,
};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The functions of a module, by name.
pub type Functions<'a> = HashMap<&'a str, &'a Function>;

/// Calls within calls at most.
const DEPTH: usize = 128;
/// Statements at most, of a kernel with all that it calls.
const STATEMENTS: usize = 1 << 24;

/// The body of a kernel, without calls.
///
/// # Errors
/// A call of what is not defined, of itself, or through a pointer.
pub fn inline<'a>(functions: &Functions<'a>, kernel: &'a Function, body: &'a Body) -> Result<Cow<'a, Body>, LoadError> {
    let call = |statement: &Statement| matches!(statement, Statement::Instruction(inst) if inst.opcode == "call");
    if !body.statements.iter().any(call) {
        return Ok(Cow::Borrowed(body));
    }
    let mut inliner = Inliner { functions, kernel, out: Body::default(), running: Vec::new(), known: HashSet::new() };
    inliner.splice(kernel, body, HashMap::new(), None)?;
    Ok(Cow::Owned(inliner.out))
}

struct Inliner<'a, 'f> {
    functions: &'f Functions<'a>,
    kernel: &'a Function,
    out: Body,
    /// The functions whose bodies are being put in, outermost first.
    running: Vec<&'a str>,
    /// Variables that are there already.
    known: HashSet<String>,
}

/// What a body's names become where it is put in.
struct Names {
    registers: u32,
    labels: u32,
    /// How lists of targets are told apart.
    copy: usize,
    /// Variables and parameters; others keep their names.
    symbols: HashMap<String, String>,
    /// Where `ret` goes; in the kernel itself it stays.
    end: Option<LabelId>,
}

impl<'a> Inliner<'a, '_> {
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
        let nested = !self.running.is_empty();
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
                Statement::Instruction(inst) if inst.opcode == "call" => self.call(inst, &names)?,
                Statement::Instruction(inst) => self.out.statements.push(Statement::Instruction(names.renamed(inst))),
            }
        }
        self.running.pop();
        if self.out.statements.len() > STATEMENTS {
            return Err(self.error(function.line, format!("with all calls it has more than {STATEMENTS} instructions")));
        }
        Ok(())
    }

    fn declare(&mut self, variable: Variable) {
        if self.known.insert(variable.name.clone()) {
            self.out.variables.push(variable);
        }
    }

    /// Puts a call's function in its place.
    fn call(&mut self, inst: &'a Instruction, names: &Names) -> Result<(), LoadError> {
        if let Some(modifier) = inst.modifiers.iter().find(|modifier| *modifier != "uni") {
            return Err(self.error(inst.line, format!("call: the modifier .{modifier} is not known here")));
        }
        let (returns, name, arguments) = parts(inst).map_err(|why| self.error(inst.line, format!("call: {why}")))?;
        let renamed = |all: &[Operand]| all.iter().map(|operand| names.operand(operand)).collect::<Vec<_>>();
        let (returns, arguments) = (renamed(returns), renamed(arguments));
        let after = self.label(format!("behind the call of {name}"));
        let at = names.renamed(inst);
        if let Some(guard) = at.guard {
            let skip = Guard { negated: !guard.negated, ..guard };
            self.push(branch(&at, Some(skip), after));
        }
        let at = Instruction { guard: None, ..at };
        match self.functions.get(name) {
            Some(function) if function.body.is_some() => self.enter(function, &at, &returns, &arguments, after)?,
            _ => self.outside(name, &at, &returns)?,
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
        if self.running.contains(&name) {
            return Err(self.error(at.line, format!("call: {name} calls itself, and recursion is not simulated")));
        }
        if self.running.len() == DEPTH {
            return Err(self.error(at.line, format!("call: more than {DEPTH} calls within each other")));
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
        // What is returned in registers is handed over where the body ends; elsewhere that place is
        // the one behind the call.
        let end = if behind.is_empty() { after } else { self.label(format!("the end of {name}")) };
        self.splice(function, body, symbols, Some(end))?;
        if !behind.is_empty() {
            self.out.statements.push(Statement::Label(end));
            behind.into_iter().for_each(|inst| self.push(inst));
        }
        Ok(())
    }

    /// A function that the device's runtime has: of these, the ones that kernels are compiled to
    /// call.
    fn outside(&mut self, name: &str, at: &Instruction, returns: &[Operand]) -> Result<(), LoadError> {
        match (name, returns) {
            // Nothing is printed, which the result tells: how many arguments were.
            ("vprintf", [result]) => {
                let zero = transfer::set(at, result, Operand::Integer(0), "b32", &self.out.registers);
                zero.into_iter().for_each(|inst| self.push(inst));
                Ok(())
            }
            ("__assertfail", _) => {
                let (modifiers, operands) = (Vec::new(), Vec::new());
                self.push(Instruction { opcode: ASSERTION.to_owned(), modifiers, operands, ..at.clone() });
                Ok(())
            }
            ("vprintf" | "malloc" | "free" | "cudaLaunchDeviceV2" | "cudaGetParameterBufferV2", _) => {
                Err(self.error(at.line, format!("call: {name} of the device's runtime is not simulated")))
            }
            _ => Err(LoadError::Unresolved(name.to_owned())),
        }
    }

    fn label(&mut self, name: String) -> LabelId {
        self.out.labels.push(name);
        LabelId(self.out.labels.len() as u32 - 1)
    }

    fn push(&mut self, inst: Instruction) {
        self.out.statements.push(Statement::Instruction(inst));
    }
}

/// What is returned, what is called, and the arguments.
fn parts(inst: &Instruction) -> Result<(&[Operand], &str, &[Operand]), String> {
    let (returns, rest) = match &inst.operands[..] {
        [Operand::List(returns), rest @ ..] => (&returns[..], rest),
        rest => (&[][..], rest),
    };
    let indirect = || Err("calls through a pointer are not simulated".to_owned());
    match rest {
        [Operand::Register(_), ..] => indirect(),
        [Operand::Name(name) | Operand::Symbol(name, 0)] => Ok((returns, name, &[])),
        [Operand::Name(name) | Operand::Symbol(name, 0), Operand::List(arguments)] => Ok((returns, name, arguments)),
        [_, Operand::List(_), _] => indirect(),
        _ => Err("it names no function".into()),
    }
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
        let operands = inst.operands.iter().map(|operand| self.operand(operand)).collect();
        Instruction { guard, operands, ..inst.clone() }
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
            Operand::Name(name) => Operand::Name(self.list(name)),
            other => other.clone(),
        }
    }
}

/// A variable of a call, which is local to the thread.
fn call_variable(like: &Variable, name: String) -> Variable {
    Variable { name, space: Space::Param, init: None, relocations: Vec::new(), ..like.clone() }
}
