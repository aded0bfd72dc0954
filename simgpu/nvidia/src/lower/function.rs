//! Lowers a complete kernel: orders its blocks, allocates rows to its registers, emits one or more
//! steps per instruction, and the branches between blocks.
//!
//! The functions with frames that it may call follow it. They share rows, which are not the
//! kernel's: a call keeps the caller's registers on the stack, except for those of the kernel,
//! which no function overwrites.

use super::allocate::{Allocation, Assigned, Made};
use super::blocks::{End, Graph};
use super::compared::{Loads, compared};
use super::inline::{CALL, Site};
use super::liveness::Interval;
use super::tables::lowering;
use super::{Calling, Functions, Location, Lower, allocate, block_layout, calls, liveness};
use crate::exec::call;
use crate::exec::calls::{Callee, Slot};
use crate::exec::control;
use crate::exec::program::{Block, Exec, Place, Program};
use crate::module::Approximation;
use crate::ptx::ast::{Body, Function, Instruction, Kind, Operand, Type};
use std::collections::HashMap;

/// A lowered kernel.
#[derive(Debug)]
pub struct Lowered {
    /// Its code.
    pub program: Program,
    /// The maximum number of rows that hold values at the same time.
    pub registers: u32,
}

/// A body with its calls and the locations of its variables.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// The name of its function.
    pub name: &'a str,
    /// The body.
    pub body: &'a Body,
    /// The calls that it makes.
    pub sites: &'a [Site],
    /// The locations of its variables.
    pub locations: &'a HashMap<String, Location>,
}

/// A function with a frame that a kernel may call.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The function.
    pub function: &'a Function,
    /// Its code.
    pub code: Code<'a>,
    /// The bytes of its frame.
    pub frame: u32,
    /// The bytes of its local variables, which are a part of the frame.
    pub locals: u32,
}

/// Lowers a kernel and the functions with frames that it may call.
///
/// # Errors
/// Fails on an unsupported instruction, and returns its function and line.
pub fn lower<'a>(
    approximation: Approximation,
    functions: &Functions<'a>,
    kernel: Code<'a>,
    framed: &[Part<'a>],
) -> Result<Lowered, (&'a str, (u32, String))> {
    let named = |code: &Code<'a>, why| (code.name, why);
    let main = Prepared::new(kernel.body).map_err(|why| named(&kernel, why))?;
    let places = main.assigned.place(&kernel.body.registers, &main.assigned.made, 0, 0);
    let (rows, predicates) = (places.rows, places.predicates);
    let mut emitted = Emitted { undefined: places.undefined.clone(), ..Emitted::default() };
    let calling = |sites: &'a [Site]| Calling {
        sites,
        reach: calls::reach(functions, sites, framed),
        frame: Place(rows),
        live: Vec::new(),
    };
    emitted
        .add(approximation, &kernel, &main, &places, calling(kernel.sites), None)
        .map_err(|why| named(&kernel, why))?;
    emitted.predicates = predicates as usize;
    let mut registers = rows;
    if !framed.is_empty() {
        let prepared = framed.iter().map(|Part { code, .. }| Prepared::new(code.body).map_err(|why| named(code, why)));
        let prepared: Vec<Prepared<'_>> = prepared.collect::<Result<_, _>>()?;
        let made = prepared.iter().fold([0; 5], |most: Made, prepared| {
            std::array::from_fn(|pool| most[pool].max(prepared.assigned.made[pool]))
        });
        emitted.program.calls.frame = Place(rows);
        for (Part { function, code, frame, locals }, prepared) in framed.iter().zip(&prepared) {
            // The row of the frames comes first.
            let places = prepared.assigned.place(&code.body.registers, &made, rows + 1, predicates);
            registers = places.rows;
            emitted.predicates = places.predicates as usize;
            let undefined = prepared.assigned.intervals.iter().filter(|interval| interval.undefined);
            let undefined = undefined.map(|interval| slot(code.body, &places, interval)).collect();
            let callee = Callee::new(function, functions.address(&function.name), *frame, *locals, undefined);
            emitted
                .add(approximation, code, prepared, &places, calling(code.sites), Some(callee))
                .map_err(|why| named(code, why))?;
        }
    }
    if !kernel.sites.is_empty() {
        emitted.program.calls.finish(functions.known());
    }
    let Emitted { mut program, calls, undefined, predicates, .. } = emitted;
    calls::link(&mut program, &calls);
    (program.rows, program.predicates, program.undefined) = (registers as usize, predicates, undefined);
    Ok(Lowered { program, registers })
}

