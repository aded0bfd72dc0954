//! Ones with a probability, and the elements that they keep.

use super::Distribution;
use super::philox::Words;
use crate::cpu::compute::Compute;
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

/// A loop that scales elements with a mark, and sets others to 0.
pub(super) struct Keep<'a, C> {
    pub marks: &'a [u32],
    pub x: &'a [C],
    pub scale: C,
    pub out: &'a mut [C],
}

impl<C: Compute> Kernel for Keep<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (y, (&mark, &x)) in self.out.iter_mut().zip(self.marks.iter().zip(self.x)) {
            *y = if mark == 0 { C::ZERO } else { x.mul(self.scale) };
        }
    }
}
