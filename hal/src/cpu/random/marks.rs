//! Ones with a probability, and what they and the words themselves make of elements.

use super::Distribution;
use super::philox::Words;
use crate::cpu::vector::Kernel;

/// A 1 for each word below a threshold, else 0.
#[derive(Clone, Copy)]
pub(super) struct Marks<T> {
    pub threshold: u64,
    /// The bits of a 1.
    pub one: T,
}

impl<T: bytemuck::Pod + Sync> Distribution for Marks<T> {
    type Number = T;
    const PER_BLOCK: u64 = 4;
    const STREAM: u32 = 0;

    #[inline(always)]
    fn numbers(self, words: &Words, lane: usize, out: &mut [T]) {
        for (word, mark) in words.iter().zip(out) {
            *mark = if u64::from(word[lane]) < self.threshold { self.one } else { T::zeroed() };
        }
    }
}

/// The words themselves.
#[derive(Clone, Copy)]
pub(super) struct Word;

impl Distribution for Word {
    type Number = u32;
    const PER_BLOCK: u64 = 4;
    const STREAM: u32 = 0;

    #[inline(always)]
    fn numbers(self, words: &Words, lane: usize, out: &mut [u32]) {
        for (word, number) in words.iter().zip(out) {
            *number = word[lane];
        }
    }
}

/// A loop over drawn numbers and elements.
pub(super) struct Combine<'a, N, C, F> {
    pub numbers: &'a [N],
    pub x: &'a [C],
    pub f: F,
    pub out: &'a mut [C],
}

impl<N: Copy, C: Copy, F: Fn(N, C) -> C> Kernel for Combine<'_, N, C, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (y, (&number, &x)) in self.out.iter_mut().zip(self.numbers.iter().zip(self.x)) {
            *y = (self.f)(number, x);
        }
    }
}
