//! Basic blocks: cuts a body at branches and their targets.

use super::inline::{CALL, COLLECT, RETURN};
use crate::ptx::ast::{Body, Guard, Instruction, LabelId, Operand, Statement};
use std::ops::Range;

/// The control-flow graph of a function.
#[derive(Debug)]
pub struct Graph<'a> {
    /// All statements; blocks are ranges of them.
    pub statements: &'a [Statement],
    /// The blocks. The first is the entry, the last is [`exit`](Self::exit).
    pub blocks: Vec<Block<'a>>,
}

/// Instructions that are executed consecutively.
#[derive(Debug)]
pub struct Block<'a> {
    /// Its statements: only instructions, none of which branches. A call, with what collects its
    /// results, is the end of a block.
    pub code: Range<usize>,
    /// What follows them.
    pub end: End<'a>,
    /// The instruction that ends the block, if there is one.
    pub by: Option<&'a Instruction>,
}

/// What follows a block.
#[derive(Debug, Clone, PartialEq)]
pub enum End<'a> {
    /// Another block.
    Jump(usize),
    /// One of two blocks.
    Branch {
        /// The condition for `then`.
        when: Guard,
        /// The block if the condition is true.
        then: usize,
        /// The block if it is false.
        otherwise: usize,
    },
    /// One of several blocks.
    Switch {
        /// The index of the target.
        index: &'a Operand,
        /// The targets.
        targets: Vec<usize>,
    },
    /// The end of the thread.
    Exit,
    /// The end of a function with a frame.
    Return,
}

impl<'a> Graph<'a> {
    /// Cuts a body.
    ///
    /// # Errors
    /// Fails on a branch to an undefined label, and returns its line.
    pub fn new(body: &'a Body) -> Result<Self, (u32, String)> {
        Cutter::cut(body)
    }

    /// Returns the block that only ends the thread: lanes that would jump there end at the jump.
    pub fn exit(&self) -> usize {
        self.blocks.len() - 1
    }

    /// Returns the instructions of a block.
    pub fn code(&self, block: usize) -> impl DoubleEndedIterator<Item = &'a Instruction> {
        self.statements[self.blocks[block].code.clone()].iter().filter_map(|statement| match statement {
            Statement::Instruction(inst) => Some(inst),
            Statement::Label(_) => None,
        })
    }

    /// Returns the blocks that may follow a block.
    pub fn next(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        let (few, many): ([Option<usize>; 2], &[usize]) = match &self.blocks[block].end {
            End::Jump(next) => ([Some(*next), None], &[]),
            End::Branch { then, otherwise, .. } => ([Some(*then), Some(*otherwise)], &[]),
            End::Switch { targets, .. } => ([None; 2], targets),
            End::Exit | End::Return => ([None; 2], &[]),
        };
        few.into_iter().flatten().chain(many.iter().copied())
    }

    /// Redirects branches to empty blocks to the targets of those blocks.
    fn thread_jumps(&mut self) {
        let resolved: Vec<usize> = (0..self.blocks.len()).map(|block| self.destination(block)).collect();
        for block in &mut self.blocks {
            match &mut block.end {
                End::Jump(next) => *next = resolved[*next],
                End::Branch { then, otherwise, .. } => (*then, *otherwise) = (resolved[*then], resolved[*otherwise]),
                End::Switch { targets, .. } => targets.iter_mut().for_each(|target| *target = resolved[*target]),
                End::Exit | End::Return => {}
            }
        }
    }

    fn destination(&self, mut at: usize) -> usize {
        // A cycle of empty blocks is an infinite loop.
        for _ in 0..self.blocks.len() {
            match &self.blocks[at] {
                Block { code, end: End::Jump(next), .. } if code.is_empty() => at = *next,
                Block { code, end: End::Exit, .. } if code.is_empty() => return self.exit(),
                _ => break,
            }
        }
        at
    }
}

/// Builds a graph: blocks are in the order of the text, and a table maps labels to blocks.
struct Cutter<'a> {
    body: &'a Body,
    blocks: Vec<Block<'a>>,
    /// The block at each label, by its number.
    labels: Vec<Option<usize>>,
}

