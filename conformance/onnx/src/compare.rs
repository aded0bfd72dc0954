//! How results are judged: against the expected values by the rule of ONNX's own runner, and
//! against another device's bit for bit.
//!
//! The runner uses NumPy's `assert_allclose`: |a - e| <= atol + rtol |e|, NaN equal to NaN and
//! infinities only to themselves. For bfloat16 it takes two units of the last place as relative
//! tolerance, if that is more. Here integers and booleans must be equal.

use crate::element::Element;
use isobit::{BackendDevice, BackendStorage, CpuDevice, DType, Layout, Result};

/// The elements of a result on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The element type.
    pub element: Element,
    /// The shape.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub bytes: Vec<u8>,
}

/// The tolerances of a case.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// Relative to the expected value.
    pub rtol: f64,
    /// Absolute.
    pub atol: f64,
}

/// Two units of the last place of bfloat16.
const BF16_RTOL: f64 = 1.0 / 64.0;

impl Tolerance {
    /// Whether a value is close enough to the expected one.
    pub fn accepts(self, actual: f64, expected: f64) -> bool {
        if actual.is_nan() || expected.is_nan() {
            return actual.is_nan() && expected.is_nan();
        }
        if actual.is_infinite() || expected.is_infinite() {
            return actual == expected;
        }
        (actual - expected).abs() <= self.atol + self.rtol * expected.abs()
    }
}

impl Output {
    /// Returns the elements as f64.
    fn floats(&self) -> Result<Vec<f64>> {
        let storage = CpuDevice.storage_from_bytes(self.element.dtype, &self.bytes)?;
        if self.element.dtype == DType::F64 {
            return storage.to_vec();
        }
        storage.to_dtype(&Layout::contiguous(storage.len()), DType::F64)?.to_vec()
    }

    fn elements(&self) -> std::slice::ChunksExact<'_, u8> {
        self.bytes.chunks_exact(self.element.dtype.size_in_bytes())
    }

    /// Compares with the expected values.
    ///
    /// # Errors
    /// What differs first, and how many elements do.
    pub fn resembles(&self, expected: &Output, tolerance: Tolerance) -> Result<(), String> {
        self.has_form_of(expected)?;
        let is_float = self.element.dtype.is_float();
        let (actual, wanted) = (self.floats().map_err(text)?, expected.floats().map_err(text)?);
        let rtol = if self.element.dtype == DType::BF16 { tolerance.rtol.max(BF16_RTOL) } else { tolerance.rtol };
        let tolerance = Tolerance { rtol, ..tolerance };
        let pairs = actual.iter().zip(&wanted);
        let differ: Vec<usize> = pairs
            .zip(self.elements().zip(expected.elements()))
            .enumerate()
            .filter(
                |(_, ((a, e), (bits, wanted_bits)))| {
                    if is_float { !tolerance.accepts(**a, **e) } else { bits != wanted_bits }
                },
            )
            .map(|(at, _)| at)
            .collect();
        match differ.first() {
            None => Ok(()),
            Some(&at) => Err(format!(
                "{} of {} elements differ, the first at {at}: {} instead of {}",
                differ.len(),
                actual.len(),
                actual[at],
                wanted[at]
            )),
        }
    }

    /// Compares with another device's result, bit for bit; any NaN equals any NaN.
    ///
    /// # Errors
    /// What differs first.
    pub fn equals(&self, other: &Output) -> Result<(), String> {
        self.has_form_of(other)?;
        let (mine, others) = (self.canonical().map_err(text)?, other.canonical().map_err(text)?);
        if mine == others {
            return Ok(());
        }
        let width = self.element.dtype.size_in_bytes();
        let at = mine.chunks(width).zip(others.chunks(width)).position(|(a, b)| a != b).unwrap_or(0);
        let (a, b) = (self.floats().map_err(text)?[at], other.floats().map_err(text)?[at]);
        Err(format!("other bits than on the CPU, first at {at}: {a:?} instead of {b:?}"))
    }

    /// Returns the bytes with every NaN as all ones.
    ///
    /// # Errors
    /// Fails if the bytes are no elements.
    pub fn canonical(&self) -> Result<Vec<u8>> {
        if !self.element.dtype.is_float() {
            return Ok(self.bytes.clone());
        }
        let width = self.element.dtype.size_in_bytes();
        let mut bytes = self.bytes.clone();
        for (element, value) in bytes.chunks_exact_mut(width).zip(self.floats()?) {
            if value.is_nan() {
                element.fill(0xff);
            }
        }
        Ok(bytes)
    }

    fn has_form_of(&self, other: &Output) -> Result<(), String> {
        let (mine, others) = (self.element.name(), other.element.name());
        if mine != others {
            return Err(format!("the elements are {mine} instead of {others}"));
        }
        if self.shape != other.shape {
            return Err(format!("the shape is {:?} instead of {:?}", self.shape, other.shape));
        }
        Ok(())
    }
}

