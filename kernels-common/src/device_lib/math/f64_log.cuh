// log, log2 and log1p in f64: x = 2^k (1 + f) with 1 + f from about sqrt(1/2) to sqrt(2).
#pragma once

#include "device_lib/math/f64_core.cuh"

namespace isobit::math {

namespace f64 {

// ln 2 with its lowest eleven bits zero, so that a product with any exponent is exact; and the
// remainder of ln 2.
ISOBIT_CONST double LN2_SHORT = 0x1.62e42fefa38p-1;
ISOBIT_CONST double LN2_REST = 0x1.ef35793c7673p-45;
ISOBIT_CONST double LOG2E_LO = 0x1.777d0ffda0d24p-56;

struct Split {
    double k, m;
};

// x must be positive and finite. `bias` is subtracted from the exponent field: 1023, or more if x
// was scaled up.
ISOBIT_FN Split log_split(double x, double bias) {
    const u64 b = to_bits(x) + 0x0009'5f62'0000'0000ull;
    return {from_bits(0x4330000000000000ull | (b >> 52)) - (0x1p52 + bias),
            from_bits((b & 0x000fffffffffffffull) + 0x3fe6'a09e'0000'0000ull)};
}

ISOBIT_FN Split log_split(double x) {
    const bool small = x < 0x1p-1022;
    return log_split(small ? x * 0x1p54 : x, small ? 1077.0 : 1023.0);
}

// log(1 + f) - f, for f from -0.293 to 0.4143.
ISOBIT_FN double log_tail(double f) {
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double r = z * horner(z, 0x1.5555555555558p-1, 0x1.99999999952d7p-2, 0x1.2492492df79dfp-2,
                                0x1.c71c62dbbd736p-3, 0x1.7462b78a4d11fp-3, 0x1.39fe025e78d95p-3, 0x1.2b5cae0386875p-3);
    const double h = 0.5 * (f * f);
    return fma(s, h + r, -h);
}

// k ln 2 + log(1 + f + lost), where lost is far below f; an unnormalised pair.
ISOBIT_FN Pair log_pair(double k, double f, double lost) {
    const Pair sum = fast_two_sum(k * LN2_SHORT, f);
    return {sum.hi, sum.lo + (fma(k, LN2_REST, log_tail(f)) + fma(-f, lost, lost))};
}

// log(1 + x + x_lo), where x_lo is far below x.
ISOBIT_FN Pair log1p_pair(double x, double x_lo) {
    const Pair u = two_sum(1.0, x);
    const Split a = log_split(u.hi, 1023.0);
    // The part that rounding 1 + x lost, on the scale of f. If the exponent is zero, f is x itself.
    const double down = a.k > 1000.0 ? 0.0 : pow2(0u - magic_int(a.k + MAGIC));
    const bool near = a.k == 0.0;
    return log_pair(a.k, near ? x : a.m - 1.0, near ? x_lo : (u.lo + x_lo) * down);
}

// Returns v for a positive finite x, and the special value for any other x.
ISOBIT_FN double log_edges(double x, double v) {
    return x > 0.0 && x < infinity() ? v : x == 0.0 ? -infinity() : x > 0.0 ? x : not_a_number();
}

} // namespace f64

ISOBIT_FN double log(double x) {
    using namespace f64;
    const Split a = log_split(x);
    const double f = a.m - 1.0;
    const Pair sum = fast_two_sum(a.k * LN2_SHORT, f);
    const double v = sum.hi + (sum.lo + fma(a.k, LN2_REST, log_tail(f)));
    return log_edges(x, v);
}

ISOBIT_FN double log2(double x) {
    using namespace f64;
    const Split a = log_split(x);
    const double f = a.m - 1.0;
    const Pair p = two_prod(f, LOG2E);
    const double c = fma(log_tail(f), LOG2E, fma(f, LOG2E_LO, p.lo));
    const Pair sum = fast_two_sum(a.k, p.hi);
    return log_edges(x, sum.hi + (sum.lo + c));
}

ISOBIT_FN double log1p(double x) {
    using namespace f64;
    // Adding -0 changes nothing.
    const Pair p = log1p_pair(x, -0.0);
    const double v = log_edges(1.0 + x, p.hi + p.lo);
    return abs(x) < 0x1p-54 ? x : v;
}

} // namespace isobit::math
