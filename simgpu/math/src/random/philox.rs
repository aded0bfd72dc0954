//! Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as
//! easy as 1, 2, 3", SC 2011. It is a block cipher applied to a counter: block `i` of a key is four
//! words, independent of all other blocks.

/// The multipliers of the two halves of a round.
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// The Weyl constants that change the key between rounds: from the golden ratio, and from the
/// square root of 3 minus 1.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const ROUNDS: usize = 10;

/// Returns the four words of a counter under a key.
pub fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k0, mut k1]) = (counter, key);
    for _ in 0..ROUNDS {
        let (p, q) = (u64::from(MULTIPLIERS[0]) * u64::from(a), u64::from(MULTIPLIERS[1]) * u64::from(c));
        let ((high_p, low_p), (high_q, low_q)) = (((p >> 32) as u32, p as u32), ((q >> 32) as u32, q as u32));
        (a, b, c, d) = (high_q ^ b ^ k0, low_q, high_p ^ d ^ k1, low_p);
        (k0, k1) = (k0.wrapping_add(WEYL[0]), k1.wrapping_add(WEYL[1]));
    }
    [a, b, c, d]
}

/// Returns block `index` of the sequence of a seed. The seed is the key and the index is the
/// counter, low words first. Value `n` of the sequence is word `n mod 4` of block `n / 4`.
pub fn block_of(seed: u64, index: u128) -> [u32; 4] {
    let counter = [index as u32, (index >> 32) as u32, (index >> 64) as u32, (index >> 96) as u32];
    block(counter, [seed as u32, (seed >> 32) as u32])
}

#[cfg(test)]
mod tests {
    use super::{block, block_of};

    /// Checks the `kat_vectors` of Random123, the authors' distribution.
    #[test]
    fn known_answers() {
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        for (counter, key, expected) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (pi, [0xa409_3822, 0x299f_31d0], [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]),
        ] {
            assert_eq!(block(counter, key), expected);
        }
    }

    #[test]
    fn the_counter_carries_into_its_other_words() {
        for (index, counter) in [(1 << 32, [0, 1, 0, 0]), (u128::from(u64::MAX) + 3, [2, 0, 1, 0])] {
            assert_eq!(block_of(0xb_0000_000a, index), block(counter, [0xa, 0xb]));
        }
    }
}
