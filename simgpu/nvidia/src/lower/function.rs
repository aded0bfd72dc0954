//! Lowers a complete kernel: orders its blocks, allocates rows to its registers, emits one or more
//! steps per instruction, and the branches between blocks.

use super::blocks::{End, Graph};
use super::compared::{Loads, compared};
use super::tables::lowering;
use super::{Location, Lower, allocate, block_layout, liveness};
use crate::exec::control;
use crate::exec::program::{Block, Exec, Place, Program};
use crate::module::Approximation;
use crate::ptx::ast::{Body, Instruction, Kind, Operand, Type};
use std::collections::HashMap;

/// A lowered kernel.
#[derive(Debug)]
pub struct Lowered {
    /// Its code.
    pub program: Program,
    /// The maximum number of rows that hold values at the same time.
    pub registers: u32,
}

/// Lowers a body without calls, whose variables are at `locations`.
///
/// # Errors
/// Fails on an unsupported instruction, and returns its line.
pub fn lower(
    approximation: Approximation,
    body: &Body,
    locations: &HashMap<String, Location>,
) -> Result<Lowered, (u32, String)> {
    let graph = Graph::new(body)?;
    let order = block_layout::order(&graph);
    let intervals = liveness::intervals(&graph, &order, body.registers.len());
    let places = allocate::allocate(&body.registers, intervals);
    let mut emitter = Emitter {
        lower: Lower::new(approximation, &body.registers, &places.places, locations),
        at: vec![None; graph.blocks.len()],
        open: Vec::new(),
        graph: &graph,
        compared: compared(body, locations),
    };
    for (number, &block) in order.iter().enumerate() {
        emitter.block(block, order.get(number + 1).copied())?;
    }
    let mut program = emitter.finish(&order);
    program.rows = places.rows as usize;
    program.predicates = places.predicates as usize;
    program.zeroed = places.zeroed;
    Ok(Lowered { program, registers: places.rows })
}

struct Emitter<'a, 'b> {
    lower: Lower<'a>,
    graph: &'b Graph<'a>,
    compared: Loads,
    /// The first step of each block that has been emitted.
    at: Vec<Option<u32>>,
    /// Steps whose target is not emitted yet.
    open: Vec<(usize, usize)>,
}

impl<'a> Emitter<'a, '_> {
    fn block(&mut self, block: usize, next: Option<usize>) -> Result<(), (u32, String)> {
        self.at[block] = Some(self.lower.program.steps.len() as u32);
        for inst in self.graph.code(block) {
            self.instruction(inst).map_err(|why| (inst.line, why))?;
        }
        let by = self.graph.blocks[block].by;
        self.end(block, by, next).map_err(|why| (by.map_or(0, |inst| inst.line), why))
    }

    fn instruction(&mut self, inst: &Instruction) -> Result<(), String> {
        let lowering =
            lowering(&inst.opcode).ok_or_else(|| format!("the instruction {} is not simulated", inst.opcode))?;
        let named = |why: String| format!("{}: {why}", written(inst));
        self.lower.compared = self.compared.contains(&std::ptr::from_ref(inst));
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

    fn finish(mut self, order: &[usize]) -> Program {
        // Target lists may contain the exit, so the exit needs a step; the last step must not fall
        // through.
        self.at[self.graph.exit()] = Some(self.lower.program.steps.len() as u32);
        self.push(control::exit, Place::NONE, Place::NONE, 0);
        let (graph, at) = (self.graph, self.at);
        let mut program = self.lower.program;
        let place = |block: usize| at[block].unwrap_or_default();
        for (step, to) in self.open {
            program.steps[step].extra = place(to);
        }
        for target in program.targets.iter_mut().flatten() {
            *target = place(*target as usize);
        }
        let mut number = vec![0; graph.blocks.len()];
        let order = || order.iter().copied().chain([graph.exit()]);
        order().enumerate().for_each(|(at, block)| number[block] = at as u32);
        program.blocks =
            order().map(|b| Block { first: place(b), next: graph.next(b).map(|n| number[n]).collect() }).collect();
        program
    }
}

/// Returns an instruction's opcode with its modifiers.
fn written(inst: &Instruction) -> String {
    [&inst.opcode].into_iter().chain(&inst.modifiers).map(String::as_str).collect::<Vec<_>>().join(".")
}
