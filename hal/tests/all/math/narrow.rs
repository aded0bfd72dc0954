//! Compares every input of every type with the f64 functions of the standard library, which share
//! no code with the recipes. They decide every case: none of their values is within a relative
//! distance of 2⁻⁵⁰ of a tie, except for exact ties and the cases noted below.

use isobit_hal::cpu::internals::narrow::{self, *};

/// A type under test: its values by code, and its rounding.
struct Format {
    name: &'static str,
    fraction_bits: u32,
    exponent_bits: u32,
    /// Whether the type is E4M3: no infinities, one NaN, and larger values saturate.
    saturates: bool,
}

const F16_FORMAT: Format = Format { name: "f16", fraction_bits: 10, exponent_bits: 5, saturates: false };
const BF16_FORMAT: Format = Format { name: "bf16", fraction_bits: 7, exponent_bits: 8, saturates: false };
const F8_FORMAT: Format = Format { name: "f8e4m3", fraction_bits: 3, exponent_bits: 4, saturates: true };

impl Format {
    fn bias(&self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Returns the value of every code, by the definition of the format.
    fn values(&self) -> impl Iterator<Item = f32> + '_ {
        let magnitudes = 1u32 << (self.fraction_bits + self.exponent_bits);
        (0..2 * magnitudes).map(move |code| {
            let fraction = code % (1 << self.fraction_bits);
            let exponent = (code % magnitudes) >> self.fraction_bits;
            let top = (1 << self.exponent_bits) - 1;
            let special = match (self.saturates, exponent == top) {
                (true, _) if code % magnitudes == magnitudes - 1 => Some(f64::NAN),
                (false, true) if fraction == 0 => Some(f64::INFINITY),
                (false, true) => Some(f64::NAN),
                _ => None,
            };
            let implicit = u32::from(exponent > 0) << self.fraction_bits;
            let power = exponent.max(1) as i32 - self.bias() - self.fraction_bits as i32;
            let finite = f64::from(implicit + fraction) * 2f64.powi(power);
            let magnitude = special.unwrap_or(finite);
            (if code < magnitudes { magnitude } else { -magnitude }) as f32
        })
    }

    /// Returns the value of the format nearest to `x`, ties to even.
    fn round(&self, x: f64) -> f64 {
        let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
        let unit = 2f64.powi(exponent.max(1 - self.bias()) - self.fraction_bits as i32);
        let rounded = (x / unit).round_ties_even() * unit;
        let top = if self.saturates {
            448.0
        } else {
            (2.0 - 2f64.powi(-(self.fraction_bits as i32))) * 2f64.powi(self.bias())
        };
        match rounded.abs() > top {
            true if self.saturates => top.copysign(x),
            true => f64::INFINITY.copysign(x),
            false => rounded,
        }
    }

    fn check(&self, name: &str, recipe: fn(f32) -> f32, truth: fn(f64) -> f64) {
        for x in self.values() {
            let got = self.round(recipe(x).into());
            let want = self.round(truth(x.into()));
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(same, "{name}({x:e}) of {}: got {got:e}, expected {want:e}", self.name);
        }
    }
}

/// Returns x times its share σ, which is about half of x near 0. There the second term of the sum
/// is too small for f64 to add to the first, but it breaks the tie of half an odd subnormal:
/// upwards, because it is positive.
fn share(x: f64, sigma: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -0.0;
    }
    let value = x * sigma;
    if x.abs() < 2f64.powi(-60) && x != 0.0 { value.next_up() } else { value }
}

macro_rules! check {
    ($($recipe:ident: $truth:expr;)*) => {$(
        #[test]
        fn $recipe() {
            let name = stringify!($recipe);
            F16_FORMAT.check(name, narrow::$recipe::<F16>, $truth);
            BF16_FORMAT.check(name, narrow::$recipe::<Bf16>, $truth);
            F8_FORMAT.check(name, narrow::$recipe::<F8E4M3>, $truth);
        }
    )*};
}

