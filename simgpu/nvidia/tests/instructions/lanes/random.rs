//! Interesting operands, the same in every run.

/// A SplitMix64 generator; its numbers are the same in every run.
pub struct Random(pub u64);

impl Random {
    /// Returns 64 uniformly distributed bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns an integer of this many bits: any, a short one, or an edge case.
    pub fn integer(&mut self, bits: u32) -> u64 {
        let mask = u64::MAX >> (64 - bits);
        let (any, how) = (self.next(), self.next());
        mask & match how & 7 {
            0 => [0, 1, 2, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) + 2][(how >> 8 & 7) as usize],
            1 => how >> 8 & 0x7f,
            2 => any >> (how >> 8 & 63),
            3 => !(any >> (how >> 8 & 63)),
            _ => any,
        }
    }

    /// Returns the bits of a floating-point number with these sizes of exponent and fraction: any,
    /// an edge case, or one with a magnitude near 1.
    pub fn float(&mut self, exponent: u32, fraction: u32) -> u64 {
        let (any, how) = (self.next(), self.next());
        let (infinity, ones) = (((1 << exponent) - 1) << fraction, (1 << fraction) - 1);
        let one = ((1 << (exponent - 1)) - 1) << fraction;
        let sign = (how >> 63) << (exponent + fraction);
        let edges = [
            0,
            1,
            2,
            ones,
            ones + 1,
            ones + 2,
            one,
            one - 1,
            one + 1,
            one + (1 << (fraction - 1)),
            infinity - 1,
            infinity,
            infinity + (1 << (fraction - 1)),
            infinity + 1,
            infinity + ones,
            any & ones,
        ];
        sign | match how & 7 {
            0 | 1 => edges[(how >> 8 & 15) as usize],
            // Near 1, with few digits: sums are exact, cancel and tie.
            2 | 3 => (one + ((how >> 8 & 7) << fraction) - (4 << fraction)) | any & ones & !(ones >> (how >> 16 & 15)),
            4 => {
                (one + ((how >> 8 & 31) << fraction) - (16.min(one >> fraction) << fraction)).min(infinity - 1)
                    | any & ones
            }
            _ => any & (infinity | ones),
        }
    }

    /// Returns the bits of a binary32.
    pub fn f32(&mut self) -> u64 {
        self.float(8, 23)
    }

    /// Returns the bits of a binary64.
    pub fn f64(&mut self) -> u64 {
        self.float(11, 52)
    }
}

/// Returns sets of operands that a function makes from random numbers.
pub fn cases<const N: usize>(
    count: usize,
    mut make: impl FnMut(&mut Random) -> [u64; N],
) -> impl Iterator<Item = [u64; N]> {
    let mut random = Random(N as u64);
    (0..count).map(move |_| make(&mut random))
}