/// Returns the place of a register that an interval is of.
fn slot(body: &Body, places: &Allocation, interval: &Interval) -> Slot {
    let at = interval.register.0 as usize;
    Slot { place: Place(places.places[at]), bits: allocate::bits(&body.registers[at]) }
}

/// A body whose registers have places in the pools.
struct Prepared<'a> {
    graph: Graph<'a>,
    order: Vec<usize>,
    assigned: Assigned,
}

impl<'a> Prepared<'a> {
    fn new(body: &'a Body) -> Result<Self, (u32, String)> {
        let graph = Graph::new(body)?;
        let order = block_layout::order(&graph);
        let intervals = liveness::intervals(&graph, &order, body.registers.len());
        Ok(Self { graph, order, assigned: allocate::assign(&body.registers, intervals) })
    }
}

/// The bodies that are lowered so far.
#[derive(Default)]
struct Emitted {
    program: Program,
    constants: HashMap<(u64, u32), u32>,
    /// The steps that call, with the numbers of their sites in the program.
    calls: Vec<(usize, usize)>,
    undefined: Vec<u32>,
    predicates: usize,
}

impl Emitted {
    /// Adds a body: the kernel's, or that of a function.
    fn add<'a>(
        &mut self,
        approximation: Approximation,
        code: &Code<'a>,
        prepared: &Prepared<'a>,
        places: &Allocation,
        calling: Calling<'a>,
        callee: Option<Callee>,
    ) -> Result<(), (u32, String)> {
        let mut lower = Lower::new(approximation, &code.body.registers, &places.places, code.locations);
        lower.program = std::mem::take(&mut self.program);
        lower.constants = std::mem::take(&mut self.constants);
        lower.calling = calling;
        let (graph, order) = (&prepared.graph, &prepared.order);
        let entry = lower.program.steps.len() as u32;
        let targets = lower.program.targets.len();
        let frame =
            callee.is_some().then_some(Kept { body: code.body, places, intervals: &prepared.assigned.intervals });
        let (at, open, calls) = (vec![None; graph.blocks.len()], Vec::new(), std::mem::take(&mut self.calls));
        let callees = lower.program.calls.callees.len() as u32;
        let compared = compared(code.body, code.locations);
        let mut emitter = Emitter {
            lower,
            compared,
            at,
            open,
            graph,
            targets,
            frame,
            callee: callees,
            returns: None,
            number: 0,
            calls,
        };
        for (number, &block) in order.iter().enumerate() {
            emitter.block(block, order.get(number + 1).copied())?;
        }
        emitter.finish(order);
        self.calls = emitter.calls;
        let mut program = emitter.lower.program;
        if let Some(mut callee) = callee {
            (callee.entry, callee.end) = (entry, emitter.returns);
            program.calls.callees.push(callee);
        }
        (self.program, self.constants) = (program, emitter.lower.constants);
        Ok(())
    }
}

/// What calls of a function with a frame must keep.
struct Kept<'b> {
    body: &'b Body,
    places: &'b Allocation,
    intervals: &'b [Interval],
}

struct Emitter<'a, 'b> {
    lower: Lower<'b>,
    graph: &'b Graph<'a>,
    compared: Loads,
    /// The first step of each block that has been emitted.
    at: Vec<Option<u32>>,
    /// Steps whose target is not emitted yet.
    open: Vec<(usize, usize)>,
    /// The first target list of the body.
    targets: usize,
    /// The registers of a function with a frame; the kernel's are not shared.
    frame: Option<Kept<'b>>,
    /// The number of the function, and its step that returns.
    callee: u32,
    returns: Option<u32>,
    /// The number of the instruction, as in the intervals.
    number: u32,
    /// The steps that call, with the numbers of their sites in the program.
    calls: Vec<(usize, usize)>,
}

impl Emitter<'_, '_> {
    fn block(&mut self, block: usize, next: Option<usize>) -> Result<(), (u32, String)> {
        self.at[block] = Some(self.lower.program.steps.len() as u32);
        for inst in self.graph.code(block) {
            self.instruction(inst).map_err(|why| (inst.line, why))?;
            self.number += 1;
        }
        self.number += 1;
        let by = self.graph.blocks[block].by;
        self.end(block, by, next).map_err(|why| (by.map_or(0, |inst| inst.line), why))
    }

