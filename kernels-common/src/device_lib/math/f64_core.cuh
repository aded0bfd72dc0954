// Shared parts of the f64 recipes: exact sums and products, polynomial evaluation, scaling by
// powers of two, and the exponential used by exp, the hyperbolics, the activations, erf and pow.
// docs/numerics/f64.md states every recipe.
#pragma once

#include "device_lib/base.cuh"

namespace isobit::math::f64 {

// Adding this constant rounds to an integer, which is then in the low bits of the sum.
ISOBIT_CONST double MAGIC = 0x1.8p52;
ISOBIT_CONST double LOG2E = 0x1.71547652b82fep0;
ISOBIT_CONST double LN2_HI = 0x1.62e42fefa39efp-1;
ISOBIT_CONST double LN2_LO = 0x1.abc9e3b39803fp-56;
ISOBIT_CONST double PI_HI = 0x1.921fb54442d18p1;
ISOBIT_CONST double PI_LO = 0x1.1a62633145c07p-53;

// An unevaluated sum; after a normalising step |lo| is at most half an ulp of hi.
struct Pair {
    double hi, lo;
};

ISOBIT_FN double infinity() { return from_bits(0x7ff0000000000000ull); }
ISOBIT_FN double not_a_number() { return from_bits(0x7ff8000000000000ull); }

// Exact if |a| >= |b| or a is zero.
ISOBIT_FN Pair fast_two_sum(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}

ISOBIT_FN Pair two_sum(double a, double b) {
    const double s = a + b;
    const double v = s - a;
    return {s, (a - (s - v)) + (b - v)};
}

ISOBIT_FN Pair two_prod(double a, double b) {
    const double p = a * b;
    return {p, fma(a, b, -p)};
}

// Horner's scheme, with coefficients from the constant term upwards.
ISOBIT_FN double horner(double, double c) { return c; }
template <class... Rest>
ISOBIT_FN double horner(double x, double c, Rest... rest) {
    return fma(horner(x, rest...), x, c);
}

// The integer that adding MAGIC left in t, modulo 2^32.
ISOBIT_FN u32 magic_int(double t) { return (u32)to_bits(t); }

// 2^n for n from -1022 to 1023 (n taken modulo 2^32).
ISOBIT_FN double pow2(u32 n) { return from_bits((u64)(n + 1023u) << 52); }

// v * 2^n in two steps; only the last one can round.
ISOBIT_FN double scale(double v, u32 n) {
    const u32 half = (u32)((i32)n >> 1);
    return v * pow2(half) * pow2(n - half);
}

// exp = 2^n (1 + r + tail), |r + tail| below 0.42; r is the larger part.
struct Exp {
    u32 n;
    double r, tail;
};

ISOBIT_FN double exp_tail(double r, double c) {
    const double x = r + c;
    const double p = horner(x, 0x1.5555555555556p-3, 0x1.5555555555556p-5, 0x1.1111111110708p-7, 0x1.6c16c16c15f3bp-10,
                            0x1.a01a01a90510dp-13, 0x1.a01a01a8a2b57p-16, 0x1.71de0a30df396p-19, 0x1.27e4d64395a25p-22,
                            0x1.af3f2405a8b35p-26, 0x1.1f7cb0d51334ap-29);
    return fma(x * x, fma(x, p, 0.5), c);
}

// exp(x + lo). The subtraction that gives r is exact for every |x| below 2^20.
ISOBIT_FN Exp exp_parts(double x, double lo) {
    const double t = fma(x, LOG2E, MAGIC);
    const double k = t - MAGIC;
    const double r = fma(-k, LN2_HI, x);
    return {magic_int(t), r, exp_tail(r, fma(-k, LN2_LO, lo))};
}

// 2^(x + lo)
ISOBIT_FN Exp exp2_parts(double x, double lo) {
    const double t = x + MAGIC;
    const double f = x - (t - MAGIC);
    const Pair r = two_prod(f, LN2_HI);
    return {magic_int(t), r.hi, exp_tail(r.hi, fma(lo, LN2_HI, fma(f, LN2_LO, r.lo)))};
}

ISOBIT_FN double exp_significand(Exp e) { return 1.0 + (e.r + e.tail); }

// (exp(x) - 1) / 4 for x from -40 to 710.5. The factor 1/4 keeps this finite up to the overflow of
// sinh and cosh.
ISOBIT_FN Pair expm1_quarter(double x) {
    const Exp e = exp_parts(x, 0.0);
    const double s = pow2(e.n - 2u);
    const Pair sum = fast_two_sum(s - 0.25, s * e.r);
    return fast_two_sum(sum.hi, fma(s, e.tail, sum.lo));
}

} // namespace isobit::math::f64
