//! Parameters of random numbers. They say where in which sequence the numbers stand, so that an
//! operation is a function of its parameters alone; devices keep the position
//! ([`BackendDevice::rand_uniform`](crate::BackendDevice::rand_uniform)).

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
            /// Where in the sequence the first element stands: numbers drawn from it before.
            /// Element `i` of the result, in row-major order, is number `offset + i`.
            pub offset: u64,
            /// Who draws. `None` is the generator that gives the same numbers on every device,
            /// whatever the device's default; a vendor's library has numbers of its own, and draws
            /// them only where it is asked by name.
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
    /// The smallest and the largest value that a result of a dtype can have: those of the interval.
    /// Where the dtype has none there, both are the value nearest to `lo`.
    pub fn ends(&self, dtype: DType) -> [f64; 2] {
        let grid = Grid::of(dtype);
        // What is below `up` is at most the f64 before it, so the largest of the dtype's values up
        // to that one is meant.
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

    /// A neighbour of `x`, or `x` itself: which, says a rounding to integers. Beyond the largest
    /// number it is an infinity, or that number where the rounding goes towards zero.
    fn round(&self, x: f64, to_integer: fn(f64) -> f64) -> f64 {
        let [least, most] = self.exponents;
        if x == 0.0 || x.is_infinite() || self.precision == 53 {
            // Without the sign of a zero.
            return x + 0.0;
        }
        let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
        // Every f64 is a whole number of these, or has a fraction that the division keeps: both are
        // powers of two apart.
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
