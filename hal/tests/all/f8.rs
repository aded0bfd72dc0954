//! Tests the conversions of the 8-bit floats against the definitions of their formats.

use isobit_hal::{F8E4M3, F8E5M2, f16};
use std::cmp::Ordering;

/// Returns the value of a non-negative, finite code by the specification's formula.
fn value(code: u8) -> f64 {
    let (exponent, fraction) = (i32::from(code >> 3), f64::from(code & 7));
    match exponent {
        0 => fraction / 8.0 * 2f64.powi(-6),
        _ => (1.0 + fraction / 8.0) * 2f64.powi(exponent - 7),
    }
}

#[test]
fn every_code_is_the_number_the_specification_says() {
    for code in 0..=0x7e {
        assert_eq!(F8E4M3::from_bits(code).to_f64(), value(code));
        assert_eq!(F8E4M3::from_bits(code | 0x80).to_f64(), -value(code));
    }
    assert!(F8E4M3::from_bits(0x7f).to_f32().is_nan());
    assert!(F8E4M3::from_bits(0xff).to_f32().is_nan());
    assert!(F8E4M3::NEG_ZERO.to_f32().is_sign_negative());
    assert_eq!(F8E4M3::MAX.to_f32(), 448.0);
    assert_eq!(F8E4M3::ONE.to_f32(), 1.0);
    assert_eq!(F8E4M3::EPSILON.to_f32(), 0.125);
    assert_eq!(F8E4M3::MIN_POSITIVE.to_f32(), 0.015625);
}

#[test]
fn rounds_once_to_nearest_even() {
    for code in 0..0x7e {
        let (low, high) = (value(code), value(code + 1));
        let middle = (low + high) / 2.0;
        let even = code + (code & 1);
        for sign in [0, 0x80] {
            let signed = |x: f64| if sign == 0 { x } else { -x };
            let rounds = |x: f64, want: u8| {
                assert_eq!(F8E4M3::from_f64(signed(x)).to_bits(), want | sign, "{x}");
            };
            rounds(low, code);
            rounds(middle, even);
            rounds(middle.next_down(), code);
            rounds(middle.next_up(), code + 1);
            let rounds = |x: f32, want: u8| {
                let x = signed(f64::from(x)) as f32;
                assert_eq!(F8E4M3::from_f32(x).to_bits(), want | sign, "{x}");
            };
            rounds(middle as f32, even);
            rounds((middle as f32).next_down(), code);
            rounds((middle as f32).next_up(), code + 1);
        }
    }
}

#[test]
fn saturates_and_keeps_nan() {
    for x in [448.1, 464.0, 480.0, 1e30, 1e300, f64::INFINITY] {
        assert_eq!(F8E4M3::from_f64(x).to_bits(), 0x7e);
        assert_eq!(F8E4M3::from_f64(-x).to_bits(), 0xfe);
        assert_eq!(F8E4M3::from_f32(x as f32).to_bits(), 0x7e);
        assert_eq!(F8E4M3::from_f32(-x as f32).to_bits(), 0xfe);
    }
    assert!(F8E4M3::from_f32(f32::NAN).is_nan());
    assert!(F8E4M3::from_f64(f64::NAN).is_nan());
    assert_eq!(F8E4M3::from_f64(-5e-324).to_bits(), 0x80);
}

#[test]
fn compares_by_value() {
    assert_eq!(F8E4M3::ZERO, F8E4M3::NEG_ZERO);
    assert_ne!(F8E4M3::NAN, F8E4M3::NAN);
    assert!(F8E4M3::MIN < F8E4M3::NEG_ONE && F8E4M3::NEG_ONE < F8E4M3::MIN_POSITIVE);
    assert_eq!(F8E4M3::NEG_ZERO.total_cmp(&F8E4M3::ZERO), Ordering::Less);
    assert_eq!(F8E4M3::NAN.total_cmp(&F8E4M3::MAX), Ordering::Greater);
    assert_eq!((-F8E4M3::NAN).total_cmp(&F8E4M3::MIN), Ordering::Less);
    assert_eq!("0.3".parse::<F8E4M3>().map(F8E4M3::to_f32), Ok(0.3125));
    assert_eq!(F8E4M3::from_f32(1.5).to_string(), "1.5");
}

