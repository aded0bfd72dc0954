// asinh, acosh and atanh in f64, as logarithms of pairs.
#pragma once

#include "device_lib/math/f64_log.cuh"

namespace isobit::math {

namespace f64 {

// log(2 x) for a positive finite x.
ISOBIT_FN double log_twice(double x) {
    const Split a = log_split(x);
    const Pair p = log_pair(a.k + 1.0, a.m - 1.0, 0.0);
    return p.hi + p.lo;
}

} // namespace f64

ISOBIT_FN double asinh(double x) {
    using namespace f64;
    // log(1 + a + a^2 / (1 + sqrt(1 + a^2))); above 2^28 the last bit is that of log(2 a)
    const double a = abs(x);
    const double z = a * a;
    const Pair above = fast_two_sum(a, z / (1.0 + sqrt(1.0 + z)));
    const Pair p = log1p_pair(above.hi, above.lo);
    const double v = a > 0x1p28 ? log_twice(a) : p.hi + p.lo;
    return a < 0x1p-28 ? x : copysign(a < infinity() ? v : a, x);
}

ISOBIT_FN double acosh(double x) {
    using namespace f64;
    // log(1 + t + sqrt(t (t + 2))), t = x - 1
    const double t = x - 1.0;
    const Pair s = two_sum(t, 2.0);
    const Pair z = two_prod(t, s.hi);
    const double root = sqrt(z.hi);
    const double rest = fma(-root, root, z.hi) + fma(t, s.lo, z.lo);
    const Pair above = fast_two_sum(root, t);
    const Pair p = log1p_pair(above.hi, above.lo + rest * (0.5 / root));
    const double v = x > 0x1p28 ? log_twice(x) : x == 1.0 ? 0.0 : p.hi + p.lo;
    return x < 1.0 ? not_a_number() : x < infinity() ? v : x;
}

ISOBIT_FN double atanh(double x) {
    using namespace f64;
    // log(1 + 2 a / (1 - a)) / 2
    const double a = abs(x);
    const Pair d = fast_two_sum(1.0, -a);
    const double w = 1.0 / d.hi;
    const double n = a + a;
    const double q = n * w;
    const Pair p = log1p_pair(q, fma(-q, d.lo, fma(-q, d.hi, n)) * w);
    const double v = a < 1.0 ? 0.5 * (p.hi + p.lo) : a == 1.0 ? infinity() : not_a_number();
    return a < 0x1p-28 ? x : copysign(v, x);
}

} // namespace isobit::math
