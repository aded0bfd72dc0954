//! Approximations: within one unit of the exact value for every shift, and exact where an exact
//! result is expected.

use super::bits;
use crate::lanes::{Op, cases};

fn value(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

/// Returns the distance from an exact value in units in the last place of binary32.
fn units(got: f32, exact: f64) -> f64 {
    let unit = 2f64.powi((exact.abs().log2().floor() as i32).max(-126) - 23);
    (f64::from(got) - exact).abs() / unit
}

type Function = fn(f64) -> f64;

const FUNCTIONS: [(&str, Function); 8] = [
    ("rcp", |x| 1.0 / x),
    ("sqrt", f64::sqrt),
    ("rsqrt", |x| 1.0 / x.sqrt()),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("lg2", f64::log2),
    ("ex2", f64::exp2),
    ("tanh", f64::tanh),
];

#[test]
fn within_a_unit_of_the_exact_value() {
    for (name, function) in FUNCTIONS {
        let shifted = [-1, 0, 1].map(|shift| Op::shifted(&format!("{name}.approx.f32"), "b32 b32", shift));
        let mut moved = [0; 3];
        for [x] in cases(600, |random| [random.f32()]) {
            let exact = function(value(x).into());
            let results = [0, 1, 2].map(|at| value(shifted[at].one([x])));
            for (at, got) in results.into_iter().enumerate() {
                if exact.is_nan() {
                    assert_eq!(got.to_bits(), 0x7fff_ffff, "{name} of {x:#x}");
                } else if exact.abs() > f64::from(f32::MAX) {
                    assert!(got.is_infinite() || got == f32::MAX.copysign(exact as f32), "{name} of {x:#x}: {got:e}");
                } else if exact == 0.0 {
                    assert_eq!(got.to_bits(), (exact as f32).to_bits(), "{name} of {x:#x}");
                } else {
                    assert!(
                        units(got, exact) <= if at == 1 { 0.5 } else { 1.0 },
                        "{name} of {x:#x}: {got:e}, not {exact:e}"
                    );
                    moved[at] += usize::from(got != results[1]);
                }
            }
        }
        assert!(moved[0] > 20 && moved[2] > 20, "{name} is hardly shifted: {moved:?}");
    }
}

/// Results that are exact on every card are not shifted.
#[test]
fn exact_results_stay() {
    for shift in [-1, 0, 1] {
        for exponent in -20..20 {
            let power = 2f32.powi(exponent);
            assert_eq!(value(Op::shifted("rcp.approx.f32", "b32 b32", shift).one([bits(power)])), 1.0 / power);
            assert_eq!(value(Op::shifted("ex2.approx.ftz.f32", "b32 b32", shift).one([bits(exponent as f32)])), power);
            assert_eq!(value(Op::shifted("lg2.approx.f32", "b32 b32", shift).one([bits(power)])), exponent as f32);
            let square = power * power;
            assert_eq!(value(Op::shifted("sqrt.approx.f32", "b32 b32", shift).one([bits(square)])), power);
            assert_eq!(value(Op::shifted("rsqrt.approx.f32", "b32 b32", shift).one([bits(square)])), 1.0 / power);
            assert_eq!(
                value(Op::shifted("div.full.f32", "b32 b32 b32", shift).one([bits(3.0 * power), bits(3.0)])),
                power
            );
        }
        assert_eq!(Op::shifted("cos.approx.f32", "b32 b32", shift).one([0]), bits(1.0));
        assert_eq!(Op::shifted("sin.approx.f32", "b32 b32", shift).one([bits(-0.0)]), bits(-0.0));
    }
}

#[test]
fn edges() {
    let one = |text: &str, x: f32| value(Op::new(text, "b32 b32").one([bits(x)]));
    assert_eq!(one("lg2.approx.f32", -0.0), f32::NEG_INFINITY);
    assert_eq!(one("ex2.approx.f32", f32::NEG_INFINITY).to_bits(), 0);
    assert_eq!(one("ex2.approx.f32", 128.0), f32::INFINITY);
    assert_eq!(one("ex2.approx.f32", -149.0).to_bits(), 1);
    assert_eq!(one("ex2.approx.ftz.f32", -149.0).to_bits(), 0);
    assert_eq!(one("rcp.approx.f32", -0.0), f32::NEG_INFINITY);
    assert_eq!(one("rcp.approx.ftz.f32", f32::from_bits(5)), f32::INFINITY);
    assert_eq!(one("rcp.approx.ftz.f32", f32::MAX).to_bits(), 0);
    assert_eq!(one("rsqrt.approx.f32", -0.0), f32::NEG_INFINITY);
    assert_eq!(one("tanh.approx.f32", f32::INFINITY), 1.0);
}

#[test]
fn quotients() {
    for (shift, bound) in [(-1, 1.0), (0, 0.5), (1, 1.0)] {
        for name in ["div.approx.f32", "div.full.f32"] {
            let op = Op::shifted(name, "b32 b32 b32", shift);
            op.each(cases(1500, |random| [random.f32(), random.f32()]), |[a, b], got| {
                let (a, b) = (value(a), value(b));
                let exact = f64::from(a) / f64::from(b);
                let usual = (f64::from(f32::MIN_POSITIVE)..f64::from(f32::MAX)).contains(&exact.abs());
                if usual && (2f32.powi(-126)..=2f32.powi(126)).contains(&b.abs()) {
                    assert!(units(value(got), exact) <= bound, "{name} {a:e} {b:e}: {:e}", value(got));
                }
            });
        }
    }
    // The reciprocal of a large divisor becomes zero.
    let (op, great) = (Op::new("div.approx.f32", "b32 b32 b32"), bits(2f32.powi(127)));
    assert_eq!(op.one([bits(2f32.powi(127)), great]), 0);
    assert_eq!(op.one([bits(f32::INFINITY), great]), 0x7fff_ffff);
    assert_eq!(value(Op::new("div.full.f32", "b32 b32 b32").one([great, great])), 1.0);
}

/// The coarse binary64 functions use the upper half of their operand and produce only an upper
/// half.
#[test]
fn coarse_doubles() {
    for shift in [-1, 0, 1] {
        for (name, function) in [("rcp", (|x| 1.0 / x) as Function), ("rsqrt", |x| 1.0 / x.sqrt())] {
            let op = Op::shifted(&format!("{name}.approx.ftz.f64"), "b64 b64", shift);
            op.each(cases(1000, |random| [random.f64()]), |[x], got| {
                let upper = f64::from_bits(x & !0xffff_ffff);
                let upper = if upper.is_subnormal() { 0.0f64.copysign(upper) } else { upper };
                let (exact, got) = (function(upper), f64::from_bits(got));
                if exact.is_nan() {
                    assert!(got.is_nan());
                } else if exact.is_subnormal() {
                    assert_eq!(got.to_bits(), 0.0f64.copysign(exact).to_bits());
                } else {
                    assert_eq!(got.to_bits() & 0xffff_ffff, 0);
                    assert!(
                        got == exact || ((got - exact) / exact).abs() < 2f64.powi(-18),
                        "{name} of {x:#x}: {got:e}"
                    );
                }
            });
        }
    }
    let full = Op::new("rsqrt.approx.f64", "b64 b64");
    full.each(cases(300, |random| [random.f64() & !(1 << 63)]), |[x], got| {
        let (x, got) = (f64::from_bits(x), f64::from_bits(got));
        assert!(x.is_nan() && got.is_nan() || got == 1.0 / x.sqrt());
    });
}