/// Returns the value of a non-negative, finite code of e5m2, or what would come after the largest.
fn e5m2(code: u8) -> f64 {
    let (exponent, fraction) = (i32::from(code >> 2), f64::from(code & 3));
    match exponent {
        0 => fraction / 4.0 * 2f64.powi(-14),
        _ => (1.0 + fraction / 4.0) * 2f64.powi(exponent - 15),
    }
}

#[test]
fn e5m2_is_the_upper_half_of_a_binary16() {
    for code in 0..=255u8 {
        let (x, half) = (F8E5M2::from_bits(code), f16::from_bits(u16::from(code) << 8));
        assert_eq!((x.is_nan(), x.is_infinite(), x.is_finite()), (half.is_nan(), half.is_infinite(), half.is_finite()));
        assert_eq!(x.is_sign_negative(), half.is_sign_negative());
        if !x.is_nan() {
            assert_eq!(x.to_f32().to_bits(), half.to_f32().to_bits(), "{code:#x}");
            assert_eq!(F8E5M2::from_f32(x.to_f32()).to_bits(), code);
        }
        if code < 0x7c {
            assert_eq!(x.to_f64(), e5m2(code));
        }
    }
    let named = [F8E5M2::MAX, F8E5M2::MIN_POSITIVE, F8E5M2::MIN_POSITIVE_SUBNORMAL, F8E5M2::MAX_SUBNORMAL];
    assert_eq!(named.map(F8E5M2::to_f64), [57344.0, 2f64.powi(-14), 2f64.powi(-16), 3.0 * 2f64.powi(-16)]);
    assert_eq!([F8E5M2::ONE, F8E5M2::NEG_ONE, F8E5M2::EPSILON].map(F8E5M2::to_f32), [1.0, -1.0, 0.25]);
}

#[test]
fn e5m2_rounds_once_to_nearest_even_and_overflows() {
    for code in 0..0x7c {
        let (low, high) = (e5m2(code), e5m2(code + 1));
        let middle = (low + high) / 2.0;
        let even = code + (code & 1);
        for sign in [0, 0x80] {
            let signed = |x: f64| if sign == 0 { x } else { -x };
            for (x, want) in [(low, code), (middle, even), (middle.next_down(), code), (middle.next_up(), code + 1)] {
                assert_eq!(F8E5M2::from_f64(signed(x)).to_bits(), want | sign, "{x}");
            }
            let middle = middle as f32;
            for (x, want) in [(middle, even), (middle.next_down(), code), (middle.next_up(), code + 1)] {
                assert_eq!(F8E5M2::from_f32(signed(x.into()) as f32).to_bits(), want | sign, "{x}");
            }
        }
    }
    for x in [61440.0, 65536.0, 1e30, 1e300, f64::INFINITY] {
        assert_eq!(F8E5M2::from_f64(x), F8E5M2::INFINITY);
        assert_eq!(F8E5M2::from_f64(-x), F8E5M2::NEG_INFINITY);
        assert_eq!(F8E5M2::from_f32(x as f32), F8E5M2::INFINITY);
    }
    assert_eq!(F8E5M2::from_f64(61440f64.next_down()), F8E5M2::MAX);
    assert!(F8E5M2::from_f32(f32::NAN).is_nan() && F8E5M2::from_f64(-f64::NAN).is_nan());
    assert_eq!(F8E5M2::from_f64(-5e-324).to_bits(), 0x80);
}

#[test]
fn e5m2_compares_by_value() {
    assert_eq!(F8E5M2::ZERO, F8E5M2::NEG_ZERO);
    assert_ne!(F8E5M2::NAN, F8E5M2::NAN);
    assert!(F8E5M2::NEG_INFINITY < F8E5M2::MIN && F8E5M2::MAX < F8E5M2::INFINITY);
    assert_eq!(F8E5M2::NEG_ZERO.total_cmp(&F8E5M2::ZERO), Ordering::Less);
    assert_eq!(F8E5M2::NAN.total_cmp(&F8E5M2::INFINITY), Ordering::Greater);
    assert_eq!("0.3".parse::<F8E5M2>().map(F8E5M2::to_f32), Ok(0.3125));
}
