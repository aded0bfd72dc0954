//! Shared parts of the f32 recipes: constants, polynomials, exponent scaling, Newton reciprocals
//! and reciprocal square roots.

/// Parses a C hexadecimal literal such as `-0x1.62e43p-1` (a normal number with up to 24 bits).
///
/// The document writes coefficients in this form, so they can be compared and searched as text.
pub(super) const fn hex(literal: &str) -> f32 {
    let s = literal.as_bytes();
    let negative = s[0] == b'-';
    let mut i = if negative { 1 } else { 0 };
    assert!(s[i] == b'0' && s[i + 1] == b'x' && s[i + 2] == b'1', "a literal must start with 0x1");
    i += 3;
    let mut fraction = 0u32;
    let mut bits = 0;
    if s[i] == b'.' {
        i += 1;
        while s[i] != b'p' {
            let digit = match s[i] {
                b'0'..=b'9' => s[i] - b'0',
                b'a'..=b'f' => s[i] - b'a' + 10,
                _ => panic!("expected a hexadecimal digit"),
            };
            fraction = (fraction << 4) | digit as u32;
            bits += 4;
            i += 1;
        }
    }
    assert!(s[i] == b'p' && bits <= 24, "expected an exponent after at most six digits");
    let fraction = fraction << (24 - bits);
    assert!(fraction & 1 == 0, "at most 24 bits");
    i += 1;
    let below = s[i] == b'-';
    if below {
        i += 1;
    }
    let mut exponent = 0i32;
    while i < s.len() {
        exponent = exponent * 10 + (s[i] - b'0') as i32;
        i += 1;
    }
    let biased = 127 + if below { -exponent } else { exponent };
    assert!(biased > 0 && biased < 255, "must be a normal number");
    f32::from_bits(((negative as u32) << 31) | ((biased as u32) << 23) | (fraction >> 1))
}

/// The coefficients of a polynomial, highest power first.
pub(super) const fn coefficients<const N: usize>(literals: [&str; N]) -> [f32; N] {
    let mut out = [0.0; N];
    let mut i = 0;
    while i < N {
        out[i] = hex(literals[i]);
        i += 1;
    }
    out
}

/// Evaluates a polynomial by Horner's rule with fma.
#[inline(always)]
pub(super) fn poly<const N: usize>(x: f32, c: &[f32; N]) -> f32 {
    let mut y = c[0];
    for &c in &c[1..] {
        y = y.mul_add(x, c);
    }
    y
}

/// 1.5 * 2^23: adding it rounds to an integer, which is then in the low bits of the sum.
pub(super) const ROUNDER: f32 = hex("0x1.8p23");
pub(super) const LOG2_E: f32 = hex("0x1.715476p0");
/// ln 2 in two parts. The first has 15 bits, so its product with an exponent is exact.
pub(super) const LN2_HI: f32 = hex("0x1.62e4p-1");
pub(super) const LN2_LO: f32 = hex("0x1.7f7d1cp-20");
pub(super) const PIO2_HI: f32 = hex("0x1.921fb6p0");
pub(super) const PIO2_LO: f32 = hex("-0x1.777a5cp-25");

/// Returns the larger of `x` and `lo`; NaN stays NaN.
#[inline(always)]
pub(super) fn at_least(x: f32, lo: f32) -> f32 {
    if x < lo { lo } else { x }
}

/// Returns the smaller of `x` and `hi`; NaN stays NaN.
#[inline(always)]
pub(super) fn at_most(x: f32, hi: f32) -> f32 {
    if x > hi { hi } else { x }
}

/// Returns a + b and its rounding error.
#[inline(always)]
pub(super) fn two_sum(a: f32, b: f32) -> (f32, f32) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// 2^(n + bias) for `t` = n + [`ROUNDER`].
#[inline(always)]
pub(super) fn scale_of(t: f32, bias: i32) -> f32 {
    f32::from_bits((t.to_bits() << 23).wrapping_add(((127 + bias) as u32) << 23))
}

/// 2^n in two factors, for n from -190 to 191: the product with both is rounded at most once.
#[inline(always)]
pub(super) fn split_scale(t: f32) -> (f32, f32) {
    let down = t.to_bits() < ROUNDER.to_bits();
    let shift = if down { 64u32 << 23 } else { (64u32 << 23).wrapping_neg() };
    // use integers for both: selecting between two float constants kept the compiler from
    // vectorising the loop of exp (40 times slower)
    let first = f32::from_bits(scale_of(t, 0).to_bits().wrapping_add(shift));
    (first, f32::from_bits((127u32 << 23).wrapping_sub(shift)))
}

/// q in exp(r) = 1 + r + r^2 q(r), |r| <= 0.348.
#[inline(always)]
pub(super) fn expm1_tail(r: f32) -> f32 {
    const Q: [f32; 6] =
        coefficients(["0x1.a2d3dep-13", "0x1.6d310cp-10", "0x1.110fc4p-7", "0x1.5555p-5", "0x1.555556p-3", "0x1p-1"]);
    poly(r, &Q)
}

/// exp(r) - 1, |r| <= 0.348.
#[inline(always)]
pub(super) fn expm1_poly(r: f32) -> f32 {
    (r * r).mul_add(expm1_tail(r), r)
}

/// (exp(r) - 1) / r, |r| <= 0.348.
#[inline(always)]
pub(super) fn exp_slope(r: f32) -> f32 {
    const Q: [f32; 6] =
        coefficients(["0x1.6d56e6p-10", "0x1.122c0cp-7", "0x1.5554ep-5", "0x1.5554aap-3", "0x1p-1", "0x1p0"]);
    poly(r, &Q)
}

/// 2^r - 1, |r| <= 0.5.
#[inline(always)]
pub(super) fn exp2m1_poly(r: f32) -> f32 {
    const Q: [f32; 6] = coefficients([
        "0x1.44250ep-13",
        "0x1.5f08f8p-10",
        "0x1.3b2a48p-7",
        "0x1.c6af6cp-5",
        "0x1.ebfbep-3",
        "0x1.823288p-28",
    ]);
    r.mul_add(const { hex("0x1.62e43p-1") }, r * poly(r, &Q))
}

/// Improves the approximation w of 1/d, given e = 1 - d w; the relative error is cubed.
#[inline(always)]
pub(super) fn recip_step(w: f32, e: f32) -> f32 {
    w.mul_add(e.mul_add(e, e), w)
}

/// Approximates 1/d with a relative error of 2^-12, for |d| from 2^-125 to 2^126.
#[inline(always)]
pub(super) fn recip_rough(d: f32) -> f32 {
    let w = f32::from_bits(0x7ef3_1000u32.wrapping_sub(d.to_bits()));
    recip_step(w, (-d).mul_add(w, 1.0))
}

/// Approximates 1/sqrt(z) with a relative error of 2^-15.3, for normal z; zero gives a finite
/// number.
#[inline(always)]
pub(super) fn rsqrt_rough(z: f32) -> f32 {
    const P: [f32; 3] = coefficients(["0x1.8da70ap-2", "0x1.0070a8p-1", "0x1.fffe58p-1"]);
    let y = f32::from_bits(0x5f36_0000u32.wrapping_sub(z.to_bits() >> 1));
    y * poly((-(z * y)).mul_add(y, 1.0), &P)
}
