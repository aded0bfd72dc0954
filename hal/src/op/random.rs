//! Parameters of random numbers. They name the sequence and the position in it, so that the result
//! is a function of the parameters alone. Devices keep the position between calls
//! ([`BackendDevice::rand_uniform`](crate::BackendDevice::rand_uniform)).

use crate::{DType, Numerics};

macro_rules! random {
    ($(#[$meta:meta])* $name:ident $($(#[$field_meta:meta])* $field:ident)*) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_meta])* pub $field: f64,)*
            /// Selects the sequence.
            pub seed: u64,
            /// Position of the first element in the sequence. Element `i` of the result, in
            /// row-major order, is number `offset + i`.
            pub offset: u64,
            /// The generator. `None` is the portable generator, which gives the same numbers on
            /// every device, whatever the device's default is. A vendor library gives different
            /// numbers, and is used only if the call names [`Numerics::Vendor`].
            pub numerics: Option<Numerics>,
        }

        impl $name {
            /// Creates the parameters with seed 0 and offset 0.
            pub const fn new($($field: f64),*) -> Self {
                Self { $($field,)* seed: 0, offset: 0, numerics: None }
            }

            /// Sets the seed and the offset.
            pub const fn at(mut self, seed: u64, offset: u64) -> Self {
                self.seed = seed;
                self.offset = offset;
                self
            }

            /// Sets the numerics.
            pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
                self.numerics = Some(numerics);
                self
            }
        }
    };
}
random! {
    /// Uniform random numbers in `[lo, up)`. f16, bf16, f32 and f64. The portable generator is
    /// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3*,
    /// SC'11); [`docs/numerics/random.md`][random] fixes every bit.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op};
    /// # use isobit_hal::RandUniform;
    /// let mut x = CpuDevice.storage_from_slice(&[0.0f32; 8])?;
    /// let rand = RandUniform::new(-1.0, 1.0);
    /// let op = Op::RandUniform(rand.at(7, 0)); // seed 7, offset 0
    /// CpuStorage::apply_into(&op, &[], &mut x, &Layout::contiguous(8))?;
    /// assert!(x.to_vec::<f32>()?.iter().all(|v| (-1.0..1.0).contains(v)));
    /// // The offset is a position in the sequence: this repeats the last two numbers.
    /// let mut y = CpuDevice.storage_from_slice(&[0.0f32; 2])?;
    /// let op = Op::RandUniform(rand.at(7, 6));
    /// CpuStorage::apply_into(&op, &[], &mut y, &Layout::contiguous(2))?;
    /// assert_eq!(y.to_vec::<f32>()?, x.to_vec::<f32>()?[6..]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// [random]: https://github.com/isobit/isobit/blob/main/docs/numerics/random.md
    RandUniform
    /// The lower limit, inclusive.
    lo
    /// The upper limit, exclusive.
    up
}
random! {
    /// Normally distributed random numbers. f16, bf16, f32 and f64. The portable generator applies
    /// the transform of Box and Muller (1958) to the words of Philox4x32-10; see [`RandUniform`].
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op};
    /// # use isobit_hal::RandNormal;
    /// let mut x = CpuDevice.storage_from_slice(&[0.0f32; 3])?;
    /// let op = Op::RandNormal(RandNormal::new(2.5, 0.0)); // without deviation: the mean
    /// CpuStorage::apply_into(&op, &[], &mut x, &Layout::contiguous(3))?;
    /// assert_eq!(x.to_vec::<f32>()?, [2.5; 3]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    RandNormal
    /// The mean.
    mean
    /// The standard deviation; must not be negative.
    std
}

/// Parameters of choices with a probability.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident $(#[$p_meta:meta])* p) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $(#[$p_meta])* pub p: f64,
            /// Selects the sequence.
            pub seed: u64,
            /// Position of the first element in the sequence. Number `offset + i` decides element
            /// `i` of the result, in row-major order.
            pub offset: u64,
        }

        impl $name {
            /// Creates the parameters with seed 0 and offset 0.
            pub const fn new(p: f64) -> Self {
                Self { p, seed: 0, offset: 0 }
            }

            /// Sets the seed and the offset.
            pub const fn at(mut self, seed: u64, offset: u64) -> Self {
                self.seed = seed;
                self.offset = offset;
                self
            }
        }
    };
}
choice! {
    /// Random ones and zeros: each element is 1 with probability `p`, else 0. f16, bf16, f32, f64,
    /// and the dtypes of conditions and masks: u8, u32 and i64.
    ///
    /// An element takes one word of the sequence, whatever the dtype, and is 1 where the word is
    /// below [`threshold`](Self::threshold). So a seed gives the same ones in every dtype. They are
    /// the elements where [`RandUniform`] of f32 in `[0, 1)` is below `p`, if `p` is a multiple of
    /// 2^-24.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op};
    /// # use isobit_hal::Bernoulli;
    /// let (mut mask, l) = (CpuDevice.storage_from_slice(&[9u8; 8])?, Layout::contiguous(8));
    /// let op = Op::Bernoulli(Bernoulli::new(0.5).at(7, 0)); // seed 7, offset 0
    /// CpuStorage::apply_into(&op, &[], &mut mask, &l)?;
    /// assert!(mask.to_vec::<u8>()?.iter().all(|&v| v <= 1));
    /// let mut floats = CpuDevice.storage_from_slice(&[0.0f32; 8])?;
    /// CpuStorage::apply_into(&op, &[], &mut floats, &l)?;
    /// let floats = floats.to_vec::<f32>()?;
    /// assert_eq!(mask.to_vec::<u8>()?, floats.iter().map(|&v| v as u8).collect::<Vec<_>>());
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Bernoulli
    /// The probability of a 1, from 0 to 1.
    p
}