check! {
    exp: f64::exp;
    exp2: f64::exp2;
    expm1: f64::exp_m1;
    log: f64::ln;
    log2: f64::log2;
    log1p: f64::ln_1p;
    sin: f64::sin;
    cos: f64::cos;
    tan: f64::tan;
    sinh: f64::sinh;
    cosh: f64::cosh;
    tanh: f64::tanh;
    asin: f64::asin;
    acos: f64::acos;
    atan: f64::atan;
    recip: f64::recip;
    rsqrt: |x| 1.0 / x.sqrt();
    sigmoid: |x| 1.0 / (1.0 + (-x).exp());
    silu: |x| share(x, 1.0 / (1.0 + (-x).exp()));
    gelu: |x| {
        let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
        // (1 + tanh u) / 2 without cancellation.
        share(x, 1.0 / (1.0 + (-2.0 * u).exp()))
    };
    asinh: |x| x.signum() * inverse_sinh(x.abs());
    acosh: |x| if x < 1.0 { f64::NAN } else { (x - 1.0 + ((x - 1.0) * (x + 1.0)).sqrt()).ln_1p() };
    atanh: |x| 0.5 * (2.0 * x / (1.0 - x)).ln_1p();
    softplus: |x| x.max(0.0) + (-x.abs()).exp().ln_1p();
    mish: mish_truth;
    hard_sigmoid: |x| ((x + 3.0) / 6.0).clamp(0.0, 1.0);
    hard_swish: |x| match x {
        ..=-3.0 => -0.0,
        3.0.. => x,
        _ => share(x, (x + 3.0) / 6.0),
    };
    selu: |x| {
        let (scale, alpha) = (1.050_700_987_355_480_5, 1.673_263_242_354_377_2);
        if x > 0.0 { scale * x } else { scale * alpha * x.exp_m1() }
    };
    erf: erf_truth;
    gelu_erf: |x| share(x, phi_truth(x));
}

/// asinh of a positive number by its logarithm, without cancellation.
fn inverse_sinh(a: f64) -> f64 {
    if a == f64::INFINITY { a } else { (a + a * a / (1.0 + (1.0 + a * a).sqrt())).ln_1p() }
}

/// x tanh(log(1 + e^x)), as x (E^2 + 2 E) / (E^2 + 2 E + 2) with E = e^x, or in terms of 1/E.
fn mish_truth(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -0.0;
    }
    let e = (-x.abs()).exp();
    if x < 0.0 { x * e * (e + 2.0) / (e * (e + 2.0) + 2.0) } else { x * (1.0 + 2.0 * e) / (1.0 + 2.0 * e * (1.0 + e)) }
}

/// erf by its power series up to 3 (Abramowitz and Stegun 7.1.6, all terms positive), and by the
/// tail above 3.
fn erf_truth(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let a = x.abs();
    let value = if a < 3.0 {
        let (mut term, mut sum, mut n) = (a, a, 0.0);
        while term > sum * 1e-18 {
            n += 1.0;
            term *= 2.0 * a * a / (2.0 * n + 1.0);
            sum += term;
        }
        std::f64::consts::FRAC_2_SQRT_PI * (-a * a).exp() * sum
    } else {
        1.0 - erfc_tail(a)
    };
    value.copysign(x)
}

/// erfc for x >= 2 by its continued fraction (Abramowitz and Stegun 7.1.14).
fn erfc_tail(a: f64) -> f64 {
    let fraction = (1..=300).rev().fold(a, |below, k| a + f64::from(k) / 2.0 / below);
    (-a * a).exp() / (fraction * std::f64::consts::PI.sqrt())
}

/// The normal distribution function at x.
fn phi_truth(x: f64) -> f64 {
    let a = x.abs() / std::f64::consts::SQRT_2;
    let below = if a < 2.0 { (1.0 - erf_truth(a)) / 2.0 } else { erfc_tail(a) / 2.0 };
    if x < 0.0 { below } else { 1.0 - below }
}

type Recipe = fn(f32, f32) -> f32;

