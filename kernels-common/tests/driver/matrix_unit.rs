//! Products on matrix units have the bits of chains of fused multiply-adds. The chain is computed
//! here, so this holds the unit of the card at hand, in the kernel's own shape, against IEEE 754.

use super::{Device, device};
use isobit_hal::{BackendDevice, BackendStorage, Layout, Matmul, Numerics, WithDType};
use std::fmt::LowerExp;
use std::ops::{Add, Range};

/// Numbers from SplitMix64, the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number of any sign and fraction with one of these exponents.
    pub(super) fn number<T: Real>(&mut self, exponents: &Range<i64>) -> T {
        let bits = self.bits();
        let exponent = exponents.start + ((bits >> 52 & 0x7ff) as i64) % (exponents.end - exponents.start);
        T::from_parts(bits >> 63 != 0, exponent as u64, self.bits())
    }

    fn numbers<T: Real>(&mut self, count: usize, exponents: &Range<i64>) -> Vec<T> {
        (0..count).map(|_| self.number(exponents)).collect()
    }
}

/// The exponents of the factors, biased.
pub(super) type Kind = (&'static str, Range<i64>, Range<i64>);

/// The types whose products are chains in the type itself.
pub(super) trait Real: WithDType + Default + LowerExp + Add<Output = Self> {
    /// Like sizes, which cancel; any; subnormal products; subnormal factors; sums that overflow.
    const KINDS: [Kind; 5];
    /// The smallest normal number, negated.
    const TINY: Self;

    /// Returns a number with the upper bits of `fraction`.
    fn from_parts(is_negative: bool, exponent: u64, fraction: u64) -> Self;
    /// Computes a * b + p, rounded once.
    fn fma(a: Self, b: Self, p: Self) -> Self;
    fn negated(self) -> Self;
    /// Whether two results are the same; all NaNs are.
    fn is_same(self, other: Self) -> bool;
}

macro_rules! real {
    ($float:ident, $bits:ident, $fraction:literal, $($kind:expr),*) => {
        impl Real for $float {
            const KINDS: [Kind; 5] = [$($kind),*];
            const TINY: Self = -Self::MIN_POSITIVE;

            fn from_parts(is_negative: bool, exponent: u64, fraction: u64) -> Self {
                let size = Self::from_bits((fraction >> (64 - $fraction) | exponent << $fraction) as $bits);
                if is_negative { -size } else { size }
            }

            #[inline]
            fn fma(a: Self, b: Self, p: Self) -> Self {
                a.mul_add(b, p)
            }

            fn negated(self) -> Self {
                -self
            }

            fn is_same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    };
}

real!(
    f64,
    u64,
    52,
    ("like sizes", 1020..1026, 1020..1026),
    ("any exponent", 0..2047, 0..2047),
    ("subnormal products", 480..540, 480..540),
    ("subnormal factors", 0..1, 1000..1060),
    ("close to overflow", 1530..1536, 1530..1536)
);
real!(
    f32,
    u32,
    23,
    ("like sizes", 124..130, 124..130),
    ("any exponent", 0..255, 0..255),
    ("subnormal products", 48..70, 48..70),
    ("subnormal factors", 0..1, 110..150),
    ("close to overflow", 186..192, 186..192)
);

/// The same of f64.
pub(super) const KINDS: [Kind; 5] = <f64 as Real>::KINDS;

/// Segments of 256 products, each from +0, added in ascending order.
pub(super) fn chain<T: Real>(products: &[(T, T)]) -> T {
    // In software it takes twenty times as long.
    #[target_feature(enable = "fma")]
    fn in_hardware<T: Real>(products: &[(T, T)]) -> T {
        segments(products)
    }
    #[inline(always)]
    fn segments<T: Real>(products: &[(T, T)]) -> T {
        let segment = |part: &[(T, T)]| part.iter().fold(T::default(), |sum, (a, b)| T::fma(*a, *b, sum));
        products.chunks(256).map(segment).reduce(|sum, next| sum + next).expect("a product")
    }
    if is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the instruction.
        return unsafe { in_hardware(products) };
    }
    segments(products)
}

/// Matrices of a batch, and their sides m, n and k.
type Sizes = (usize, [usize; 3]);

/// Returns matrices with the elements of a line next to each other; before, those of a position
/// were, if `turned`.
fn lines<T: Copy>(values: &[T], [batch, count, k]: [usize; 3], turned: bool) -> Vec<T> {
    let at = |matrix: usize, line: usize, k_at: usize| {
        values[matrix * count * k + if turned { k_at * count + line } else { line * k + k_at }]
    };
    let places = (0..batch).flat_map(|matrix| (0..count).map(move |line| (matrix, line)));
    places.flat_map(|(matrix, line)| (0..k).map(move |k_at| at(matrix, line, k_at))).collect()
}

#[track_caller]
pub(super) fn check<T: Real>(
    device: &Device,
    name: &str,
    (batch, [m, n, k]): Sizes,
    a: &[T],
    b: &[T],
    turned: (bool, bool),
) {
    let side = |values: &[T], (rows, cols): (usize, usize), turned: bool| {
        let layout = if turned {
            Layout::contiguous([batch, cols, rows]).transpose(1, 2).unwrap()
        } else {
            Layout::contiguous([batch, rows, cols])
        };
        (device.storage_from_slice(values).unwrap(), layout)
    };
    let ((a_on, a_layout), (b_on, b_layout)) = (side(a, (m, k), turned.0), side(b, (k, n), turned.1));
    let op = Matmul::with_numerics(Numerics::Portable);
    let got = a_on.matmul(&a_layout, &b_on, &b_layout, op).unwrap().to_vec::<T>().unwrap();
    // Rows and columns, each contiguous.
    let (rows, cols) = (lines(a, [batch, m, k], turned.0), lines(b, [batch, n, k], !turned.1));
    let mut products = Vec::new();
    for (i, got) in got.into_iter().enumerate() {
        let (matrix, row, col) = (i / (m * n), i / n % m, i % n);
        let [row_at, col_at] = [(matrix * m + row) * k, (matrix * n + col) * k];
        products.clear();
        products.extend(rows[row_at..][..k].iter().copied().zip(cols[col_at..][..k].iter().copied()));
        let want = chain(&products);
        let same = got.is_same(want);
        assert!(same, "{name}, {batch} x {m} x {n} x {k}, {turned:?}: {matrix}, {row}, {col}: {got:e}, not {want:e}");
    }
}

/// Checks a product of a few tiles and two segments.
pub(super) fn check_one<T: Real>(device: &Device) {
    let mut random = Random(21);
    let (m, n, k) = (130, 66, 263);
    let (a, b) = (random.numbers::<T>(m * k, &T::KINDS[0].1), random.numbers::<T>(k * n, &T::KINDS[0].2));
    check(device, "one product", (1, [m, n, k]), &a, &b, (false, false));
}

fn products_in_tiles<T: Real>(device: &Device) {
    let mut random = Random(19);
    for (name, of_a, of_b) in T::KINDS {
        // Odd sizes; whole tiles with vectors; k with a ragged tail; several segments at once.
        for (m, n, k) in [(17, 23, 5), (64, 128, 64), (65, 63, 37), (132, 68, 520)] {
            for turned in [(false, false), (false, true), (true, false), (true, true)] {
                let a: Vec<T> = random.numbers(m * k, &of_a);
                let b: Vec<T> = random.numbers(k * n, &of_b);
                check(device, name, (1, [m, n, k]), &a, &b, turned);
            }
        }
    }
}

#[test]
fn products_in_tiles_are_chains() {
    let Some(device) = device() else { return };
    products_in_tiles::<f64>(&device);
    products_in_tiles::<f32>(&device);
}

/// More blocks than the card has multiprocessors, so that each computes all segments of its
/// results.
fn products_of_many_segments<T: Real>(device: &Device) {
    let mut random = Random(20);
    let like = &T::KINDS[0].1;
    let sizes @ (batch, [m, n, k]) = (device.info().unwrap().multiprocessors + 1, [17, 18, 530]);
    for turned in [(false, false), (true, true)] {
        let a: Vec<T> = random.numbers(batch * m * k, like);
        let b: Vec<T> = random.numbers(batch * k * n, like);
        check(device, "many segments", sizes, &a, &b, turned);
    }
}

#[test]
fn products_of_many_segments_are_chains() {
    let Some(device) = device() else { return };
    products_of_many_segments::<f64>(&device);
    products_of_many_segments::<f32>(&device);
}

/// A product that underflows leaves -0 in a sum, which the zeros beyond k must not change.
fn sums_of_minus_zero<T: Real>(device: &Device) {
    for k in [1, 3, 7, 9, 15, 17, 258] {
        let (m, n) = (20, 24);
        let a = vec![T::TINY; m * k];
        let b = vec![T::TINY.negated(); k * n];
        check(device, "minus zero", (1, [m, n, k]), &a, &b, (false, false));
        check(device, "minus zero", (1, [m, n, k]), &a, &b, (true, true));
    }
}

#[test]
fn sums_of_minus_zero_stay() {
    let Some(device) = device() else { return };
    sums_of_minus_zero::<f64>(&device);
    sums_of_minus_zero::<f32>(&device);
}
