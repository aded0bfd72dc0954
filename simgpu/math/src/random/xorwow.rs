//! XORWOW: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003, section
//! 3.1. It is a xorshift generator of 160 bits, whose step is a linear map over GF(2), plus a Weyl
//! sequence.

use super::Recurrence;
use std::array::from_fn;
use std::sync::OnceLock;

/// The step of the Weyl sequence.
const WEYL: u32 = 362_437;

/// Log2 of the distance between the starts of two neighbouring subsequences: 2^67 values.
const SUBSEQUENCE_LOG2: usize = 67;

type Bits = [u32; 5];

/// A state of the generator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xorwow {
    x: Bits,
    d: u32,
}

impl Xorwow {
    /// Returns the initial state from the publication.
    pub fn published() -> Self {
        Self { x: [123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321], d: 6_615_241 }
    }

    /// Returns the published state mixed with multiples of the scrambled halves of a seed, low half
    /// first. Both vendors do this, each with its own constants.
    pub fn stirred(seed: u64, scramble: [u32; 2], factors: [u32; 2]) -> Self {
        let t0 = (seed as u32 ^ scramble[0]).wrapping_mul(factors[0]);
        let t1 = ((seed >> 32) as u32 ^ scramble[1]).wrapping_mul(factors[1]);
        let Self { x: [x0, x1, x2, x3, x4], d } = Self::published();
        Self {
            x: [x0.wrapping_add(t0), x1 ^ t0, x2.wrapping_add(t1), x3 ^ t1, x4.wrapping_add(t0)],
            d: d.wrapping_add(t1).wrapping_add(t0),
        }
    }
}

impl Recurrence for Xorwow {
    fn step(&mut self) -> u32 {
        self.x = xorshift(self.x);
        self.d = self.d.wrapping_add(WEYL);
        self.d.wrapping_add(self.x[4])
    }

    fn skip(&mut self, values: u64) {
        for (i, power) in powers().iter().enumerate().take(64) {
            if values >> i & 1 == 1 {
                self.x = power.apply(self.x);
            }
        }
        self.d = self.d.wrapping_add((values as u32).wrapping_mul(WEYL));
    }

    // The Weyl sequence does not change, because its period of 2^32 divides the distance.
    fn skip_subsequence(&mut self) {
        self.x = powers()[SUBSEQUENCE_LOG2].apply(self.x);
    }
}

fn xorshift([x, y, z, w, v]: Bits) -> Bits {
    let t = x ^ (x >> 2);
    [y, z, w, v, (v ^ (v << 4)) ^ (t ^ (t << 1))]
}

/// A linear map of 160 bits, stored as its images of all 16 values of each group of four bits. The
/// product with a vector is the sum of one entry per row.
struct Map([[Bits; 16]; 40]);

impl Map {
    fn of(f: impl Fn(Bits) -> Bits) -> Self {
        Self(from_fn(|four| {
            from_fn(|value| {
                let mut bits = [0; 5];
                bits[four / 8] = (value as u32) << (4 * (four % 8));
                f(bits)
            })
        }))
    }

    fn apply(&self, x: Bits) -> Bits {
        let mut sum = [0; 5];
        for (four, row) in self.0.iter().enumerate() {
            let image = &row[(x[four / 8] >> (4 * (four % 8)) & 15) as usize];
            for (s, i) in sum.iter_mut().zip(image) {
                *s ^= i;
            }
        }
        sum
    }
}

/// Returns the step to the powers 2^0, 2^1 .. 2^67.
fn powers() -> &'static [Map] {
    static POWERS: OnceLock<Vec<Map>> = OnceLock::new();
    POWERS.get_or_init(|| {
        let mut powers = vec![Map::of(xorshift)];
        for i in 0..SUBSEQUENCE_LOG2 {
            let last = &powers[i];
            powers.push(Map::of(|x| last.apply(last.apply(x))));
        }
        powers
    })
}

#[cfg(test)]
mod tests {
    use super::{Bits, Recurrence, Xorwow, powers, xorshift};

    /// The first values from the publication's state, as listed by D's standard library and others.
    #[test]
    fn known_answers() {
        let mut g = Xorwow::published();
        let values: Vec<u32> = (0..10).map(|_| g.step()).collect();
        let known = [
            246_875_399,
            3_690_007_200,
            1_264_581_005,
            3_906_711_041,
            1_866_187_943,
            2_481_925_219,
            2_464_530_826,
            1_604_040_631,
            3_653_403_911,
            3_578_085_384,
        ];
        assert_eq!(values, known);
    }

    #[test]
    fn skipping_is_stepping() {
        for (seed, values) in [(0, 0), (1, 1), (u64::MAX, 97), (42, 65_536), (0x1234_5678_9abc_def0, 1_000_003)] {
            let (mut skipped, mut stepped) =
                (Xorwow::stirred(seed, [3, 5], [7, 9]), Xorwow::stirred(seed, [3, 5], [7, 9]));
            skipped.skip(values);
            for _ in 0..values {
                stepped.step();
            }
            assert_eq!(skipped, stepped, "{values} values of seed {seed}");
        }
    }

    /// The period of the xorshift part divides 2^160 - 1 (Marsaglia, section 3.1), so its step to
    /// the power 2^160 is the step itself. This checks the squaring on which the subsequences are
    /// based, far beyond what can be checked by stepping.
    #[test]
    fn the_step_has_its_published_order() {
        let double = |f: &super::Map| super::Map::of(|x| f.apply(f.apply(x)));
        let mut power = double(&powers()[super::SUBSEQUENCE_LOG2]);
        for _ in super::SUBSEQUENCE_LOG2 + 1..160 {
            power = double(&power);
        }
        let x: Bits = [0x8000_0001, 2, 3, 0xffff_ffff, 5];
        assert_eq!(power.apply(x), xorshift(x));
    }
}
