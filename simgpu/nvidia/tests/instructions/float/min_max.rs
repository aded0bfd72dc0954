//! Minimum and maximum, compared with sorting.

use crate::lanes::{Op, cases};

const SIGN: u64 = 0x8000_0000;

fn is_nan(bits: u64) -> bool {
    bits & !SIGN > 0x7f80_0000
}

/// Selects by the order of values, with -0 below +0.
fn chosen(values: &[u64], max: bool) -> u64 {
    let key = |bits: &&u64| if **bits & SIGN != 0 { -((**bits & !SIGN) as i64) - 1 } else { **bits as i64 };
    *if max { values.iter().max_by_key(key) } else { values.iter().min_by_key(key) }.unwrap()
}

/// Returns the expected minimum or maximum of two or three numbers.
fn want(values: &[u64], max: bool, keep_nan: bool, xorsign: bool) -> u64 {
    let numbers: Vec<u64> = values.iter().copied().filter(|bits| !is_nan(*bits)).collect();
    if numbers.is_empty() || keep_nan && numbers.len() < values.len() {
        return 0x7fff_ffff;
    }
    if !xorsign {
        return chosen(&numbers, max);
    }
    let sizes: Vec<u64> = numbers.iter().map(|bits| bits & !SIGN).collect();
    values.iter().fold(chosen(&sizes, max), |result, bits| result ^ bits & SIGN)
}

#[test]
fn binary32() {
    let flush = |x: u64| if x & !SIGN < 0x80_0000 { x & SIGN } else { x };
    for max in [false, true] {
        let opcode = if max { "max" } else { "min" };
        for ftz in ["", ".ftz"] {
            for nan in ["", ".NaN"] {
                for xorsign in ["", ".xorsign.abs"] {
                    let text = format!("{opcode}{ftz}{nan}{xorsign}.f32");
                    let flushed = |bits: u64| if ftz.is_empty() { bits } else { flush(bits) };
                    let pairs = cases(1000, |random| [random.f32(), random.f32()]);
                    Op::new(&text, "b32 b32 b32")
                        .is(pairs, |case| want(&case.map(flushed), max, !nan.is_empty(), !xorsign.is_empty()));
                    let three = cases(1000, |random| std::array::from_fn(|_| random.f32()));
                    Op::new(&text, "b32 b32 b32 b32").is(three, |case: [u64; 3]| {
                        want(&case.map(flushed), max, !nan.is_empty(), !xorsign.is_empty())
                    });
                }
            }
        }
    }
}

#[test]
fn binary64() {
    for max in [false, true] {
        let op = Op::new(if max { "max.f64" } else { "min.f64" }, "b64 b64 b64");
        op.each(cases(1000, |random| [random.f64(), random.f64()]), |[a, b], got| {
            let (x, y, got) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(got));
            if x.is_nan() && y.is_nan() {
                assert!(got.is_nan());
                return;
            }
            let order = x.total_cmp(&y);
            let want = if x.is_nan() {
                y
            } else if y.is_nan() || order.is_lt() != max {
                x
            } else {
                y
            };
            assert_eq!(got.to_bits(), want.to_bits(), "{x:e} {y:e}");
        });
    }
}
