//! Parameters of random numbers. They say where in which sequence the numbers stand, so that an operation is a function of its parameters alone;
//! devices keep the position ([`BackendDevice::rand_uniform`](crate::BackendDevice::rand_uniform)).

use crate::{DType, Numerics};

macro_rules! random {
    ($(#[$meta:meta])* $name:ident $($(#[$field_meta:meta])* $field:ident)*) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_meta])* pub $field: f64,)*
            /// Which sequence.
            pub seed: u64,
            /// Where in the sequence the first element stands: numbers drawn from it before. Element `i` of the result, in row-major order, is number
            /// `offset + i`.
            pub offset: u64,
            /// Who draws. `None` is the generator that gives the same numbers on every device, whatever the device's default; a vendor's library has
            /// numbers of its own, and draws them only where it is asked by name.
            pub numerics: Option<Numerics>,
        }

        impl $name {
            /// From the start of the sequence of seed 0.
            pub const fn new($($field: f64),*) -> Self {
                Self { $($field,)* seed: 0, offset: 0, numerics: None }
            }

            /// From a place in a sequence.
            pub const fn at(mut self, seed: u64, offset: u64) -> Self {
                self.seed = seed;
                self.offset = offset;
                self
            }

            /// With given numerics.
            pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
                self.numerics = Some(numerics);
                self
            }
        }
    };
}
random! {
    /// Uniform numbers in `[lo, up)`. f16, bf16, f32, f64.
    RandUniform
    /// The smallest.
    lo
    /// What they stay below.
    up
}
random! {
    /// Normal numbers. f16, bf16, f32, f64.
    RandNormal
    /// The mean.
    mean
    /// The standard deviation; not negative.
    std
}

impl RandUniform {
    /// The smallest and the largest value that a result of a dtype can have: those of the interval. Where the dtype has none there, both are
    /// the value nearest to `lo`.
    pub fn ends(&self, dtype: DType) -> [f64; 2] {
        let grid = Grid::of(dtype);
        // What is below `up` is at most the f64 before it, so the largest of the dtype's values up to that one is meant.
        let [first, last] = [grid.round(self.lo, f64::ceil), grid.round(self.up.next_down(), f64::floor)];
        if first <= last { [first, last] } else { [grid.round(self.lo, f64::round_ties_even); 2] }
    }
}

/// The values of a float dtype as multiples of powers of two.
struct Grid {
    /// Bits of the significand, the leading one included.
    precision: i32,
    /// Of the smallest and the largest normal number.
    exponents: [i32; 2],
}

impl Grid {
    fn of(dtype: DType) -> Self {
        let (precision, exponents) = match dtype {
            DType::F16 => (11, [-14, 15]),
            DType::BF16 => (8, [-126, 127]),
            DType::F32 => (24, [-126, 127]),
            _ => (53, [-1022, 1023]),
        };
        Self { precision, exponents }
    }

    /// A neighbour of `x`, or `x` itself: which, says a rounding to integers. Beyond the largest number it is an infinity, or that number where
    /// the rounding goes towards zero.
    fn round(&self, x: f64, to_integer: fn(f64) -> f64) -> f64 {
        let [least, most] = self.exponents;
        if x == 0.0 || x.is_infinite() || self.precision == 53 {
            // Without the sign of a zero.
            return x + 0.0;
        }
        let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
        // Every f64 is a whole number of these, or has a fraction that the division keeps: both are powers of two apart.
        let unit = 2f64.powi(exponent.min(most) + 1 - self.precision);
        let largest = (2.0 - 2f64.powi(1 - self.precision)) * 2f64.powi(most);
        let rounded = to_integer(x / unit) * unit + 0.0;
        let toward_zero = to_integer(0.75f64.copysign(x)) == 0.0;
        match rounded.abs() > largest {
            true if toward_zero => largest.copysign(x),
            true => f64::INFINITY.copysign(x),
            false => rounded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(lo: f64, up: f64, dtype: DType) -> [f64; 2] {
        RandUniform::new(lo, up).ends(dtype)
    }

    #[test]
    fn the_ends_are_the_outermost_values_of_the_interval() {
        assert_eq!(ends(0.0, 1.0, DType::F64), [0.0, 1.0 - 2f64.powi(-53)]);
        assert_eq!(ends(0.0, 1.0, DType::F32), [0.0, 1.0 - 2f64.powi(-24)]);
        assert_eq!(ends(0.0, 1.0, DType::F16), [0.0, 1.0 - 2f64.powi(-11)]);
        assert_eq!(ends(0.0, 1.0, DType::BF16), [0.0, 1.0 - 2f64.powi(-8)]);
        // Around zero the neighbours are the smallest subnormals.
        assert_eq!(ends(-1.0, 0.0, DType::F16), [-1.0, -(2f64.powi(-24))]);
        assert_eq!(ends(-1e-30, 1e-30, DType::F16), [0.0, 0.0]);
        assert!(ends(-1e-30, 1.0, DType::F16)[0].is_sign_positive());
        // Ends between two values give the inner ones; 0.1 lies between two of bf16, 0x3dcc and 0x3dcd.
        assert_eq!(ends(0.1, 0.25, DType::BF16), [0.10009765625, 0.25 - 2f64.powi(-10)]);
        assert_eq!(ends(-0.25, -0.1, DType::BF16)[1], -0.10009765625);
    }

    #[test]
    fn the_ends_agree_with_a_search_through_all_values() {
        let values: Vec<f64> =
            (0..=u16::MAX).map(|b| half::f16::from_bits(b).to_f64()).filter(|x| x.is_finite()).collect();
        for (lo, up) in
            [(0.0, 1.0), (-3.7, 5.2), (1e-7, 2e-7), (0.1, 0.1001), (-70000.0, 70000.0), (1023.9, 1024.1), (-2.0, -1.0)]
        {
            let inside = || values.iter().copied().filter(|&x| lo <= x && x < up);
            let want = [inside().fold(f64::INFINITY, f64::min), inside().fold(f64::NEG_INFINITY, f64::max)];
            assert_eq!(ends(lo, up, DType::F16), want, "[{lo}, {up})");
        }
    }

    #[test]
    fn an_interval_without_values_gives_the_value_nearest_to_its_beginning() {
        assert_eq!(ends(2.0, 2.0, DType::F32), [2.0; 2]);
        assert_eq!(ends(1.0001, 1.0002, DType::F16), [1.0; 2]);
        assert_eq!(ends(1e6, 2e6, DType::F16), [f64::INFINITY; 2]);
        assert_eq!(ends(-2e6, -1e6, DType::F16), [f64::NEG_INFINITY; 2]);
        assert_eq!(ends(65519.0, 65519.5, DType::F16), [65504.0; 2]);
    }
}
