//! NaNs, infinities, flushing and saturation.

use super::bits;
use crate::lanes::{Op, Random, cases};

const NAN: u64 = 0x7fff_ffff;
const INFINITY: f32 = f32::INFINITY;

/// Every NaN result of binary32 is the canonical one.
#[test]
fn nans_are_canonical() {
    let mut random = Random(4);
    for rounding in ["rn", "rz", "rm", "rp"] {
        for _ in 0..50 {
            let nan = 0x7f80_0001 + (random.next() & 0x8000_0000) + (random.next() & 0x3f_ffff);
            let other = random.f32();
            for opcode in ["add", "sub", "mul", "div"] {
                let op = Op::new(&format!("{opcode}.{rounding}.f32"), "b32 b32 b32");
                assert_eq!([op.one([nan, other]), op.one([other, nan])], [NAN; 2], "{opcode}.{rounding}");
            }
            let fma = Op::new(&format!("fma.{rounding}.f32"), "b32 b32 b32 b32");
            assert_eq!(
                [fma.one([nan, 0, other]), fma.one([0, nan, other]), fma.one([0, other & 0x3fff_ffff, nan])],
                [NAN; 3]
            );
            for opcode in ["rcp", "sqrt"] {
                assert_eq!(Op::new(&format!("{opcode}.{rounding}.f32"), "b32 b32").one([nan]), NAN);
            }
        }
    }
}

#[test]
fn invalid_operations() {
    for rounding in ["rn", "rz", "rm", "rp"] {
        let two = |opcode: &str, a: f32, b: f32| {
            Op::new(&format!("{opcode}.{rounding}.f32"), "b32 b32 b32").one([bits(a), bits(b)])
        };
        assert_eq!(two("add", INFINITY, -INFINITY), NAN);
        assert_eq!(two("sub", INFINITY, INFINITY), NAN);
        assert_eq!(two("mul", INFINITY, -0.0), NAN);
        assert_eq!(two("div", 0.0, -0.0), NAN);
        assert_eq!(two("div", INFINITY, INFINITY), NAN);
        assert_eq!(two("div", 1.0, -0.0), bits(-INFINITY));
        assert_eq!(two("div", 3.0, -INFINITY), bits(-0.0));
        assert_eq!(two("add", INFINITY, 1.0), bits(INFINITY));
        assert_eq!(two("mul", -INFINITY, 2.0), bits(-INFINITY));
        let one = |opcode: &str, x: f32| Op::new(&format!("{opcode}.{rounding}.f32"), "b32 b32").one([bits(x)]);
        assert_eq!(one("sqrt", -1.0), NAN);
        assert_eq!(one("sqrt", -0.0), bits(-0.0));
        assert_eq!(one("sqrt", INFINITY), bits(INFINITY));
        assert_eq!(one("rcp", -0.0), bits(-INFINITY));
        let fma = Op::new(&format!("fma.{rounding}.f32"), "b32 b32 b32 b32");
        assert_eq!(fma.one([bits(INFINITY), bits(0.0), bits(1.0)]), NAN);
        assert_eq!(fma.one([bits(INFINITY), bits(2.0), bits(-INFINITY)]), NAN);
        assert_eq!(fma.one([bits(f32::MAX), bits(2.0), bits(-INFINITY)]), bits(-INFINITY));
        let doubles = Op::new(&format!("sub.{rounding}.f64"), "b64 b64 b64");
        let infinity = f64::INFINITY.to_bits();
        assert!(f64::from_bits(doubles.one([infinity, infinity])).is_nan());
        assert_eq!(doubles.one([0, infinity]), f64::NEG_INFINITY.to_bits());
    }
}

