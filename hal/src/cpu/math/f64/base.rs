//! Shared parts of the f64 recipes: exact sums and products, polynomials, scaling, and the
//! exponential that several recipes use. Constants are written as bits, because Rust has no
//! hexadecimal float literals and a rounded decimal hides the exact value.

/// Adding 1.5 * 2^52 rounds to an integer, which is then in the low bits of the sum.
pub(super) const MAGIC: f64 = f64::from_bits(0x4338_0000_0000_0000);
pub(super) const LOG2E: f64 = f64::from_bits(0x3ff7_1547_652b_82fe);
pub(super) const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fefa_39ef);
pub(super) const LN2_LO: f64 = f64::from_bits(0x3c7a_bc9e_3b39_803f);
pub(super) const PI_HI: f64 = f64::from_bits(0x4009_21fb_5444_2d18);
pub(super) const PI_LO: f64 = f64::from_bits(0x3ca1_a626_3314_5c07);
pub(super) const TWO_M54: f64 = f64::from_bits(0x3c90_0000_0000_0000);
pub(super) const TWO_M28: f64 = f64::from_bits(0x3e30_0000_0000_0000);

const EXP: [f64; 10] = bits([
    0x3fc5_5555_5555_5556,
    0x3fa5_5555_5555_5556,
    0x3f81_1111_1111_0708,
    0x3f56_c16c_16c1_5f3b,
    0x3f2a_01a0_1a90_510d,
    0x3efa_01a0_1a8a_2b57,
    0x3ec7_1de0_a30d_f396,
    0x3e92_7e4d_6439_5a25,
    0x3e5a_f3f2_405a_8b35,
    0x3e21_f7cb_0d51_334a,
]);

/// Converts bits to constants.
pub(super) const fn bits<const N: usize>(from: [u64; N]) -> [f64; N] {
    let mut to = [0.0; N];
    let mut i = 0;
    while i < N {
        to[i] = f64::from_bits(from[i]);
        i += 1;
    }
    to
}

/// An unevaluated sum of two numbers.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub hi: f64,
    pub lo: f64,
}

/// Returns `a + b` without error, if `|a| >= |b|` or `a` is zero.
#[inline(always)]
pub(super) fn fast_two_sum(a: f64, b: f64) -> Pair {
    let hi = a + b;
    Pair { hi, lo: b - (hi - a) }
}

/// Returns `a + b` without error.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> Pair {
    let hi = a + b;
    let b_part = hi - a;
    Pair { hi, lo: (a - (hi - b_part)) + (b - b_part) }
}

/// Returns `a * b` without error, unless it underflows.
#[inline(always)]
pub(super) fn two_prod(a: f64, b: f64) -> Pair {
    let hi = a * b;
    Pair { hi, lo: a.mul_add(b, -hi) }
}

/// Evaluates a polynomial by Horner's rule with fma; coefficients start with the constant term.
#[inline(always)]
pub(super) fn horner<const N: usize>(x: f64, c: &[f64; N]) -> f64 {
    let mut sum = c[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.mul_add(x, c[i]);
    }
    sum
}

/// Returns the integer, modulo 2^32, that adding [`MAGIC`] left in `t`.
#[inline(always)]
pub(super) fn magic_int(t: f64) -> u32 {
    t.to_bits() as u32
}

/// Returns 2^n for n from -1022 to 1023, given in two's complement.
#[inline(always)]
pub(super) fn pow2(n: u32) -> f64 {
    f64::from_bits(u64::from(n.wrapping_add(1023)) << 52)
}

/// Returns `v` 2^n, in two steps of which only the last can round.
#[inline(always)]
pub(super) fn scale(v: f64, n: u32) -> f64 {
    let half = ((n as i32) >> 1) as u32;
    v * pow2(half) * pow2(n.wrapping_sub(half))
}

/// An exponential as 2^n (1 + r + tail), where `r` is the larger part.
#[derive(Clone, Copy)]
pub(super) struct Exp {
    pub n: u32,
    pub r: f64,
    pub tail: f64,
}

impl Exp {
    /// exp(x + lo)
    #[inline(always)]
    pub(super) fn base_e(x: f64, lo: f64) -> Self {
        let t = x.mul_add(LOG2E, MAGIC);
        let k = t - MAGIC;
        let r = (-k).mul_add(LN2_HI, x);
        Self::reduced(t, r, (-k).mul_add(LN2_LO, lo))
    }

    /// 2^(x + lo)
    #[inline(always)]
    pub(super) fn base_2(x: f64, lo: f64) -> Self {
        let t = x + MAGIC;
        let f = x - (t - MAGIC);
        let r = two_prod(f, LN2_HI);
        Self::reduced(t, r.hi, lo.mul_add(LN2_HI, f.mul_add(LN2_LO, r.lo)))
    }

    #[inline(always)]
    fn reduced(t: f64, r: f64, c: f64) -> Self {
        let x = r + c;
        let curve = x.mul_add(horner(x, &EXP), 0.5);
        Self { n: magic_int(t), r, tail: (x * x).mul_add(curve, c) }
    }

    /// Returns the significand minus one.
    #[inline(always)]
    pub(super) fn above_one(self) -> f64 {
        self.r + self.tail
    }

    #[inline(always)]
    pub(super) fn significand(self) -> f64 {
        1.0 + self.above_one()
    }

    #[inline(always)]
    pub(super) fn value(self) -> f64 {
        scale(self.significand(), self.n)
    }
}

/// Returns a quarter of exp(x) - 1 for x from -40 to 710.5, because sinh and cosh overflow later
/// than exp.
#[inline(always)]
pub(super) fn expm1_quarter(x: f64) -> Pair {
    let e = Exp::base_e(x, 0.0);
    let s = pow2(e.n.wrapping_sub(2));
    let sum = fast_two_sum(s - 0.25, s * e.r);
    fast_two_sum(sum.hi, s.mul_add(e.tail, sum.lo))
}
