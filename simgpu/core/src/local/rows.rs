//! Splits the accesses of a wave into rows of lanes, in which each access starts at the end of the
//! previous one or at the same address.

use crate::check::{LANES, lanes_of};
use std::arch::x86_64::{__m256i, _mm256_add_epi32, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256};
use std::arch::x86_64::{_mm256_movemask_ps, _mm256_or_si256, _mm256_set1_epi32};

/// Returns the lanes of `mask` at which a row starts.
pub(super) fn starts(mask: u64, addresses: &[u32; LANES], bytes: u32) -> u64 {
    let (mut starts, mut last) = (0, None);
    for lane in lanes_of(mask) {
        let address = addresses[lane as usize];
        let continues = last.is_some_and(|last: u32| address == last || address == last.wrapping_add(bytes));
        starts |= u64::from(!continues) << lane;
        last = Some(address);
    }
    starts
}

/// Like [`starts`], eight lanes at a time if no lane is missing in between.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn starts_fast(mask: u64, addresses: &[u32; LANES], bytes: u32) -> u64 {
    let first = mask & mask.wrapping_neg();
    if mask & mask.wrapping_add(first) != 0 {
        return starts(mask, addresses, bytes);
    }
    let load = |lane: usize| -> __m256i {
        let eight: &[u32; 8] = addresses[lane..].first_chunk().expect("eight lanes from one below 57");
        // SAFETY: the pointer is to eight words, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
    };
    let mut continues = 0;
    // All lanes except the first; lanes from 56 on are processed twice.
    for lane in [1, 9, 17, 25, 33, 41, 49, 56] {
        let (before, here) = (load(lane - 1), load(lane));
        let follows = _mm256_cmpeq_epi32(here, _mm256_add_epi32(before, _mm256_set1_epi32(bytes as i32)));
        let either = _mm256_or_si256(follows, _mm256_cmpeq_epi32(here, before));
        continues |= u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(either)) as u32) << lane;
    }
    mask & !(continues & mask << 1)
}

/// Returns the last lane of `mask` before `lane`.
#[inline(always)]
pub(super) fn last_before(mask: u64, lane: u32) -> u32 {
    let before = if lane < u64::BITS { mask & ((1 << lane) - 1) } else { mask };
    u64::BITS - 1 - before.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_ways_find_the_same_rows(
            runs in prop::collection::vec((0u32..9, 0u32..9), 1..LANES),
            bytes in prop::sample::select(vec![1u32, 2, 4, 8, 16]),
            mask in prop_oneof![Just(u64::MAX), Just(u64::from(u32::MAX)), any::<u64>(), (0u32..64).prop_map(|n| u64::MAX >> n)],
        ) {
            // Within a run, the addresses stay or continue; the next run jumps.
            let mut at = 0u32;
            let mut all = runs.iter().cycle().enumerate().flat_map(|(i, &(stay, follow))| {
                at += 1000 + i as u32;
                let start = at;
                let stays = std::iter::repeat_n(start, stay as usize + 1);
                stays.chain((1..=follow).map(move |n| start + n * bytes))
            });
            let addresses: [u32; LANES] = std::array::from_fn(|_| all.next().expect("a cycle has no end"));
            let slow = starts(mask, &addresses, bytes);
            if crate::vector::has_vector_unit() {
                // SAFETY: the processor has the features.
                prop_assert_eq!(unsafe { starts_fast(mask, &addresses, bytes) }, slow);
            }
            prop_assert_eq!(slow & !mask, 0);
            prop_assert_eq!(slow == 0, mask == 0);
        }
    }
}
