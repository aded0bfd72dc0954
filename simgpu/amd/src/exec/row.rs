//! A vector register: one word per lane.

/// The number of lanes that are processed together: half of a 64-lane wave, all of a 32-lane wave.
pub const HALF: usize = 32;

/// The words of one vector register; 32-lane waves use the first half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 64]);

impl Row {
    /// Returns a row with the same word in every lane.
    pub const fn splat(word: u32) -> Self {
        Self([word; 64])
    }

    /// Sets the lanes whose bit is set to all ones, and the others to zero.
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

/// Returns one bit per lane, set if the lane's word has its sign bit set.
#[inline(always)]
pub fn gather<const AVX2: bool>(lanes: &[u32; HALF]) -> u32 {
    if AVX2 {
        let mut bits = 0;
        for part in 0..HALF / 8 {
            // SAFETY: the caller chose AVX2 because the processor has it, and the eight words are
            // within the array.
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
