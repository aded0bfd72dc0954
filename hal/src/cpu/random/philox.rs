//! Philox4x32-10 (Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3*,
//! SC'11), for several blocks at a time.

/// Number of blocks computed at a time, by the inner loops.
pub(super) const LANES: usize = 16;

/// The four words of each block.
pub(super) type Words = [[u32; LANES]; 4];

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// Added to the key after each round: the fractional bits of the golden ratio and of sqrt(3).
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const ROUNDS: usize = 10;

#[inline(always)]
fn rounds(mut counter: Words, mut key: [u32; 2]) -> Words {
    for _ in 0..ROUNDS {
        let [c0, c1, c2, c3] = &mut counter;
        for lane in 0..LANES {
            let [a, b] = [c0[lane], c2[lane]];
            let p = u64::from(MULTIPLIERS[0]) * u64::from(a);
            let q = u64::from(MULTIPLIERS[1]) * u64::from(b);
            c0[lane] = (q >> 32) as u32 ^ c1[lane] ^ key[0];
            c2[lane] = (p >> 32) as u32 ^ c3[lane] ^ key[1];
            c1[lane] = q as u32;
            c3[lane] = p as u32;
        }
        for (k, w) in key.iter_mut().zip(WEYL) {
            *k = k.wrapping_add(w);
        }
    }
    counter
}

/// Returns successive blocks of a seed's stream.
#[inline(always)]
pub(super) fn blocks(seed: u64, stream: u32, first: u64) -> Words {
    let numbers: [u64; LANES] = std::array::from_fn(|lane| first + lane as u64);
    let counter = [numbers.map(|n| n as u32), numbers.map(|n| (n >> 32) as u32), [stream; LANES], [0; LANES]];
    rounds(counter, [seed as u32, (seed >> 32) as u32])
}

/// Returns the block of an arbitrary counter and key.
pub fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    rounds(counter.map(|c| [c; LANES]), key).map(|words| words[LANES - 1])
}
