// pow in f64: the base 2 logarithm to about 66 bits as a pair, then the exponential of the product.
#pragma once

#include "device_lib/math/f64_log.cuh"

namespace isobit::math {

namespace f64 {

ISOBIT_CONST double POW_C0_HI = 0x1.71547652b82fep1; // 2 / ln 2
ISOBIT_CONST double POW_C0_LO = 0x1.777d0ffda0d24p-55;
ISOBIT_CONST double POW_C1_HI = 0x1.ec709dc3a03fdp-1; // 2 / (3 ln 2)
ISOBIT_CONST double POW_C1_LO = 0x1.d27f05548af0cp-55;

// log2 of a positive finite number. With s = f / (2 + f): log2(1 + f) = s (c0 + z (c1 + z p(z))), z
// = s^2.
ISOBIT_FN Pair log2_pair(double x) {
    const Split a = log_split(x);
    const double f = a.m - 1.0;
    const Pair d = fast_two_sum(1.0, a.m);
    const double w = 1.0 / d.hi;
    const double s = f * w;
    const double s_lo = fma(-s, d.lo, fma(-s, d.hi, f)) * w;
    const Pair zz = two_prod(s, s);
    const double z = zz.hi;
    const double z_lo = fma(2.0 * s, s_lo, zz.lo);
    const double t = z * horner(z, 0x1.2776c50ef9bfep-1, 0x1.a61762a7ae442p-2, 0x1.484b13d731392p-2, 0x1.0c9a850375a59p-2,
                                0x1.c68f0293f9fc8p-3, 0x1.8a0691212df49p-3, 0x1.5930b045ef666p-3, 0x1.609cba9448a8bp-3);
    const Pair q = fast_two_sum(POW_C1_HI, t);
    const double q_lo = q.lo + POW_C1_LO;
    const Pair zq = two_prod(z, q.hi);
    const double zq_lo = fma(z_lo, q.hi, fma(z, q_lo, zq.lo));
    const Pair c = fast_two_sum(POW_C0_HI, zq.hi);
    const double c_lo = c.lo + (zq_lo + POW_C0_LO);
    const Pair l = two_prod(s, c.hi);
    const double l_lo = fma(s_lo, c.hi, fma(s, c_lo, l.lo));
    const Pair sum = fast_two_sum(a.k, l.hi);
    return fast_two_sum(sum.hi, sum.lo + l_lo);
}

} // namespace f64

ISOBIT_FN double pow(double x, double y) {
    using namespace f64;
    const double ax = abs(x);
    const Pair l = log2_pair(ax);
    const Pair p = two_prod(y, l.hi);
    const Exp e = exp2_parts(p.hi, fma(y, l.lo, p.lo));
    double v = scale(exp_significand(e), e.n);
    v = p.hi > 1030.0 ? infinity() : p.hi < -1080.0 ? 0.0 : v;

    // Zero, infinity and an infinite exponent: the result is 0, 1 or infinity, depending on which
    // side of 1 the base lies.
    const bool edge = ax == 0.0 || ax == infinity() || abs(y) == infinity();
    const double limit = ax == 1.0 ? 1.0 : (ax > 1.0) == (y > 0.0) ? infinity() : 0.0;
    v = edge ? limit : v;

    const bool whole = trunc(y) == y;
    const double half = 0.5 * y;
    const bool odd = whole && trunc(half) != half;
    v = odd ? copysign(v, x) : v;
    v = x < 0.0 && ax < infinity() && !whole ? not_a_number() : v;
    v = is_nan(x) || is_nan(y) ? not_a_number() : v;
    return x == 1.0 || y == 0.0 ? 1.0 : v;
}

} // namespace isobit::math
