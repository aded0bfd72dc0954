//! Compares a result with the golden one.

use super::damaged;
use super::file::{Case, Golden, Tolerance};
use isobit_hal::{BackendStorage, CpuStorage, Error, Result, WithDType, dispatch_dtype};

/// The result of a case.
pub(super) struct Found {
    pub(super) failed: bool,
    pub(super) bit_exact: bool,
    /// `None` if a number cannot express it.
    pub(super) max_ulp: Option<f64>,
    pub(super) worst: Option<String>,
    pub(super) layout: String,
}

impl Found {
    /// Returns the result for a call that failed with an error.
    pub(super) fn error(e: &Error) -> Self {
        Self { failed: true, bit_exact: false, max_ulp: None, worst: Some(e.to_string()), layout: "none".into() }
    }
}

/// An element in the form that the comparison uses.
#[derive(Clone, Copy)]
struct Element {
    bits: u64,
    /// Its position among the values of its dtype: neighbours differ by one, and both zeros are 0.
    place: i128,
    value: f64,
    nan: bool,
}

fn element<T: WithDType>(v: T) -> Element {
    let (bits, size) = (v.to_scalar().to_bits(), 8 * size_of::<T>() as u32);
    if !T::DTYPE.is_float() {
        let signed = !T::DTYPE.is_unsigned();
        let shift = 64 - size;
        let place = if signed { i128::from((bits << shift) as i64 >> shift) } else { i128::from(bits) };
        return Element { bits, place, value: place as f64, nan: false };
    }
    let sign = 1u64 << (size - 1);
    let magnitude = i128::from(bits & (sign - 1));
    let place = if bits & sign != 0 { -magnitude } else { magnitude };
    // Display of every float dtype prints enough digits to parse the same value again.
    let value: f64 = v.to_string().parse().unwrap_or(f64::NAN);
    Element { bits, place, value, nan: value.is_nan() }
}

fn elements(storage: &CpuStorage) -> Result<Vec<Element>> {
    dispatch_dtype!(storage.dtype(), T => Ok(storage.to_vec::<T>()?.into_iter().map(element).collect()))
}

/// Compares a result with the golden buffer.
///
/// # Errors
/// Returns `Other` if the case is damaged.
pub(super) fn compare(case: &Case, golden: &Golden, got: &CpuStorage) -> Result<Found> {
    let expected = golden.buffer(case.out.2)?;
    let want = CpuStorage::from_bytes(expected.dtype, &expected.bytes)?;
    if want.dtype() != got.dtype() || want.len() != got.len() {
        return Err(damaged(format_args!(
            "{} gave {} elements of {}, but the vector has {} of {}",
            case.op,
            got.len(),
            got.dtype(),
            want.len(),
            want.dtype()
        )));
    }
    let bounds = match case.tol {
        Tolerance::Abs(buffer) => {
            let buffer = golden.buffer(buffer)?;
            CpuStorage::from_bytes(buffer.dtype, &buffer.bytes)?.to_vec::<f64>()?
        }
        _ => vec![0.0; want.len()],
    };
    if bounds.len() != want.len() {
        return Err(damaged(format_args!("{} has {} bounds for {} elements", case.op, bounds.len(), want.len())));
    }
    let mut found =
        Found { failed: false, bit_exact: true, max_ulp: Some(0.0), worst: None, layout: layout_kind(case)? };
    let digits = 2 * want.dtype().size_in_bytes();
    let pairs = elements(got)?.into_iter().zip(elements(&want)?).zip(bounds);
    for (i, ((got, want), bound)) in pairs.enumerate() {
        if case.skip.binary_search(&i).is_ok() {
            continue;
        }
        let same = got.bits == want.bits || !matches!(case.tol, Tolerance::Raw) && got.nan && want.nan;
        if same {
            continue;
        }
        found.bit_exact = false;
        // The distance in floats; it is undefined between a NaN and a number, and between zeros
        // with different signs.
        let away = (!got.nan && !want.nan && got.place != want.place).then(|| (got.place - want.place).unsigned_abs());
        let good = match case.tol {
            Tolerance::Raw | Tolerance::Bits => false,
            Tolerance::Ulp(most) => away.is_some_and(|a| a <= u128::from(most)),
            Tolerance::Abs(_) => (got.value - want.value).abs() <= bound,
        };
        let further = match (found.max_ulp, away) {
            (Some(so_far), Some(now)) => now as f64 > so_far,
            (so_far, None) => so_far.is_some() && !good,
            (None, _) => false,
        };
        if further {
            found.max_ulp = away.map(|a| a as f64);
        }
        if !good && !found.failed || further && (good != found.failed) {
            let allowed = match case.tol {
                Tolerance::Raw | Tolerance::Bits => "every bit".to_string(),
                Tolerance::Ulp(most) => format!("{most} ulp"),
                Tolerance::Abs(_) => format!("{bound:e}"),
            };
            found.worst = Some(format!(
                "{} at element {i}: got 0x{:0digits$x} = {:e}, want 0x{:0digits$x} = {:e}, bound: {allowed}",
                case.op, got.bits, got.value, want.bits, want.value
            ));
        }
        found.failed |= !good;
    }
    Ok(found)
}

/// Returns the kind of the inputs' layout as one word.
fn layout_kind(case: &Case) -> Result<String> {
    let mut kind = "contiguous";
    for i in 0..case.inputs.len() {
        let layout = case.layout(i)?;
        let overlaps = layout.stride().iter().zip(layout.dims()).any(|(&s, &d)| s == 0 && d > 1);
        if overlaps {
            return Ok("broadcast".into());
        }
        if !layout.is_contiguous() {
            kind = if layout.stride().is_sorted_by(|a, b| a >= b) { "stepped" } else { "transposed" };
        } else if layout.start_offset() > 0 && kind == "contiguous" {
            kind = "narrowed";
        }
    }
    Ok(kind.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::{F8E4M3, f16};

    #[test]
    fn places_count_values() {
        let place = |v: f32| element(v).place;
        assert_eq!(place(1.0 + f32::EPSILON) - place(1.0), 1);
        assert_eq!((place(0.0), place(-0.0)), (0, 0));
        assert_eq!(place(f32::from_bits(1)) - place(-f32::from_bits(1)), 2);
        assert_eq!(element(-1i8).place, -1);
        assert_eq!(element(u32::MAX).place, i128::from(u32::MAX));
        assert!(element(F8E4M3::from_bits(0x7f)).nan && element(f16::NAN).nan);
        assert_eq!(element(F8E4M3::from_bits(0x7e)).value, 448.0);
        assert_eq!(element(f16::INFINITY).value, f64::INFINITY);
        assert_eq!(element(f64::from_bits(1)).value, f64::from_bits(1));
    }
}
