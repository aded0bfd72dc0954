//! MRG32k3a: P. L'Ecuyer, "Good parameters and implementations for combined multiple recursive
//! random number generators", Operations Research 47 (1), 1999. It has two recurrences of order
//! three modulo primes; the output is the difference of their values.

use super::Recurrence;
use std::sync::OnceLock;

/// The first modulus, 2^32 - 209; the values of the generator are 1 to `M1`.
pub const M1: u64 = 4_294_967_087;
/// The second modulus, 2^32 - 22853.
pub const M2: u64 = 4_294_944_443;
const A12: u64 = 1_403_580;
const A13: u64 = M1 - 810_728;
const A21: u64 = 527_612;
const A23: u64 = M2 - 1_370_589;

/// Log2 of the distance between the starts of two neighbouring subsequences: 2^76 values,
/// L'Ecuyer's "substream".
const SUBSEQUENCE_LOG2: usize = 76;

/// A state of the generator: the last three values of each recurrence, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mrg32k3a {
    g1: [u64; 3],
    g2: [u64; 3],
}

impl Recurrence for Mrg32k3a {
    // The result is 1 to `M1`.
    fn step(&mut self) -> u32 {
        let p1 = (A12 * self.g1[1] + A13 * self.g1[0] % M1) % M1;
        let p2 = (A21 * self.g2[2] + A23 * self.g2[0] % M2) % M2;
        self.g1 = [self.g1[1], self.g1[2], p1];
        self.g2 = [self.g2[1], self.g2[2], p2];
        (if p1 > p2 { p1 - p2 } else { p1 + M1 - p2 }) as u32
    }

    fn skip(&mut self, values: u64) {
        for (i, power) in powers().iter().enumerate().take(64) {
            if values >> i & 1 == 1 {
                self.apply(power);
            }
        }
    }

    fn skip_subsequence(&mut self) {
        self.apply(&powers()[SUBSEQUENCE_LOG2]);
    }
}

impl Mrg32k3a {
    /// Returns the state after these values of the two recurrences, oldest first.
    pub fn after(g1: [u64; 3], g2: [u64; 3]) -> Self {
        Self { g1, g2 }
    }

    fn apply(&mut self, power: &[Matrix; 2]) {
        self.g1 = times_vector(&power[0], self.g1, M1);
        self.g2 = times_vector(&power[1], self.g2, M2);
    }
}

type Matrix = [[u64; 3]; 3];

fn times_vector(a: &Matrix, v: [u64; 3], modulus: u64) -> [u64; 3] {
    std::array::from_fn(|i| a[i].iter().zip(v).fold(0, |sum, (&a, v)| (sum + a * v % modulus) % modulus))
}

fn squared(a: &Matrix, modulus: u64) -> Matrix {
    let column = |j: usize| times_vector(a, [a[0][j], a[1][j], a[2][j]], modulus);
    let columns = [column(0), column(1), column(2)];
    std::array::from_fn(|i| std::array::from_fn(|j| columns[j][i]))
}

/// Returns the steps of both recurrences to the powers 2^0, 2^1 .. 2^76.
fn powers() -> &'static [[Matrix; 2]] {
    static POWERS: OnceLock<Vec<[Matrix; 2]>> = OnceLock::new();
    POWERS.get_or_init(|| {
        let one = [[[0, 1, 0], [0, 0, 1], [A13, A12, 0]], [[0, 1, 0], [0, 0, 1], [A23, 0, A21]]];
        let next = |[a, b]: &[Matrix; 2]| Some([squared(a, M1), squared(b, M2)]);
        std::iter::successors(Some(one), next).take(SUBSEQUENCE_LOG2 + 1).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{M1, Mrg32k3a, Recurrence, SUBSEQUENCE_LOG2, powers};

    /// The first values from a state of six times 12345, as L'Ecuyer's own package (RngStreams)
    /// prints them: the values divided by M1 + 1.
    #[test]
    fn known_answers() {
        let mut g = Mrg32k3a { g1: [12_345; 3], g2: [12_345; 3] };
        for known in [0.127011122046577, 0.318527565396799, 0.309186015583270, 0.825846862927114, 0.221629915782023] {
            let value = f64::from(g.step()) / (M1 + 1) as f64;
            assert!((value - known).abs() < 1e-9, "{value} is not {known}");
        }
    }

    /// Checks the matrices of P. L'Ecuyer, R. Simard, E. J. Chen, W. D. Kelton, "An object-oriented
    /// random-number package with many long streams and substreams", Operations Research 50 (6),
    /// 2002.
    #[test]
    fn the_matrices_of_a_substream_are_the_published_ones() {
        let a1 = [
            [82_758_667, 1_871_391_091, 4_127_413_238],
            [3_672_831_523, 69_195_019, 1_871_391_091],
            [3_672_091_415, 3_528_743_235, 69_195_019],
        ];
        let a2 = [
            [1_511_326_704, 3_759_209_742, 1_610_795_712],
            [4_292_754_251, 1_511_326_704, 3_889_917_532],
            [3_859_662_829, 4_292_754_251, 3_708_466_080],
        ];
        assert_eq!(powers()[SUBSEQUENCE_LOG2], [a1, a2]);
    }

    #[test]
    fn skipping_is_stepping() {
        for (seed, values) in [(1, 0), (1, 1), (77, 97), (12_345, 65_536), (0xffff_ffff, 1_000_003)] {
            let first = Mrg32k3a::after([seed, 12_345, 67_890], [12_345, seed, 1]);
            let (mut skipped, mut stepped) = (first.clone(), first);
            skipped.skip(values);
            for _ in 0..values {
                stepped.step();
            }
            assert_eq!(skipped, stepped, "{values} values of seed {seed}");
        }
    }
}
