//! A register: one word for each lane of a warp. A 64-bit register is two consecutive rows that are
//! read as 32 double words; a 16-bit register uses the first half of a row.

use isobit_simgpu_core::undefined;

/// Threads per warp.
pub const LANES: usize = 32;

/// 128 bytes of a register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(128))]
pub struct Row(pub [u32; LANES]);

impl Row {
    /// Zeros.
    pub const ZERO: Self = Self([0; LANES]);
    /// What a row holds that nothing has written.
    pub const UNDEFINED: Self = Self([undefined::WORD; LANES]);
}

/// Returns a mask of the lanes whose word has its sign bit set.
#[inline(always)]
pub fn gather<const AVX2: bool>(lanes: &[u32; LANES]) -> u32 {
    if AVX2 {
        let mut bits = 0;
        for part in 0..LANES / 8 {
            // SAFETY: the caller selects AVX2 only if the processor has it, and the eight words are
            // within the array.
            let eight = unsafe {
                use std::arch::x86_64::{_mm256_loadu_ps, _mm256_movemask_ps};
                _mm256_movemask_ps(_mm256_loadu_ps(lanes.as_ptr().add(8 * part).cast()))
            };
            bits |= (eight as u32) << (8 * part);
        }
        bits
    } else {
        gather_base(lanes)
    }
}

#[inline(never)]
fn gather_base(lanes: &[u32; LANES]) -> u32 {
    lanes.iter().enumerate().fold(0, |bits, (lane, word)| bits | (word >> 31) << lane)
}
