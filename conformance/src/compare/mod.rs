//! The comparator: compares results with the reference, by class.
//!
//! Every test here is written so that a NaN fails it and no element can hide another: two
//! well-known suites accept anything once one equal infinity or NaN has made their error a NaN.

mod bounded;
mod vendor;

pub(crate) use bounded::{Bounded, gamma};
pub use vendor::{Product, compare_product};

use crate::case::format_of;
use crate::schema::Class;
use isobit_hal::DType;

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// The number of elements that do not agree.
    pub differing: usize,
    /// The first of these elements.
    pub first: Option<Difference>,
    /// The largest distance in units in the last place; infinite if no number can express it (a NaN
    /// instead of a number, an infinity instead of a finite value).
    pub max_ulp: f64,
    /// The worst element in words, for comparisons in which agreeing elements may differ.
    pub worst: Option<Difference>,
}

/// One element that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its index in logical row-major order.
    pub index: usize,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub got: String,
}

/// Returns the bits of an element.
pub fn bits_at(dtype: DType, bytes: &[u8], index: usize) -> u64 {
    let at = |size: usize| &bytes[index * size..][..size];
    match dtype.size_in_bytes() {
        1 => bytes[index].into(),
        2 => u16::from_ne_bytes(at(2).try_into().expect("two bytes")).into(),
        4 => u32::from_ne_bytes(at(4).try_into().expect("four bytes")).into(),
        _ => u64::from_ne_bytes(at(8).try_into().expect("eight bytes")),
    }
}

/// Formats a value for readers, with its bits.
pub fn show(dtype: DType, bits: u64) -> String {
    let width = 2 * dtype.size_in_bytes();
    match format_of(dtype) {
        Some(f) => format!("{:?} ({bits:#0w$x})", f.to_f64(bits), w = width + 2),
        None => format!("{:?}", signed(dtype, bits)),
    }
}

fn signed(dtype: DType, bits: u64) -> i128 {
    match dtype {
        DType::I8 => (bits as i8).into(),
        DType::I16 => (bits as i16).into(),
        DType::I32 => (bits as i32).into(),
        DType::I64 => (bits as i64).into(),
        _ => bits.into(),
    }
}

/// Returns the bits that class `class` compares: outside `moved`, every NaN has the same bits.
pub fn canonical(class: Class, dtype: DType, bits: u64) -> u64 {
    match format_of(dtype) {
        Some(f) if class != Class::Moved && f.is_nan(bits) => f.canonical_nan(),
        _ => bits,
    }
}

/// Returns the distance of two values in units in the last place: for floats the number of steps
/// between them (-0 and +0 are one apart), for integers the difference. It is infinite between a
/// NaN and a number, and between an infinity and a finite number.
pub fn ulp_distance(dtype: DType, a: u64, b: u64) -> f64 {
    let Some(f) = format_of(dtype) else {
        return (signed(dtype, a) - signed(dtype, b)).unsigned_abs() as f64;
    };
    match () {
        () if f.is_nan(a) && f.is_nan(b) => 0.0,
        () if f.is_nan(a) || f.is_nan(b) => f64::INFINITY,
        () if a != b && (f.is_infinite(a) || f.is_infinite(b)) => f64::INFINITY,
        () => (f.ordinal(a) - f.ordinal(b)).unsigned_abs() as f64,
    }
}

