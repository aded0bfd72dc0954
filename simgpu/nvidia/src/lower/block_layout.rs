//! Orders the blocks: each comes after all blocks that lead to it, except for the back edges of
//! loops; loops are contiguous; exits come last.
//!
//! Lanes that are furthest back run first. With this order, lanes that took different paths wait
//! for each other where the paths meet.

use super::blocks::{End, Graph};

/// Blocks that are not ordered yet.
enum Task {
    /// A block to place next.
    Block(usize),
    /// All blocks, or a loop with its entry first.
    Region(Vec<usize>),
}

/// Returns the order of the reachable blocks, without [`Graph::exit`], because lanes are never
/// there.
pub fn order(graph: &Graph<'_>) -> Vec<usize> {
    let mut search = Search::new(graph);
    let mut placed = Vec::new();
    let mut tasks = Vec::new();
    // Components come out in reverse order, which suits a stack.
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
    let ends = |block: &usize| matches!(graph.blocks[*block].end, End::Exit | End::Return);
    let (last, mut order): (Vec<usize>, Vec<usize>) = placed.into_iter().partition(|block| *block != 0 && ends(block));
    order.extend(last);
    order
}

/// Tarjan's algorithm for strongly connected components.
struct Search<'a> {
    graph: &'a Graph<'a>,
    /// By block: the region that it was last in, and its numbers in that region.
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

    /// Passes each component that is reachable from the first block to `found`; a component comes
    /// after all components that are reachable from it. The blocks of a component are in the order
    /// of discovery, with its entry first. Edges to `without` are ignored.
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
                // A block that is visited first is placed last. The last element is visited first,
                // so if nothing else decides, blocks keep the order of the text.
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
