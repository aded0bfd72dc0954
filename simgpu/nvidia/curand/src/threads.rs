//! cuRAND's Philox: 65,536 threads with a subsequence of 2^66 values each; they take turns of four
//! numbers.
//!
//! A turn uses as many blocks of four words as its four numbers need, and the thread's next turn
//! continues after them. A call may begin or end within a turn: the next call gets the rest of the
//! turn, which its own distribution computes from the same words.

use isobit_simgpu_math::random::{Distribution, Order, philox};
use parking_lot::Mutex;
use std::sync::Arc;

/// Number of threads.
const THREADS: usize = 1 << 16;
/// Numbers per turn, and words per block.
const TURN: usize = 4;
/// Numbers until every thread has had a turn.
const ROUND: u64 = (THREADS * TURN) as u64;

/// The threads of a seed.
#[derive(Debug, Clone)]
pub struct Threads(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    seed: u64,
    offset: u64,
    /// The next block of every thread, created at the first use, in stream order.
    blocks: Mutex<Vec<u64>>,
}

impl Threads {
    /// Skips the first `offset` values, counted as turns of one block.
    pub(crate) fn new(seed: u64, offset: u64) -> Self {
        Self(Arc::new(Shared { seed, offset, blocks: Mutex::default() }))
    }

    /// Returns the position within a round where the sequence starts.
    pub(crate) fn start(&self) -> u128 {
        (self.0.offset % ROUND).into()
    }

    fn first_blocks(&self) -> Vec<u64> {
        let (rounds, ahead) = (self.0.offset / ROUND, (self.0.offset % ROUND) as usize / TURN);
        (0..THREADS).map(|thread| rounds + u64::from(thread < ahead)).collect()
    }

    /// Returns the numbers of a thread's turn that begins at a block.
    fn turn<T: Copy + Default>(&self, thread: usize, block: u64, distribution: &Distribution<T>) -> [T; TURN] {
        let Distribution { inputs, outputs, .. } = *distribution;
        let first = ((thread as u128) << 64) + u128::from(block);
        let words: Vec<u32> = (0..blocks_of(distribution))
            .flat_map(|i| philox::block_of(self.0.seed, first.wrapping_add(i.into())))
            .collect();
        let mut numbers = [T::default(); TURN];
        for (words, numbers) in words.chunks(inputs).zip(numbers.chunks_mut(outputs)) {
            distribution.map(words, numbers);
        }
        numbers
    }
}

/// Returns the number of blocks per turn.
fn blocks_of<T>(distribution: &Distribution<T>) -> u64 {
    (distribution.inputs / distribution.outputs) as u64
}

/// A position counts numbers within a round.
impl Order for Threads {
    fn after<T>(&self, position: u128, count: usize, _: &Distribution<T>) -> u128 {
        (position + count as u128) % u128::from(ROUND)
    }

    fn run<T: Copy + Default>(
        &self,
        position: u128,
        count: usize,
        distribution: &Distribution<T>,
        mut each: impl FnMut(T),
    ) {
        let mut blocks = self.0.blocks.lock();
        if blocks.is_empty() {
            *blocks = self.first_blocks();
        }
        let mut place = position as usize;
        let mut left = count;
        while left > 0 {
            let (thread, from) = (place / TURN % THREADS, place % TURN);
            let to = TURN.min(from + left);
            self.turn(thread, blocks[thread], distribution)[from..to].iter().copied().for_each(&mut each);
            if to == TURN {
                blocks[thread] = blocks[thread].wrapping_add(blocks_of(distribution));
            }
            place += to - from;
            left -= to - from;
        }
    }
}