fn text(error: isobit::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(dtype: DType, bytes: &[u8]) -> Output {
        Output { element: dtype.into(), shape: vec![bytes.len() / dtype.size_in_bytes()], bytes: bytes.to_vec() }
    }

    fn floats(values: &[f32]) -> Output {
        output(DType::F32, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    const RULE: Tolerance = Tolerance { rtol: 1e-3, atol: 1e-7 };

    #[test]
    fn floats_are_close_as_in_numpy() {
        // numpy.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-7)
        for (actual, expected, passes) in [
            (1.0009, 1.0, true),
            (1.0011, 1.0, false),
            (1e-7, 0.0, true),
            (1.1e-7, 0.0, false),
            (f64::NAN, f64::NAN, true),
            (f64::NAN, 1.0, false),
            (1.0, f64::NAN, false),
            (f64::INFINITY, f64::INFINITY, true),
            (f64::NEG_INFINITY, f64::INFINITY, false),
            (1e308, f64::INFINITY, false),
            (0.0, -0.0, true),
        ] {
            assert_eq!(RULE.accepts(actual, expected), passes, "{actual} and {expected}");
        }
    }

    #[test]
    fn integers_are_exact_and_forms_the_same() {
        let [a, b] = [1000i32, 1001].map(|value| output(DType::I32, &value.to_le_bytes()));
        assert!(a.resembles(&b, RULE).unwrap_err().contains("1000 instead of 1001"));
        assert!(a.resembles(&a, RULE).is_ok());
        let bools = Output { element: Element::BOOL, ..output(DType::U8, &[1]) };
        assert!(bools.resembles(&output(DType::U8, &[1]), RULE).unwrap_err().contains("bool instead of uint8"));
        let flat = Output { shape: vec![1, 1], ..a.clone() };
        assert!(flat.resembles(&a, RULE).unwrap_err().contains("[1, 1] instead of [1]"));
    }

    #[test]
    fn bfloat16_may_differ_by_two_units() {
        // 1.0, 1 + 2^-7 and 1 + 3 * 2^-7.
        let [one, next, far] = [0x3f80u16, 0x3f81, 0x3f83].map(|bits| output(DType::BF16, &bits.to_le_bytes()));
        assert!(next.resembles(&one, RULE).is_ok());
        assert!(far.resembles(&one, RULE).is_err());
    }

    #[test]
    fn devices_agree_to_the_bit_but_for_nans() {
        assert!(floats(&[1.0, f32::NAN]).equals(&floats(&[1.0, -f32::NAN])).is_ok());
        let next = f32::from_bits(1.0f32.to_bits() + 1);
        assert!(floats(&[1.0, next]).equals(&floats(&[1.0, 1.0])).unwrap_err().contains("first at 1"));
        assert!(floats(&[0.0]).equals(&floats(&[-0.0])).is_err());
    }
}
