//! The true values: f64 functions of the system's library, and erf and the inverse hyperbolic
//! functions of the `libm` crate. No recipe uses them.
//!
//! Arguments are values of f32 or a narrower type. The error bounds stated with the values are
//! generous: the library's functions are within 2 ulp of f64 (2^-51), and a comment states the
//! factor if a formula amplifies the error of an argument. A narrow result that such an error
//! leaves undecided would count as wrong; none occurs.

use super::Real;
use isobit_hal::UnaryOp;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// A few ulps of f64.
const FEW: f64 = 1.0 / (1u64 << 49) as f64;

/// If t is off by an ulp, e^-t is off by t ulps; no result that f32 can represent has a t above
/// 160.
const AMPLIFIED: f64 = 1.0 / (1u64 << 43) as f64;

/// Below this, x/2 + c*x^2 is closer to x/2 than f64 can represent, while x/2 may lie halfway
/// between two floats.
const TINY: f64 = 1.0 / (1u64 << 40) as f64;

/// Returns the true value of a unary operation.
pub fn unary(op: UnaryOp, x: f64) -> Real {
    let library = |v: f64| Real::near(v, FEW);
    match op {
        UnaryOp::Neg => Real::exact(-x),
        UnaryOp::Abs => Real::exact(x.abs()),
        UnaryOp::Sign if x.is_nan() => Real::exact(x),
        UnaryOp::Sign => Real::exact(f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))),
        // The result has at most 48 bits.
        UnaryOp::Sqr => Real::exact(x * x),
        UnaryOp::Relu => Real::exact(if x > 0.0 || x.is_nan() { x } else { 0.0 }),
        UnaryOp::Ceil => Real::exact(x.ceil()),
        UnaryOp::Floor => Real::exact(x.floor()),
        UnaryOp::Round => Real::exact(x.round()),
        UnaryOp::Trunc => Real::exact(x.trunc()),
        UnaryOp::RoundEven => Real::exact(x.round_ties_even()),
        // IEEE 754 rounds the result to 53 bits, which is as good as exact for a further rounding
        // to 24 or fewer bits (Figueroa, 1995).
        UnaryOp::Sqrt => Real::exact(x.sqrt()),
        UnaryOp::Recip => Real::exact(1.0 / x),
        UnaryOp::Rsqrt => library(1.0 / x.sqrt()),
        UnaryOp::Exp => library(x.exp()),
        // The result is a power of two, which may lie halfway between two subnormals.
        UnaryOp::Exp2 if x == x.trunc() => Real::exact(x.exp2()),
        UnaryOp::Exp2 => library(x.exp2()),
        UnaryOp::Log => library(x.ln()),
        // Of a power of two it is exact, and a tie of f8e5m2 for 2^-15.
        UnaryOp::Log2 if x > 0.0 && x.to_bits() << 12 == 0 => Real::exact(x.log2().round()),
        UnaryOp::Log2 => library(x.log2()),
        UnaryOp::Log1p => library(x.ln_1p()),
        UnaryOp::Expm1 => library(x.exp_m1()),
        UnaryOp::Sin => library(x.sin()),
        UnaryOp::Cos => library(x.cos()),
        UnaryOp::Tan => library(x.tan()),
        UnaryOp::Tanh => library(x.tanh()),
        UnaryOp::Sinh => library(x.sinh()),
        UnaryOp::Cosh => library(x.cosh()),
        UnaryOp::Asin => library(x.asin()),
        UnaryOp::Acos => library(x.acos()),
        UnaryOp::Atan => library(x.atan()),
        UnaryOp::Erf => library(libm::erf(x)),
        // 1/sqrt(2 pi) x^2 and x^2 / 4 are the second terms of the series.
        UnaryOp::Gelu | UnaryOp::GeluErf => gated(x, FRAC_2_SQRT_PI * FRAC_1_SQRT_2 / 2.0, |x| match op {
            UnaryOp::Gelu => x * logistic(2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (x + 0.044715 * x * x * x)),
            _ => x * 0.5 * libm::erfc(-x * FRAC_1_SQRT_2),
        }),
        UnaryOp::Silu => gated(x, 0.25, |x| x * logistic(x)),
        UnaryOp::Sigmoid => Real::near(logistic(x), FEW),
        UnaryOp::Asinh => library(libm::asinh(x)),
        // The library leaves numbers below 1 to its logarithm, of which some become positive.
        UnaryOp::Acosh if x < 1.0 => Real::exact(f64::NAN),
        UnaryOp::Acosh => library(libm::acosh(x)),
        UnaryOp::Atanh => library(libm::atanh(x)),
        UnaryOp::Softplus => library(if x > 0.0 { x } else { 0.0 } + (-x.abs()).exp().ln_1p()),
        UnaryOp::Mish if x == f64::NEG_INFINITY => Real::exact(-0.0),
        UnaryOp::Mish => Real::near(mish(x), AMPLIFIED),
        UnaryOp::HardSigmoid => hard_sigmoid(x),
        UnaryOp::HardSwish => hard_swish(x),
        UnaryOp::Selu if x > 0.0 => library(SELU_SCALE * x),
        UnaryOp::Selu => library(SELU_SCALE * SELU_ALPHA * x.exp_m1()),
        // An operation without a true value here fails its check visibly.
        _ => Real::exact(f64::NAN),
    }
}