    fn instruction(&mut self, inst: &Instruction) -> Result<(), String> {
        let lowering =
            lowering(&inst.opcode).ok_or_else(|| format!("the instruction {} is not simulated", inst.opcode))?;
        let named = |why: String| format!("{}: {why}", written(inst));
        self.lower.compared = self.compared.contains(&std::ptr::from_ref(inst));
        if inst.opcode == CALL {
            self.calls.push((self.lower.program.steps.len(), self.lower.program.calls.sites.len()));
            if let Some(Kept { body, places, intervals }) = &self.frame {
                // A call writes no register, so a value whose interval starts at one comes from
                // elsewhere: along the back edge of a loop that is the start of the function.
                let across = |interval: &&Interval| interval.start <= self.number && self.number < interval.end;
                let live = intervals.iter().filter(across).map(|interval| slot(body, places, interval));
                self.lower.calling.live = live.collect();
            }
        }
        self.lower.begin(inst).and_then(|()| lowering(&mut self.lower, inst)).map_err(named)
    }

    /// Emits the steps from a block to its successors; `next` is the block laid out after it.
    fn end(&mut self, block: usize, by: Option<&Instruction>, next: Option<usize>) -> Result<(), String> {
        if let Some(inst) = by {
            self.lower.begin(&Instruction { guard: None, ..inst.clone() })?;
        }
        let exit = self.graph.exit();
        match &self.graph.blocks[block].end {
            End::Exit => self.go(exit, next),
            End::Return => {
                self.returns = Some(self.lower.program.steps.len() as u32);
                self.push(call::RET, Place::NONE, Place::NONE, self.callee);
            }
            End::Jump(to) => self.go(*to, next),
            End::Branch { then, otherwise, .. } if then == otherwise => self.go(*then, next),
            End::Branch { when, then, otherwise } => {
                let operand = if when.negated { Operand::Negated } else { Operand::Register };
                let when = self.lower.predicate(&operand(when.register))?;
                let (when, then, otherwise) = match (*then, *otherwise) {
                    // An exit cannot be the target of a branch, and the next block needs no branch.
                    (then, otherwise) if then != exit && (otherwise == exit || Some(then) == next) => {
                        (when.negated(), otherwise, then)
                    }
                    (then, otherwise) => (when, then, otherwise),
                };
                if then == exit {
                    self.push(control::exit, when, Place::NONE, 0);
                } else {
                    self.branch(then, when);
                }
                self.go(otherwise, next);
            }
            End::Switch { index, targets } => {
                let index = self.lower.source(index, Type { kind: Kind::Unsigned, bits: 32 })?;
                let list = self.lower.program.targets.len() as u32;
                self.lower.program.targets.push(targets.iter().map(|block| *block as u32).collect());
                self.push(control::switch, Place::NONE, index, list);
            }
        }
        Ok(())
    }

    /// Emits an unconditional jump to a block.
    fn go(&mut self, to: usize, next: Option<usize>) {
        if to == self.graph.exit() {
            self.push(control::exit, Place::NONE, Place::NONE, 0);
        } else if Some(to) != next {
            self.target(to, [control::jump, control::jump_back], Place::NONE);
        }
    }

    fn branch(&mut self, to: usize, when: Place) {
        self.target(to, [control::branch, control::branch_back], when);
    }

    /// Emits a jump to a block, forward or back.
    fn target(&mut self, to: usize, [on, back]: [Exec; 2], when: Place) {
        match self.at[to] {
            Some(at) => self.push(back, Place::NONE, when, at),
            None => {
                self.open.push((self.lower.program.steps.len(), to));
                self.push(on, Place::NONE, when, 0);
            }
        }
    }

    fn push(&mut self, exec: Exec, guard: Place, source: Place, extra: u32) {
        let mut step = self.lower.step(exec);
        (step.guard, step.src[0], step.extra) = (guard, source, extra);
        self.lower.push(step);
    }

    fn finish(&mut self, order: &[usize]) {
        // Target lists may contain the exit, so the exit needs a step; the last step must not fall
        // through.
        self.at[self.graph.exit()] = Some(self.lower.program.steps.len() as u32);
        self.push(control::exit, Place::NONE, Place::NONE, 0);
        let (graph, at) = (self.graph, &self.at);
        let program = &mut self.lower.program;
        let place = |block: usize| at[block].unwrap_or_default();
        for &(step, to) in &self.open {
            program.steps[step].extra = place(to);
        }
        for target in program.targets[self.targets..].iter_mut().flatten() {
            *target = place(*target as usize);
        }
        let mut number = vec![0; graph.blocks.len()];
        let order = || order.iter().copied().chain([graph.exit()]);
        let before = program.blocks.len();
        order().enumerate().for_each(|(at, block)| number[block] = (before + at) as u32);
        let blocks = order().map(|b| Block { first: place(b), next: graph.next(b).map(|n| number[n]).collect() });
        program.blocks.extend(blocks);
    }
}

/// Returns an instruction's opcode with its modifiers.
fn written(inst: &Instruction) -> String {
    [&inst.opcode].into_iter().chain(&inst.modifiers).map(String::as_str).collect::<Vec<_>>().join(".")
}
