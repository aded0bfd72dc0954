// rsqrt and recip in f64.
#pragma once

#include "device_lib/math/f64_core.cuh"

namespace isobit::math {

ISOBIT_FN double recip(double x) { return 1.0 / x; }

// 1 / sqrt(x) with one Newton step. The rounding error of the product is added back to its residual
// 1 - x r^2.
ISOBIT_FN double rsqrt(double x) {
    using namespace f64;
    const double r = 1.0 / sqrt(x);
    const Pair h = two_prod(x, r);
    const double e = fma(-h.lo, r, fma(-h.hi, r, 1.0));
    const double v = fma(0.5 * r, e, r);
    return x == 0.0 || x == infinity() ? r : v;
}

} // namespace isobit::math
