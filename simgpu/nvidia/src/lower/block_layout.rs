//! The order in which blocks lie: each after all that lead to it, but for the ways back of loops;
//! loops in one piece; ends last.
//!
//! Lanes that are furthest back run first, so that with this order those that took different ways
//! wait for each other where the ways meet.

use super::blocks::{End, Graph};

/// Blocks still to be ordered.
enum Task {
    /// One that is placed next.
    Block(usize),
    /// All, or a loop, which is entered through the first.
    Region(Vec<usize>),
}

/// The order of the blocks that can be reached, without [`Graph::exit`], where lanes never are.
pub fn order(graph: &Graph<'_>) -> Vec<usize> {
    let mut search = Search::new(graph);
    let mut placed = Vec::new();
    let mut tasks = Vec::new();
    // Components come out last first, as a stack takes them.
    let task = |component: &[usize]| match component {
        [block] => Task::Block(*block),
        _ => Task::Region(component.to_vec()),
    };
    search.components(&(0..graph.exit()).collect::<Vec<_>>(), None, |component| tasks.push(task(component)));
    while let Some(next) = tasks.pop() {
        match next {
            Task::Block(block) => placed.push(block),
            Task::Region(blocks) => {
                search.components(&blocks, Some(blocks[0]), |component| tasks.push(task(component)));
            }
        }
    }
    let ends = |block: &usize| graph.blocks[*block].end == End::Exit;
    let (last, mut order): (Vec<usize>, Vec<usize>) = placed.into_iter().partition(|block| *block != 0 && ends(block));
    order.extend(last);
    order
}

/// Tarjan's search for strongly connected components.
struct Search<'a> {
    graph: &'a Graph<'a>,
    /// By block: the region that it was in last, and its numbers there.
    region: Vec<usize>,
    number: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    regions: usize,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph<'a>) -> Self {
        let count = graph.blocks.len();
        let (region, number, low, on_stack) = (vec![0; count], vec![0; count], vec![0; count], vec![false; count]);
        Self { graph, region, number, low, on_stack, regions: 0 }
    }

    /// Gives each component that can be reached from the first block, a component after all that
    /// can be reached from it. Blocks of a component come in the order in which they were found,
    /// the one through which it is entered first. Ways that lead to `without` are not looked at.
    fn components(&mut self, blocks: &[usize], without: Option<usize>, mut found: impl FnMut(&[usize])) {
        self.regions += 1;
        let region = self.regions;
        for &block in blocks {
            (self.region[block], self.number[block]) = (region, usize::MAX);
        }
        let (mut count, mut stack) = (0, Vec::new());
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut enter = blocks.first().copied();
        loop {
            if let Some(block) = enter.take() {
                (self.number[block], self.low[block], self.on_stack[block]) = (count, count, true);
                count += 1;
                stack.push(block);
                // What is looked at first is placed last: blocks keep the order of the text where
                // nothing else decides. A stack of what is left to look at has the first on top.
                let mut next: Vec<usize> = self.graph.next(block).filter(|n| Some(*n) != without).collect();
                next.sort_unstable();
                path.push((block, next));
            }
            let Some((block, left)) = path.last_mut() else { return };
            let block = *block;
            if let Some(next) = left.pop() {
                if self.region[next] != region {
                } else if self.number[next] == usize::MAX {
                    enter = Some(next);
                } else if self.on_stack[next] {
                    self.low[block] = self.low[block].min(self.number[next]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                self.low[*parent] = self.low[*parent].min(self.low[block]);
            }
            if self.low[block] == self.number[block] {
                let at = stack.iter().rposition(|b| *b == block).unwrap_or(0);
                stack[at..].iter().for_each(|b| self.on_stack[*b] = false);
                found(&stack[at..]);
                stack.truncate(at);
            }
        }
    }
}
