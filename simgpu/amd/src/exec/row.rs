//! A vector register: a word for each lane.

/// Lanes that are worked on at a time: half a wave of 64, all of a wave of 32.
pub const HALF: usize = 32;

/// The words of one vector register; waves of 32 use the first half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 64]);

impl Row {
    /// The same word in every lane.
    pub const fn splat(word: u32) -> Self {
        Self([word; 64])
    }

    /// All ones in the lanes whose bit is set, else zero.
    #[inline(always)]
    pub fn spread(&mut self, bits: u64) {
        for (half, lanes) in self.0.chunks_exact_mut(HALF).enumerate() {
            let bits = (bits >> (half * HALF)) as u32;
            for (lane, word) in lanes.iter_mut().enumerate() {
                *word = ((bits >> lane) & 1).wrapping_neg();
            }
        }
    }
}

/// A bit for each lane whose word has its sign bit set.
#[inline(always)]
pub fn gather<const AVX2: bool>(lanes: &[u32; HALF]) -> u32 {
    if AVX2 {
        let mut bits = 0;
        for part in 0..HALF / 8 {
            // SAFETY: the caller chose AVX2 because the processor has it, and eight words are read
            // from within the array.
            let eight = unsafe {
                use std::arch::x86_64::{_mm256_loadu_ps, _mm256_movemask_ps};
                _mm256_movemask_ps(_mm256_loadu_ps(lanes.as_ptr().add(8 * part).cast()))
            };
            bits |= (eight as u32) << (8 * part);
        }
        bits
    } else {
        lanes.iter().enumerate().fold(0, |bits, (lane, word)| bits | (word >> 31) << lane)
    }
}