/// Special cases of C's Annex F; all other results within 1 ulp.
#[test]
fn pow() {
    let formats: [(&Format, Recipe); 3] =
        [(&F16_FORMAT, narrow::pow::<F16>), (&BF16_FORMAT, narrow::pow::<Bf16>), (&F8_FORMAT, narrow::pow::<F8E4M3>)];
    for (format, recipe) in formats {
        let step = if format.saturates { 1 } else { 211 };
        let ends = [0.0, 1.0, 2.0, 3.0, 0.5, 1e-3, f32::INFINITY];
        let some: Vec<f32> = format
            .values()
            .step_by(step)
            .chain(ends.into_iter().flat_map(|x| [x, -x]))
            .map(|x| if format.saturates { format.round(x.into()) as f32 } else { x })
            .collect();
        for &x in &some {
            for &y in &some {
                let got = format.round(recipe(x, y).into());
                let truth = f64::from(x).powf(y.into());
                let want = format.round(truth);
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                let near =
                    got.is_finite() && (got - truth).abs() <= 2f64.powi(-(format.fraction_bits as i32)) * truth.abs();
                assert!(same || near, "pow({x:e}, {y:e}) of {}: got {got:e}, expected {truth:e}", format.name);
            }
        }
    }
}

#[test]
fn elu() {
    for x in F16_FORMAT.values().filter(|x| !x.is_nan()) {
        let truth = if x > 0.0 { x.into() } else { 1.25 * f64::from(x).exp_m1() };
        let got = F16_FORMAT.round(narrow::elu::<F16>(x, 1.25).into());
        let unit = (truth.abs() * 2f64.powi(-10)).max(2f64.powi(-24));
        assert!(got == truth || (got - truth).abs() <= unit, "elu({x:e}): got {got:e}, expected {truth:e}");
    }
    assert_eq!(narrow::elu::<F16>(f32::NEG_INFINITY, 2.0), -2.0);
}

/// Special cases of C's Annex F; all other results of sides of similar size within 1 ulp.
#[test]
fn functions_of_two_sides() {
    type Truth = fn(f64, f64) -> f64;
    fn check<T: Narrow>(format: &Format) {
        let functions: [(&str, Recipe, Truth); 2] =
            [("atan2", atan2::<T>, f64::atan2), ("hypot", hypot::<T>, f64::hypot)];
        let step = if format.saturates { 1 } else { 127 };
        let largest = format.values().filter(|x| x.is_finite()).fold(0.0, f32::max);
        let ends = [0.0, 1.0, largest, if format.saturates { 1.0 } else { f32::INFINITY }, f32::NAN];
        let some: Vec<f32> = format.values().step_by(step).chain(ends.into_iter().flat_map(|x| [x, -x])).collect();
        for (name, recipe, truth) in functions {
            for (&y, &x) in some.iter().flat_map(|y| some.iter().map(move |x| (y, x))) {
                let got = format.round(recipe(y, x).into());
                let truth = truth(y.into(), x.into());
                let want = format.round(truth);
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                let least = 2f64.powi(1 - format.bias());
                let unit = 2f64.powi(-(format.fraction_bits as i32)) * truth.abs().max(least);
                assert!(
                    same || (got - truth).abs() <= unit,
                    "{name}({y:e}, {x:e}) of {}: got {got:e}, expected {truth:e}",
                    format.name
                );
            }
        }
    }
    check::<F16>(&F16_FORMAT);
    check::<Bf16>(&BF16_FORMAT);
    check::<F8E4M3>(&F8_FORMAT);
}

#[test]
fn celu() {
    for (x, alpha) in F16_FORMAT.values().filter(|x| !x.is_nan()).flat_map(|x| [(x, 1.25), (x, 0.3), (x, -2.0)]) {
        let a = f64::from(alpha);
        let truth = if x > 0.0 { x.into() } else { a * (f64::from(x) / a).exp_m1() };
        let want = F16_FORMAT.round(truth);
        let got = F16_FORMAT.round(narrow::celu::<F16>(x, alpha).into());
        let unit = (truth.abs() * 2f64.powi(-10)).max(2f64.powi(-24));
        assert!(got == want || (got - truth).abs() <= unit, "celu({x:e}): got {got:e}, expected {truth:e}");
    }
}
