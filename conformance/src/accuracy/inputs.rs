//! The inputs at which the recipes are evaluated: every input, or a drawn set that includes the
//! special ones.

use super::float::Float;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::marker::PhantomData;

/// The arguments of an N-ary function, in chunks.
pub(super) struct Inputs<T, const N: usize> {
    drawn: Option<[Vec<T>; N]>,
    element: PhantomData<T>,
}

/// The number of elements of a chunk: a few pages, so that its arguments and results stay in the
/// cache.
const CHUNK: usize = 1 << 15;

impl<T: Float, const N: usize> Inputs<T, N> {
    /// Returns the number of chunks.
    pub(super) fn chunks(&self) -> usize {
        match &self.drawn {
            Some(drawn) => drawn[0].len().div_ceil(CHUNK),
            None => (1usize << T::FORMAT.bits).div_ceil(CHUNK),
        }
    }

    /// Returns the arguments of one chunk.
    pub(super) fn chunk(&self, index: usize) -> [Vec<T>; N] {
        let start = index * CHUNK;
        match &self.drawn {
            Some(drawn) => drawn.each_ref().map(|v| v[start..v.len().min(start + CHUNK)].to_vec()),
            None => {
                let end = (start + CHUNK).min(1 << T::FORMAT.bits);
                std::array::from_fn(|_| (start..end).map(|bits| T::from_bits(bits as u32)).collect())
            }
        }
    }
}

/// A sequence of well-mixed numbers.
struct Draw(SplitMix64);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number from -1 to 1.
    fn unit(&mut self) -> f64 {
        self.next() as i64 as f64 / i64::MAX as f64
    }
}

/// Returns zeros, ones, the ends of the range and of the subnormals, NaN and infinities, halves and
/// multiples of pi/4, and the neighbours of all these.
fn specials<T: Float>() -> Vec<T> {
    let f = T::FORMAT;
    let smallest = 2f64.powi(f.min_exponent);
    let mut values =
        vec![0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 10.0, 127.0, 1e4, f.max, f.max / 2.0, f64::INFINITY, f64::NAN];
    values.extend([smallest, smallest * 2f64.powi(1 - f.precision), smallest * 1.5, 1.0 / smallest]);
    values.extend((1..=16).map(|k| f64::from(k) * std::f64::consts::FRAC_PI_4));
    values.extend((-12..12).map(|k| 2f64.powi(k)));
    let neighbours = |v: f64| {
        let bits = T::nearest(v).bits();
        [bits.wrapping_sub(1), bits, bits + 1]
    };
    let magnitude = (1u32 << (f.bits - 1)) - 1;
    let mut bits: Vec<u32> = values.into_iter().flat_map(neighbours).map(|b| b & magnitude).collect();
    bits.sort_unstable();
    bits.dedup();
    bits.iter().flat_map(|&b| [b, b | (magnitude + 1)]).map(T::from_bits).collect()
}

impl<T: Float> Inputs<T, 1> {
    /// Every value of the type.
    pub(super) fn every() -> Self {
        Self { drawn: None, element: PhantomData }
    }

    /// The hard inputs, the special values and `count` drawn ones. Half of these are spread evenly
    /// over the bit patterns, and thus over the exponents; the other half evenly between -16 and
    /// 16, where most functions bend.
    pub(super) fn sampled(hard: Vec<T>, count: usize, seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let mut values = hard;
        values.extend(specials::<T>());
        let half = (count / 2).max(1) as u64;
        // One value in each stratum of the bit patterns.
        let stratum = ((1u64 << T::FORMAT.bits) / half).max(1);
        values.extend((0..half).map(|i| T::from_bits((i * stratum + draw.next() % stratum) as u32)));
        values.extend((0..half).map(|_| T::nearest(16.0 * draw.unit())));
        Self { drawn: Some([values]), element: PhantomData }
    }
}

impl<T: Float> Inputs<T, 2> {
    /// The arguments of a power: the hard pairs, as bits, all pairs of special values and `count`
    /// drawn pairs, most of which have a result within the range.
    pub(super) fn powers(hard: Vec<Vec<u64>>, count: usize, seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let special = specials::<T>();
        let pairs = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y)));
        let (mut x, mut y): (Vec<T>, Vec<T>) = pairs.unzip();
        if let [bases, exponents] = &hard[..] {
            x.extend(bases.iter().map(|&bits| T::from_bits(bits as u32)));
            y.extend(exponents.iter().map(|&bits| T::from_bits(bits as u32)));
        }
        // The result's logarithm is drawn, slightly beyond the range on both sides.
        let top = T::FORMAT.max.log2() * 1.1;
        let pattern = (1u64 << T::FORMAT.bits) - 1;
        for i in 0..count {
            let base = match i % 3 {
                0 => T::from_bits((draw.next() & pattern) as u32),
                // Close to one, where a large exponent magnifies the logarithm's error.
                1 => T::nearest(1.0 + 0.1 * draw.unit()),
                _ => T::nearest(8.0 * draw.unit()),
            };
            let exponent = match i % 4 {
                0 => T::nearest((16.0 * draw.unit()).round()),
                1 => T::from_bits((draw.next() & pattern) as u32),
                _ => T::nearest(top * draw.unit() / base.value().abs().log2()),
            };
            x.push(base);
            y.push(exponent);
        }
        Self { drawn: Some([x, y]), element: PhantomData }
    }

    /// The arguments of a function of two sides: the hard pairs, as bits, all pairs of special
    /// values and `count` drawn pairs, in most of which neither side is negligible.
    pub(super) fn sides(hard: Vec<Vec<u64>>, count: usize, seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let special = specials::<T>();
        let pairs = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y)));
        let (mut x, mut y): (Vec<T>, Vec<T>) = pairs.unzip();
        if let [first, second] = &hard[..] {
            x.extend(first.iter().map(|&bits| T::from_bits(bits as u32)));
            y.extend(second.iter().map(|&bits| T::from_bits(bits as u32)));
        }
        let pattern = (1u64 << T::FORMAT.bits) - 1;
        for i in 0..count {
            let any = T::from_bits((draw.next() & pattern) as u32);
            let (first, second) = match i % 4 {
                0 => (any, T::from_bits((draw.next() & pattern) as u32)),
                1 => (T::nearest(8.0 * draw.unit()), T::nearest(8.0 * draw.unit())),
                _ => (any, T::nearest(any.value() * draw.unit() * 2f64.powi((draw.next() % 16) as i32 - 7))),
            };
            x.push(first);
            y.push(second);
        }
        Self { drawn: Some([x, y]), element: PhantomData }
    }
}
