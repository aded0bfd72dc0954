//! Conversions between floating-point formats, and to integers within a format.

use super::{FLOATS, number};
use crate::lanes::{Exact, Op, Value, cases, check_rounded, rounding_of, value_of};
use std::cmp::Ordering;

/// Returns a comparison of a value with sums of two numbers.
fn against(value: Value) -> impl Fn(&Exact, i128) -> Ordering {
    move |with, times| with.clone().negated().plus(times * value.integer, value.exponent).sign()
}

fn infinity(fields: (u32, u32)) -> u64 {
    ((1 << fields.0) - 1) << fields.1
}

/// Whether a result is the canonical NaN; for binary64 any NaN is.
fn is_canonical(bits: u64, fields: (u32, u32)) -> bool {
    let size = bits & ((1 << (fields.0 + fields.1)) - 1);
    if fields.0 == 11 { size > infinity(fields) } else { bits == (1 << (fields.0 + fields.1)) - 1 }
}

#[test]
fn between_formats() {
    for (to, to_fields) in FLOATS {
        for (from, from_fields) in FLOATS {
            if to == from {
                continue;
            }
            let widens = to_fields.0 >= from_fields.0 && to_fields.1 >= from_fields.1;
            let roundings: &[&str] = if widens { &[""] } else { &["rn.", "rz.", "rm.", "rp."] };
            let [to_width, from_width] = [to_fields, from_fields].map(|(exponent, fraction)| exponent + fraction + 1);
            for rounding in roundings {
                let text = format!("cvt.{rounding}{to}.{from}");
                let op = Op::new(&text, &format!("b{to_width} b{from_width}"));
                op.each(cases(3000, |random| [random.float(from_fields.0, from_fields.1)]), |[x], got| {
                    let (negative, what) = (x >> (from_width - 1) == 1, format!("{text} of {x:#x}"));
                    match value_of(x, from_fields.0, from_fields.1) {
                        Some(value) => {
                            let rounding = rounding_of(rounding.trim_end_matches('.'));
                            check_rounded(got, to_fields, rounding, negative, against(value), &what);
                        }
                        None if x << (64 - from_width) << 1 == infinity(from_fields) << (64 - from_width) << 1 => {
                            assert_eq!(got, infinity(to_fields) | u64::from(negative) << (to_width - 1), "{what}");
                        }
                        None => assert!(is_canonical(got, to_fields), "{what}: {got:#x}"),
                    }
                });
            }
        }
    }
}

/// Rounds to an integer in the same format; the sign stays.
#[test]
fn rounding_to_integers() {
    for (ty, fields) in FLOATS {
        let width = fields.0 + fields.1 + 1;
        for rounding in ["rni", "rzi", "rmi", "rpi"] {
            let text = format!("cvt.{rounding}.{ty}.{ty}");
            Op::new(&text, &format!("b{width} b{width}")).each(
                cases(3000, |random| [number(random, fields)]),
                |[x], got| {
                    let Some(value) = value_of(x, fields.0, fields.1) else {
                        let is_infinite = x & !(1 << (width - 1)) == infinity(fields);
                        assert!(
                            if is_infinite { got == x } else { is_canonical(got, fields) },
                            "{text} of {x:#x}: {got:#x}"
                        );
                        return;
                    };
                    let result = value_of(got, fields.0, fields.1).unwrap();
                    assert_eq!(got >> (width - 1), x >> (width - 1), "{text} of {x:#x}: the sign");
                    // Compares in eighths: large numbers are integers already, and small ones have
                    // few digits.
                    if value.exponent >= 0 {
                        assert_eq!(got, x);
                        return;
                    }
                    let by = (-value.exponent).min(100) as u32;
                    let (below, rest) = (value.integer >> by, value.integer & ((1 << by) - 1));
                    let up = match rounding {
                        "rni" => rest > 1 << (by - 1) || rest == 1 << (by - 1) && below & 1 == 1,
                        "rzi" => value.integer < 0 && rest != 0,
                        "rmi" => false,
                        _ => rest != 0,
                    };
                    let difference = result.exact().plus(-(below + i128::from(up)), 0);
                    assert!(difference.sign().is_eq(), "{text} of {x:#x}: {got:#x}");
                },
            );
        }
    }
}

#[test]
fn flushing_and_saturation() {
    let one = |text: &str, operands: &str, x: u64| Op::new(text, operands).one([x]);
    // A binary64 whose binary32 is subnormal.
    let tiny = 1e-40f64.to_bits();
    assert_eq!(one("cvt.rn.f32.f64", "b32 b64", tiny), u64::from((1e-40f64 as f32).to_bits()));
    assert_eq!(one("cvt.rn.ftz.f32.f64", "b32 b64", tiny), 0);
    assert_eq!(one("cvt.ftz.f64.f32", "b64 b32", 0x8000_0001), 1 << 63);
    assert_eq!(one("cvt.ftz.f32.f32", "b32 b32", 0x8000_0001), 0x8000_0000);
    assert_eq!(one("cvt.f32.f32", "b32 b32", 0x8000_0001), 0x8000_0001);
    // A subnormal binary16 is not subnormal in binary32.
    assert_eq!(one("cvt.ftz.f32.f16", "b32 b16", 1), u64::from(2f32.powi(-24).to_bits()));
    for (x, want) in
        [(0.5, 0.5), (2.0, 1.0), (-1.0, 0.0), (-0.0, 0.0), (f32::NAN, 0.0), (f32::INFINITY, 1.0), (1.0, 1.0)]
    {
        assert_eq!(one("cvt.sat.f32.f32", "b32 b32", x.to_bits().into()), u64::from(f32::to_bits(want)));
        assert_eq!(one("cvt.sat.f64.f32", "b64 b32", x.to_bits().into()), f64::from(want).to_bits());
        assert_eq!(
            one("cvt.rn.sat.f16.f32", "b16 b32", x.to_bits().into()),
            u64::from(half::f16::from_f32(want).to_bits())
        );
    }
    assert_eq!(one("cvt.rn.sat.f32.s32", "b32 b32", 7), 0x3f80_0000);
    assert_eq!(one("cvt.rni.sat.f32.f32", "b32 b32", 0.75f32.to_bits().into()), 0x3f80_0000);
}