/// The constants of SELU's paper, section "Fixed points".
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;

/// Returns x tanh(log(1 + e^x)) without cancellation or overflow.
fn mish(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x < 0.0 { x * e * (e + 2.0) / (e * (e + 2.0) + 2.0) } else { x * (1.0 + 2.0 * e) / (1.0 + 2.0 * e * (1.0 + e)) }
}

/// Returns (high + low) / 6, to about 100 bits.
fn sixth(high: f64, low: f64) -> Real {
    let hi = high / 6.0;
    Real { hi, lo: ((-6.0f64).mul_add(hi, high) + low) / 6.0, error: 0.0 }
}

/// Returns min(max(x/6 + 1/2, 0), 1).
fn hard_sigmoid(x: f64) -> Real {
    if x <= -3.0 {
        Real::exact(0.0)
    } else if x >= 3.0 {
        Real::exact(1.0)
    } else {
        let sum = x + 3.0;
        sixth(sum, x - (sum - 3.0))
    }
}

/// Returns x min(max(x/6 + 1/2, 0), 1).
fn hard_swish(x: f64) -> Real {
    if x <= -3.0 {
        Real::exact(-0.0)
    } else if x >= 3.0 || x == 0.0 {
        Real::exact(x)
    } else {
        let sum = x + 3.0;
        let product = x * sum;
        sixth(product, x.mul_add(sum, -product) + x * (x - (sum - 3.0)))
    }
}

/// Returns 1 / (1 + e^-x).
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Returns x times a function that rises from 0 at -infinity through 1/2 at 0, with slope `second`,
/// to 1 at infinity.
fn gated(x: f64, second: f64, f: impl Fn(f64) -> f64) -> Real {
    if x == f64::NEG_INFINITY {
        Real::exact(-0.0)
    } else if x == 0.0 {
        Real::exact(x)
    } else if x.abs() < TINY {
        Real { hi: x / 2.0, lo: second * x * x, error: 0.0 }
    } else {
        Real::near(f(x), AMPLIFIED)
    }
}

/// Returns x to the power y.
pub fn pow(x: f64, y: f64) -> Real {
    Real::near(x.powf(y), FEW)
}

/// Returns x if x > 0, else alpha * (e^x - 1).
pub fn elu(x: f64, alpha: f64) -> Real {
    if x > 0.0 { Real::exact(x) } else { Real::near(alpha * x.exp_m1(), FEW) }
}

/// Returns x if x > 0, else alpha * (e^(x / alpha) - 1).
pub fn celu(x: f64, alpha: f64) -> Real {
    // A negative alpha has a positive quotient, whose error the exponential amplifies.
    if x > 0.0 { Real::exact(x) } else { Real::near(alpha * (x / alpha).exp_m1(), AMPLIFIED) }
}

/// Returns the angle of the point (x, y).
pub fn atan2(y: f64, x: f64) -> Real {
    Real::near(y.atan2(x), FEW)
}

/// Returns sqrt(x^2 + y^2).
pub fn hypot(x: f64, y: f64) -> Real {
    Real::near(x.hypot(y), FEW)
}

#[cfg(test)]
mod tests {
    use super::super::float::Float;
    use super::*;
    use isobit_hal::{F8E4M3, F8E5M2, bf16, f16};

    #[test]
    fn no_narrow_result_is_left_undecided() {
        fn check<T: Float>() {
            for &op in UnaryOp::ALL.iter().filter(|op| !op.is_int_only()) {
                for x in (0..1 << T::FORMAT.bits).map(T::from_bits) {
                    let real = unary(op, x.value());
                    assert!(T::FORMAT.round_real(real).is_some(), "{op}({:e}) of {}: {real:?}", x.value(), T::DTYPE);
                }
            }
        }
        check::<F8E4M3>();
        check::<F8E5M2>();
        check::<f16>();
        check::<bf16>();
    }

    #[test]
    fn ties_of_tiny_arguments_are_decided_by_the_next_term() {
        // x/2 is halfway between two subnormals; x^2/4 moves it upward on both sides of 0.
        let x = 3.0 * 2f64.powi(-133);
        let rounded = |x: f64| bf16::FORMAT.round_real(unary(UnaryOp::Silu, x)).expect("decided");
        assert_eq!((rounded(x), rounded(-x)), (2f64.powi(-132), -2f64.powi(-133)));
    }
}
