//! Products on matrix units have the bits of chains of fused multiply-adds. The chain is computed
//! here, so this holds the unit of the card at hand, in the kernel's own shape, against IEEE 754.

use super::{Device, device};
use isobit_hal::{BackendDevice, BackendStorage, Layout, Matmul, Numerics};
use std::ops::Range;

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
    pub(super) fn number(&mut self, exponents: &Range<i64>) -> f64 {
        let bits = self.bits();
        let exponent = exponents.start + ((bits >> 52 & 0x7ff) as i64) % (exponents.end - exponents.start);
        f64::from_bits(self.bits() >> 12 | bits & 1 << 63 | (exponent as u64) << 52)
    }
}

/// The exponents of the factors, biased: like sizes, which cancel; any; subnormal products;
/// subnormal factors; sums that overflow.
pub(super) const KINDS: [(&str, Range<i64>, Range<i64>); 5] = [
    ("like sizes", 1020..1026, 1020..1026),
    ("any exponent", 0..2047, 0..2047),
    ("subnormal products", 480..540, 480..540),
    ("subnormal factors", 0..1, 1000..1060),
    ("close to overflow", 1530..1536, 1530..1536),
];

/// Segments of 256 products, each from +0, added in ascending order.
pub(super) fn chain(products: &[(f64, f64)]) -> f64 {
    let segment = |part: &[(f64, f64)]| part.iter().fold(0.0, |sum, (a, b)| a.mul_add(*b, sum));
    products.chunks(256).map(segment).reduce(|sum, next| sum + next).expect("a product")
}

/// Matrices of a batch, and their sides m, n and k.
type Sizes = (usize, [usize; 3]);

#[track_caller]
fn check(device: &Device, name: &str, (batch, [m, n, k]): Sizes, a: &[f64], b: &[f64], turned: (bool, bool)) {
    let side = |values: &[f64], (rows, cols): (usize, usize), turned: bool| {
        let layout = if turned {
            Layout::contiguous([batch, cols, rows]).transpose(1, 2).unwrap()
        } else {
            Layout::contiguous([batch, rows, cols])
        };
        (device.storage_from_slice(values).unwrap(), layout)
    };
    let ((a_on, a_layout), (b_on, b_layout)) = (side(a, (m, k), turned.0), side(b, (k, n), turned.1));
    let op = Matmul::with_numerics(Numerics::Portable);
    let got = a_on.matmul(&a_layout, &b_on, &b_layout, op).unwrap().to_vec::<f64>().unwrap();
    for (i, got) in got.into_iter().enumerate() {
        let (matrix, row, col) = (i / (m * n), i / n % m, i % n);
        let a_at = |at: usize| a[matrix * m * k + if turned.0 { at * m + row } else { row * k + at }];
        let b_at = |at: usize| b[matrix * k * n + if turned.1 { col * k + at } else { at * n + col }];
        let products: Vec<_> = (0..k).map(|at| (a_at(at), b_at(at))).collect();
        let want = chain(&products);
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "{name}, {batch} x {m} x {n} x {k}, {turned:?}: {matrix}, {row}, {col}: {got:e}, not {want:e}");
    }
}

#[test]
fn f64_products_in_tiles_are_chains() {
    let Some(device) = device() else { return };
    let mut random = Random(19);
    for (name, of_a, of_b) in KINDS {
        // Odd sizes; whole tiles with vectors; k with a ragged tail; several segments at once.
        for (m, n, k) in [(17, 23, 5), (64, 128, 64), (65, 63, 37), (132, 100, 520)] {
            for turned in [(false, false), (false, true), (true, false), (true, true)] {
                let a: Vec<f64> = (0..m * k).map(|_| random.number(&of_a)).collect();
                let b: Vec<f64> = (0..k * n).map(|_| random.number(&of_b)).collect();
                check(&device, name, (1, [m, n, k]), &a, &b, turned);
            }
        }
    }
}

/// More blocks than the card has multiprocessors, so that each computes all segments of its
/// results.
#[test]
fn f64_products_of_many_segments_are_chains() {
    let Some(device) = device() else { return };
    let mut random = Random(20);
    let sizes @ (batch, [m, n, k]) = (device.info().unwrap().multiprocessors + 1, [17, 18, 530]);
    for turned in [(false, false), (true, true)] {
        let a: Vec<f64> = (0..batch * m * k).map(|_| random.number(&(1020..1026))).collect();
        let b: Vec<f64> = (0..batch * k * n).map(|_| random.number(&(1020..1026))).collect();
        check(&device, "many segments", sizes, &a, &b, turned);
    }
}

/// A product that underflows leaves -0 in a sum, which the zeros beyond k must not change.
#[test]
fn sums_of_minus_zero_stay() {
    let Some(device) = device() else { return };
    for k in [1, 3, 7, 9, 15, 17, 258] {
        let (m, n) = (20, 24);
        let a = vec![-f64::MIN_POSITIVE; m * k];
        let b = vec![f64::MIN_POSITIVE; k * n];
        check(&device, "minus zero", (1, [m, n, k]), &a, &b, (false, false));
        check(&device, "minus zero", (1, [m, n, k]), &a, &b, (true, true));
    }
}