/// A subnormal operand counts as a zero of its sign, and a subnormal result becomes one.
#[test]
fn flushing() {
    let flush = |x: u64| if x & 0x7fff_ffff < 0x80_0000 { x & 0x8000_0000 } else { x };
    for rounding in ["rn", "rz", "rm", "rp"] {
        for sat in ["", "sat."] {
            for opcode in ["add", "sub", "mul"] {
                let plain = Op::new(&format!("{opcode}.{rounding}.{sat}f32"), "b32 b32 b32");
                let flushed = Op::new(&format!("{opcode}.{rounding}.ftz.{sat}f32"), "b32 b32 b32");
                flushed.is(cases(500, |random| [random.f32(), random.f32()]), |case| flush(plain.one(case.map(flush))));
            }
            let plain = Op::new(&format!("fma.{rounding}.{sat}f32"), "b32 b32 b32 b32");
            let flushed = Op::new(&format!("fma.{rounding}.ftz.{sat}f32"), "b32 b32 b32 b32");
            flushed.is(cases(500, |random| std::array::from_fn(|_| random.f32())), |case: [u64; 3]| {
                flush(plain.one(case.map(flush)))
            });
        }
        let plain = Op::new(&format!("div.{rounding}.f32"), "b32 b32 b32");
        let flushed = Op::new(&format!("div.{rounding}.ftz.f32"), "b32 b32 b32");
        flushed.is(cases(500, |random| [random.f32(), random.f32()]), |case| flush(plain.one(case.map(flush))));
        for opcode in ["rcp", "sqrt"] {
            let plain = Op::new(&format!("{opcode}.{rounding}.f32"), "b32 b32");
            let flushed = Op::new(&format!("{opcode}.{rounding}.ftz.f32"), "b32 b32");
            flushed.is(cases(500, |random| [random.f32()]), |case| flush(plain.one(case.map(flush))));
        }
    }
    assert_eq!(Op::new("add.ftz.f32", "b32 b32 b32").one([0x8000_0001, 0x8000_0002]), 0x8000_0000);
    assert_eq!(Op::new("add.f32", "b32 b32 b32").one([0x8000_0001, 0x8000_0002]), 0x8000_0003);
    assert_eq!(Op::new("abs.ftz.f32", "b32 b32").one([0x8000_0001]), 0);
    assert_eq!(Op::new("neg.ftz.f32", "b32 b32").one([1]), 0x8000_0000);
}

#[test]
fn saturation() {
    for (a, b, want) in [
        (0.25, 0.5, 0.75),
        (0.75, 0.5, 1.0),
        (-0.75, 0.5, 0.0),
        (-0.0, -0.0, 0.0),
        (INFINITY, 1.0, 1.0),
        (-INFINITY, 1.0, 0.0),
        (f32::NAN, 1.0, 0.0),
        (1e-40, 0.0, 1e-40),
    ] {
        for rounding in ["rn", "rz", "rm", "rp"] {
            assert_eq!(Op::new(&format!("add.{rounding}.sat.f32"), "b32 b32 b32").one([bits(a), bits(b)]), bits(want));
            let fma = Op::new(&format!("fma.{rounding}.sat.f32"), "b32 b32 b32 b32");
            assert_eq!(fma.one([bits(a), bits(1.0), bits(b)]), bits(want), "{a} + {b}");
        }
    }
    assert_eq!(Op::new("sub.sat.f32", "b32 b32 b32").one([bits(0.5), bits(0.75)]), 0);
    assert_eq!(Op::new("mul.sat.f32", "b32 b32 b32").one([bits(3.0), bits(0.75)]), bits(1.0));
}

#[test]
fn signs() {
    let numbers = || cases(500, |random| [random.f32()]);
    let sign = 0x8000_0000;
    Op::new("abs.f32", "b32 b32").is(numbers(), |[a]| a & !sign);
    Op::new("neg.f32", "b32 b32").is(numbers(), |[a]| a ^ sign);
    Op::new("copysign.f32", "b32 b32 b32")
        .is(cases(500, |random| [random.f32(), random.f32()]), |[a, b]| b & !sign | a & sign);
    let (doubles, sign) = (|| cases(500, |random| [random.f64()]), 1 << 63);
    Op::new("abs.f64", "b64 b64").is(doubles(), |[a]| a & !sign);
    Op::new("neg.f64", "b64 b64").is(doubles(), |[a]| a ^ sign);
    Op::new("copysign.f64", "b64 b64 b64")
        .is(cases(500, |random| [random.f64(), random.f64()]), |[a, b]| b & !sign | a & sign);
}

#[test]
fn classes() {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    for (name, classes) in [
        ("finite", &[Zero, Subnormal, Normal][..]),
        ("infinite", &[Infinite]),
        ("number", &[Zero, Subnormal, Normal, Infinite]),
        ("notanumber", &[Nan]),
        ("normal", &[Normal, Zero]),
        ("subnormal", &[Subnormal]),
    ] {
        Op::new(&format!("testp.{name}.f32"), "pred b32").is(cases(500, |random| [random.f32()]), |[a]| {
            classes.contains(&f32::from_bits(a as u32).classify()).into()
        });
        Op::new(&format!("testp.{name}.f64"), "pred b64")
            .is(cases(500, |random| [random.f64()]), |[a]| classes.contains(&f64::from_bits(a).classify()).into());
    }
}
