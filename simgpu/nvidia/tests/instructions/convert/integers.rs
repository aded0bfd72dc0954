//! Conversions between integers, and from and to floating point.

use super::{FLOATS, INTEGERS, number, range, value};
use crate::lanes::{Exact, Op, Value, cases, check_rounded, rounding_of, value_of};

/// Returns the possible register widths of a type.
fn widths(bits: u32) -> impl Iterator<Item = u32> {
    [16, 32, 64].into_iter().filter(move |width| *width >= bits)
}

/// Returns the low bits of a value, extended to a register.
fn fill(value: i128, width: u32) -> u64 {
    value as u64 & (u64::MAX >> (64 - width))
}

#[test]
fn between_integers() {
    for (to, to_bits, to_signed) in INTEGERS {
        for (from, from_bits, from_signed) in INTEGERS {
            for sat in [false, true] {
                for to_width in widths(to_bits) {
                    for from_width in widths(from_bits) {
                        let text = format!("cvt.{}{to}.{from}", if sat { "sat." } else { "" });
                        let op = Op::new(&text, &format!("b{to_width} b{from_width}"));
                        op.is(cases(100, |random| [random.integer(from_width)]), |[x]| {
                            let x = value(x, from_bits, from_signed);
                            let (least, greatest) = range(to_bits, to_signed);
                            let kept = if sat { x.clamp(least, greatest) } else { value(x as u64, to_bits, to_signed) };
                            fill(kept, to_width)
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn from_integers() {
    for (to, fields) in FLOATS {
        let width = fields.0 + fields.1 + 1;
        for (from, bits, signed) in INTEGERS {
            for rounding in ["rn", "rz", "rm", "rp"] {
                for from_width in widths(bits) {
                    let text = format!("cvt.{rounding}.{to}.{from}");
                    let op = Op::new(&text, &format!("b{width} b{from_width}"));
                    op.each(cases(100, |random| [random.integer(from_width)]), |[x], got| {
                        let integer = value(x, bits, signed);
                        let compare =
                            |with: &Exact, times: i128| with.clone().negated().plus(times * integer, 0).sign();
                        check_rounded(got, fields, rounding_of(rounding), false, compare, &format!("{text} of {x:#x}"));
                    });
                }
            }
        }
    }
}

/// Rounds a number to an integer in a direction.
fn rounded(number: Value, rounding: &str) -> i128 {
    if number.exponent >= 0 {
        return if number.integer == 0 || number.exponent > 70 {
            number.integer.signum() << 100
        } else {
            number.integer << number.exponent
        };
    }
    let by = (-number.exponent).min(120) as u32;
    let (below, rest) = (number.integer >> by, number.integer & ((1 << by) - 1));
    let half = 1i128 << (by - 1);
    let up = match rounding {
        "rni" => rest > half || rest == half && below & 1 == 1,
        "rzi" => number.integer < 0 && rest != 0,
        "rmi" => false,
        _ => rest != 0,
    };
    below + i128::from(up)
}

#[test]
fn to_integers() {
    for (from, fields) in FLOATS {
        let width = fields.0 + fields.1 + 1;
        for (to, bits, signed) in INTEGERS {
            for rounding in ["rni", "rzi", "rmi", "rpi"] {
                for to_width in widths(bits) {
                    let text = format!("cvt.{rounding}.{to}.{from}");
                    let op = Op::new(&text, &format!("b{to_width} b{width}"));
                    op.is(cases(200, |random| [number(random, fields)]), |[x]| {
                        let (least, greatest) = range(bits, signed);
                        let infinity = ((1 << fields.0) - 1) << fields.1;
                        let integer = match value_of(x, fields.0, fields.1) {
                            Some(number) => rounded(number, rounding).clamp(least, greatest),
                            None if x & (infinity >> 1 | (infinity & !(infinity >> 1)) | ((1 << fields.1) - 1))
                                > infinity =>
                            {
                                let wide = from == "f64" || bits == 64;
                                if wide { value(1 << (bits - 1), bits, signed) } else { 0 }
                            }
                            None if x >> (width - 1) == 1 => least,
                            None => greatest,
                        };
                        fill(integer, to_width)
                    });
                }
            }
        }
    }
}

/// Subnormal numbers count as zeros.
#[test]
fn flushed_before_rounding() {
    assert_eq!(Op::new("cvt.rpi.s32.f32", "b32 b32").one([1]), 1);
    assert_eq!(Op::new("cvt.rpi.ftz.s32.f32", "b32 b32").one([1]), 0);
    assert_eq!(Op::new("cvt.rmi.ftz.s32.f32", "b32 b32").one([0x8000_0001]), 0);
}