impl<'a> Cutter<'a> {
    fn cut(body: &'a Body) -> Result<Graph<'a>, (u32, String)> {
        let mut cutter = Self { body, blocks: Vec::new(), labels: vec![None; body.labels.len()] };
        let exit = cutter.number_blocks();
        let mut start = 0;
        for (at, statement) in body.statements.iter().enumerate() {
            match statement {
                Statement::Label(_) => {
                    if start < at {
                        cutter.go_on(start..at);
                    }
                    start = at + 1;
                }
                Statement::Instruction(inst) if ends_block(inst) => {
                    cutter.end_block(start..at, inst, exit).map_err(|why| (inst.line, why))?;
                    start = at + 1;
                }
                Statement::Instruction(_) if ends_call(&body.statements[at..]) => {
                    cutter.go_on(start..at + 1);
                    start = at + 1;
                }
                Statement::Instruction(_) => {}
            }
        }
        // A thread that passes the last instruction ends.
        cutter.blocks.push(Block { code: start..body.statements.len(), end: End::Exit, by: None });
        cutter.blocks.push(Block { code: 0..0, end: End::Exit, by: None });
        debug_assert_eq!(cutter.blocks.len(), exit + 1);
        let mut graph = Graph { statements: &body.statements, blocks: cutter.blocks };
        graph.thread_jumps();
        Ok(graph)
    }

    /// Assigns block numbers to labels, and returns that of the block that only ends the thread.
    fn number_blocks(&mut self) -> usize {
        let (mut count, mut start) = (0, 0);
        for (at, statement) in self.body.statements.iter().enumerate() {
            match statement {
                Statement::Label(label) => {
                    count += usize::from(start < at);
                    if let Some(place) = self.labels.get_mut(label.0 as usize) {
                        *place = Some(count);
                    }
                    start = at + 1;
                }
                Statement::Instruction(inst) if ends_block(inst) => {
                    count += 1 + usize::from(inst.opcode == "brx" && inst.guard.is_some());
                    start = at + 1;
                }
                Statement::Instruction(_) if ends_call(&self.body.statements[at..]) => {
                    count += 1;
                    start = at + 1;
                }
                Statement::Instruction(_) => {}
            }
        }
        count + 1
    }

    /// Adds a block that goes on in the next one.
    fn go_on(&mut self, code: Range<usize>) {
        let next = self.blocks.len() + 1;
        self.blocks.push(Block { code, end: End::Jump(next), by: None });
    }

    fn end_block(&mut self, code: Range<usize>, inst: &'a Instruction, exit: usize) -> Result<(), String> {
        let next = self.blocks.len() + 1;
        let end = match inst.opcode.as_str() {
            "bra" => {
                modifiers(inst, &["uni"])?;
                let [Operand::Label(label)] = inst.operands[..] else { return Err("it needs a label".into()) };
                End::Jump(self.block_at(label)?)
            }
            "brx" => {
                modifiers(inst, &["idx", "uni"])?;
                let end = self.switch(inst)?;
                if let Some(guard) = inst.guard {
                    let when = Guard { negated: !guard.negated, ..guard };
                    let by = Some(inst);
                    let branch = End::Branch { when, then: next + 1, otherwise: next };
                    self.blocks.push(Block { code, end: branch, by });
                    self.blocks.push(Block { code: 0..0, end, by });
                    return Ok(());
                }
                end
            }
            RETURN => End::Return,
            _ => {
                modifiers(inst, &["uni"])?;
                if !inst.operands.is_empty() {
                    return Err("it has operands, but needs none".into());
                }
                End::Jump(exit)
            }
        };
        let end = match (inst.guard, end) {
            (Some(when), End::Jump(then)) => End::Branch { when, then, otherwise: next },
            (_, end) => end,
        };
        self.blocks.push(Block { code, end, by: Some(inst) });
        Ok(())
    }

    fn switch(&self, inst: &'a Instruction) -> Result<End<'a>, String> {
        let [index, Operand::Name(name)] = &inst.operands[..] else {
            return Err("it needs an index and a list of targets".into());
        };
        let list = self.body.targets.iter().find(|(known, _)| known == name);
        let (_, labels) = list.ok_or_else(|| format!("{name} is not a list of targets"))?;
        let targets = labels.iter().map(|label| self.block_at(*label)).collect::<Result<_, _>>()?;
        Ok(End::Switch { index, targets })
    }

    fn block_at(&self, label: LabelId) -> Result<usize, String> {
        self.labels.get(label.0 as usize).copied().flatten().ok_or_else(|| {
            let name = self.body.labels.get(label.0 as usize).map_or("", String::as_str);
            format!("the label {name} is not defined")
        })
    }
}

/// Whether an instruction ends a block.
pub fn ends_block(inst: &Instruction) -> bool {
    matches!(inst.opcode.as_str(), "bra" | "brx" | "ret" | "exit" | RETURN)
}

/// Whether the first of some statements is the last instruction of a call. What is before a call
/// and what is behind it are not in one block, because a barrier of the function may be between
/// them.
fn ends_call(statements: &[Statement]) -> bool {
    let opcode = |at: usize| match statements.get(at) {
        Some(Statement::Instruction(inst)) => Some(inst.opcode.as_str()),
        _ => None,
    };
    match opcode(0) {
        Some(COLLECT) => true,
        Some(CALL) => opcode(1) != Some(COLLECT),
        _ => false,
    }
}

fn modifiers(inst: &Instruction, known: &[&str]) -> Result<(), String> {
    match inst.modifiers.iter().find(|modifier| !known.contains(&modifier.as_str())) {
        Some(modifier) => Err(format!("the modifier .{modifier} is not supported here")),
        None => Ok(()),
    }
}