impl Bernoulli {
    /// Returns the number of words, of all 2^32, that give a 1: `p * 2^32`, which is exact, rounded
    /// to the nearest integer, ties to even. No word gives a 1 for a `p` of 0, and every word does
    /// for 1.
    ///
    /// ```rust
    /// use isobit_hal::Bernoulli;
    /// assert_eq!(Bernoulli::new(0.25).threshold(), 1 << 30);
    /// assert_eq!([0.0, 1.0].map(|p| Bernoulli::new(p).threshold()), [0, 1 << 32]);
    /// ```
    pub fn threshold(&self) -> u64 {
        (self.p * 4_294_967_296.0).round_ties_even() as u64
    }
}

/// Random ones and zeros with a probability for each element, as `torch.bernoulli` of a tensor: the
/// element is 1 with the probability of the source's, else 0. f16, bf16, f32 and f64.
///
/// An element takes one word of the sequence and is 1 where the word is below the probability times
/// 2^32, rounded as [`Bernoulli::threshold`] rounds it. So if all probabilities are equal, the
/// result is that of [`Bernoulli`]. A probability below 0 or NaN counts as 0, and one above 1 as 1:
/// a device cannot look at them before it draws.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, BernoulliProbs, CpuDevice, CpuStorage};
/// # use isobit_hal::{Layout, Op};
/// let (p, l) = (CpuDevice.storage_from_slice(&[0.0f32, 1.0, 0.5])?, Layout::contiguous(3));
/// let op = Op::BernoulliProbs(BernoulliProbs::new().at(7, 0)); // seed 7, offset 0
/// let y = CpuStorage::apply(&op, &[(&p, &l)])?.to_vec::<f32>()?;
/// assert_eq!(y[..2], [0.0, 1.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BernoulliProbs {
    /// Selects the sequence.
    pub seed: u64,
    /// Position of the first element in the sequence. Number `offset + i` decides element `i` of
    /// the result, in row-major order.
    pub offset: u64,
}

impl BernoulliProbs {
    /// Creates the parameters with seed 0 and offset 0.
    pub const fn new() -> Self {
        Self { seed: 0, offset: 0 }
    }

    /// Sets the seed and the offset.
    pub const fn at(self, seed: u64, offset: u64) -> Self {
        Self { seed, offset }
    }
}

choice! {
    /// Dropout (Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov 2014, *Dropout: a
    /// simple way to prevent neural networks from overfitting*, JMLR 15): each element is 0 with
    /// probability `p`, else `x / (1 - p)`, computed as a product with the rounded reciprocal. f16,
    /// bf16, f32 and f64.
    ///
    /// The elements that are kept are those where [`mask`](Self::mask) has a 1, so a backward pass
    /// can draw the mask again instead of reading it.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op};
    /// # use isobit_hal::Dropout;
    /// let (x, l) = (CpuDevice.storage_from_slice(&[3.0f32; 8])?, Layout::contiguous(8));
    /// let dropout = Dropout::new(0.5).at(7, 0); // seed 7, offset 0
    /// let y = CpuStorage::apply(&Op::Dropout(dropout), &[(&x, &l)])?.to_vec::<f32>()?;
    /// let mut mask = CpuDevice.storage_from_slice(&[0.0f32; 8])?;
    /// CpuStorage::apply_into(&Op::Bernoulli(dropout.mask()), &[], &mut mask, &l)?;
    /// assert_eq!(y, mask.to_vec::<f32>()?.iter().map(|m| m * 6.0).collect::<Vec<_>>());
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Dropout
    /// The probability of a 0, from 0 to 1.
    p
}

impl Dropout {
    /// Returns the draw that is 1 for the elements that are kept: with the probability `1 - p`, by
    /// the same numbers.
    pub const fn mask(&self) -> Bernoulli {
        Bernoulli::new(1.0 - self.p).at(self.seed, self.offset)
    }

    /// Returns the factor of elements that are kept: `1 / (1 - p)`.
    pub const fn scale(&self) -> f64 {
        1.0 / (1.0 - self.p)
    }
}

impl RandUniform {
    /// Returns the smallest and the largest value of the dtype in the interval. No result lies
    /// outside them. If the dtype has no value in the interval, both are the value nearest to `lo`.
    pub fn ends(&self, dtype: DType) -> [f64; 2] {
        let grid = Grid::of(dtype);
        // A value below `up` is at most the f64 before `up`, so round that one down.
        let [first, last] = [grid.round(self.lo, f64::ceil), grid.round(self.up.next_down(), f64::floor)];
        if first <= last { [first, last] } else { [grid.round(self.lo, f64::round_ties_even); 2] }
    }
}

/// The values of a float dtype as multiples of powers of two.
struct Grid {
    /// Bits of the significand, including the leading one.
    precision: i32,
    /// Exponents of the smallest and the largest normal number.
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

    /// Rounds `x` to a value of the dtype, in the direction of `to_integer`. Beyond the largest
    /// number the result is an infinity, or the largest number if the rounding is towards zero.
    fn round(&self, x: f64, to_integer: fn(f64) -> f64) -> f64 {
        let [least, most] = self.exponents;
        if x == 0.0 || x.is_infinite() || self.precision == 53 {
            // Adding +0 turns -0 into +0.
            return x + 0.0;
        }
        let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
        // Dividing by a power of two is exact, so the quotient keeps the fraction of x.
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
