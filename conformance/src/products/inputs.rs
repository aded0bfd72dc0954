//! The operands on which accuracy and cost are measured: numbers of like size, of one sign, of more
//! and more unlike size, sums that cancel, and lines with a few large elements.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// A distribution of operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// Normal.
    Gaussian,
    /// Uniform in [0, 1).
    Uniform,
    /// (U - 1/2) e^(s N), U uniform and N normal, as tests of emulated products use it.
    Phi(u8),
    /// The second half of each row is the first with the other sign, off by 1/1000; the halves of
    /// each column are equal.
    Cancel,
    /// Normal; every 331st element of the left operand's rows is 300 times as large.
    Outlier,
}

/// The lines along k of both operands: rows of the left one and columns of the right one.
pub(super) type Lines = [Vec<f64>; 2];

impl Inputs {
    /// All distributions.
    pub const ALL: [Inputs; 7] = [
        Inputs::Gaussian,
        Inputs::Uniform,
        Inputs::Phi(1),
        Inputs::Phi(2),
        Inputs::Cancel,
        Inputs::Outlier,
        Inputs::Phi(4),
    ];

    /// Returns the name that tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Inputs::Gaussian => "Gaussian",
            Inputs::Uniform => "uniform",
            Inputs::Phi(1) => "phi 1",
            Inputs::Phi(2) => "phi 2",
            Inputs::Phi(_) => "phi 4",
            Inputs::Cancel => "cancel",
            Inputs::Outlier => "outlier",
        }
    }

    /// Returns its place in [`ALL`](Self::ALL).
    pub(super) fn index(self) -> u64 {
        Self::ALL.iter().position(|&inputs| inputs == self).unwrap_or(Self::ALL.len()) as u64
    }

    /// Draws the operands of an `m` x `k` x `n` product.
    pub(super) fn draw(self, seed: u64, [m, k, n]: [usize; 3]) -> Lines {
        let mut draw = Draw(Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut lines = [m, n].map(|lines| (0..lines * k).map(|_| draw.element(self)).collect::<Vec<_>>());
        let [a, b] = &mut lines;
        match self {
            Inputs::Cancel => {
                for row in a.chunks_exact_mut(k) {
                    let (first, second) = row.split_at_mut(k / 2);
                    second.iter_mut().zip(first).for_each(|(s, f)| *s = -*f * (1.0 + 1e-3 * draw.normal()));
                }
                for column in b.chunks_exact_mut(k) {
                    let (first, second) = column.split_at_mut(k / 2);
                    second.iter_mut().zip(first).for_each(|(s, f)| *s = *f);
                }
            }
            Inputs::Outlier => {
                a.chunks_exact_mut(k).for_each(|row| row.iter_mut().step_by(331).for_each(|v| *v *= 300.0))
            }
            _ => {}
        }
        lines
    }
}

struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// Returns a number in [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a normal number (Box and Muller). `libm` gives the same bits on every machine.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * libm::log(radius)).sqrt() * libm::cos(std::f64::consts::TAU * angle)
    }

    fn element(&mut self, inputs: Inputs) -> f64 {
        match inputs {
            Inputs::Gaussian | Inputs::Cancel | Inputs::Outlier => self.normal(),
            Inputs::Uniform => self.uniform(),
            Inputs::Phi(s) => (self.uniform() - 0.5) * libm::exp(f64::from(s) * self.normal()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDES: [usize; 3] = [40, 4000, 40];

    #[test]
    fn distributions_have_their_moments() {
        let moments = |x: &[f64]| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            (mean, x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64)
        };
        for (inputs, mean, variance, tolerance) in [
            (Inputs::Gaussian, 0.0, 1.0, 0.02),
            (Inputs::Uniform, 0.5, 1.0 / 12.0, 0.02),
            // The variance of U times E[e^(2 N)]; its long tail makes the estimate less certain.
            (Inputs::Phi(1), 0.0, 2f64.exp() / 12.0, 0.15),
        ] {
            for x in inputs.draw(3, SIDES) {
                let (m, v) = moments(&x);
                assert!((m - mean).abs() < 0.02 && (v / variance - 1.0).abs() < tolerance, "{inputs:?}: {m}, {v}");
            }
        }
    }

    #[test]
    fn halves_cancel_to_a_thousandth() {
        let [a, b] = Inputs::Cancel.draw(5, SIDES);
        let k = SIDES[1];
        for (row, column) in a.chunks_exact(k).zip(b.chunks_exact(k)) {
            let products: Vec<f64> = row.iter().zip(column).map(|(a, b)| a * b).collect();
            let (sum, half) = (products.iter().sum::<f64>(), products[..k / 2].iter().map(|p| p.powi(2)).sum::<f64>());
            assert!(sum.abs() < 6e-3 * half.sqrt(), "{sum}");
        }
    }

    #[test]
    fn every_331st_element_is_large() {
        let [a, b] = Inputs::Outlier.draw(7, SIDES);
        let large =
            |x: &[f64]| x.iter().enumerate().filter(|(_, v)| v.abs() > 10.0).map(|(i, _)| i).collect::<Vec<_>>();
        assert!(large(&b).is_empty());
        assert!(large(&a).len() > 400 && large(&a).iter().all(|i| (i % SIDES[1]).is_multiple_of(331)));
    }

    #[test]
    fn a_seed_gives_one_product() {
        for inputs in Inputs::ALL {
            assert_eq!(inputs.draw(1, [2, 9, 3]), inputs.draw(1, [2, 9, 3]));
            assert_ne!(inputs.draw(1, [2, 9, 3]), inputs.draw(2, [2, 9, 3]));
        }
    }
}