/// Compares two results of equal length bit for bit, with the elements in logical order, for the
/// classes moved, exact and defined. Outside `moved`, any NaN equals any other NaN.
///
/// # Panics
/// Panics if the lengths differ: both must come from one layout.
pub fn compare_bits(class: Class, dtype: DType, expected: &[u8], got: &[u8]) -> Comparison {
    assert_eq!(expected.len(), got.len(), "results of one layout have one length");
    let mut found = Comparison::default();
    if expected == got {
        return found;
    }
    for index in 0..expected.len() / dtype.size_in_bytes() {
        let (e, g) = (bits_at(dtype, expected, index), bits_at(dtype, got, index));
        if e == g || canonical(class, dtype, e) == canonical(class, dtype, g) {
            continue;
        }
        found.differing += 1;
        // In class moved two NaNs may differ, because their payloads are data.
        found.max_ulp = found.max_ulp.max(ulp_distance(dtype, e, g).max(1.0));
        found.first.get_or_insert_with(|| Difference { index, expected: show(dtype, e), got: show(dtype, g) });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_ne_bytes()).collect()
    }

    fn differing(class: Class, a: &[f32], b: &[f32]) -> usize {
        compare_bits(class, DType::F32, &f32s(a), &f32s(b)).differing
    }

    #[test]
    fn one_ulp_is_caught() {
        for x in [1.0f32, -1.0, 1e-40, 3e38, 0.0] {
            let c = compare_bits(Class::Exact, DType::F32, &f32s(&[x]), &f32s(&[f32::from_bits(x.to_bits() + 1)]));
            assert_eq!((c.differing, c.max_ulp), (1, 1.0), "{x}");
        }
    }

    #[test]
    fn the_sign_of_zero_counts() {
        assert_eq!(differing(Class::Exact, &[0.0], &[-0.0]), 1);
        assert_eq!(differing(Class::Defined, &[-0.0], &[0.0]), 1);
    }

    #[test]
    fn a_nan_is_no_number_and_an_infinity_no_maximum() {
        for (a, b) in [(f32::NAN, 1.0), (1.0, f32::NAN), (f32::INFINITY, f32::MAX), (f32::NAN, f32::INFINITY)] {
            let c = compare_bits(Class::Defined, DType::F32, &f32s(&[a]), &f32s(&[b]));
            assert_eq!((c.differing, c.max_ulp), (1, f64::INFINITY), "{a} {b}");
        }
        assert_eq!(differing(Class::Exact, &[f32::INFINITY], &[f32::NEG_INFINITY]), 1);
    }

    #[test]
    fn any_nan_equals_any_nan_but_where_values_are_moved() {
        let (a, b) = (f32::from_bits(0x7fc0_0001), f32::from_bits(0xffc0_0002));
        assert_eq!(differing(Class::Exact, &[a], &[b]), 0);
        assert_eq!(differing(Class::Defined, &[a], &[b]), 0);
        assert_eq!(differing(Class::Moved, &[a], &[b]), 1);
    }

    #[test]
    fn equal_infinities_and_nans_hide_no_other_element() {
        let a = [f32::INFINITY, f32::NAN, 1.0, 2.0];
        let b = [f32::INFINITY, f32::NAN, 123.0, 2.0];
        let c = compare_bits(Class::Defined, DType::F32, &f32s(&a), &f32s(&b));
        assert_eq!((c.differing, c.first.map(|d| d.index)), (1, Some(2)));
    }

    #[test]
    fn swapped_neighbours_flushed_subnormals_and_a_lost_element_are_caught() {
        assert_eq!(differing(Class::Exact, &[1.0, 2.0], &[2.0, 1.0]), 2);
        assert_eq!(differing(Class::Exact, &[1e-40], &[0.0]), 1);
        assert_eq!(differing(Class::Exact, &[1.0, 2.0, 3.0], &[1.0, 2.0, 0.0]), 1);
    }

    #[test]
    fn every_dtype_is_compared_by_its_own_width() {
        for &dtype in DType::ALL {
            let size = dtype.size_in_bytes();
            let a = vec![1u8; 5 * size];
            for i in 0..5 {
                let mut b = a.clone();
                b[i * size + size - 1] ^= 2;
                let c = compare_bits(Class::Exact, dtype, &a, &b);
                assert_eq!((c.differing, c.first.map(|d| d.index)), (1, Some(i)), "{dtype}");
            }
        }
        assert_eq!(ulp_distance(DType::I64, i64::MIN as u64, i64::MAX as u64), 2f64.powi(64));
    }

    #[test]
    fn distances_of_narrow_formats_are_counted_in_their_own_numbers() {
        // 448 and 416 are neighbours in f8e4m3; 0x7f is its NaN.
        assert_eq!(ulp_distance(DType::F8E4M3, 0x7e, 0x7d), 1.0);
        assert_eq!(ulp_distance(DType::F8E4M3, 0x7e, 0x7f), f64::INFINITY);
        assert_eq!(ulp_distance(DType::BF16, 0x3f80, 0x3f84), 4.0);
        assert_eq!(ulp_distance(DType::F64, 1f64.to_bits(), (-1f64).to_bits()), 2.0 * 1f64.to_bits() as f64 + 1.0);
    }
}
