// exp, exp2 and expm1 in f64.
#pragma once

#include "device_lib/math/f64_core.cuh"

namespace isobit::math {

ISOBIT_FN double exp(double x) {
    using namespace f64;
    const Exp e = exp_parts(x, 0.0);
    const double v = scale(exp_significand(e), e.n);
    return x > 720.0 ? infinity() : x < -750.0 ? 0.0 : v;
}

ISOBIT_FN double exp2(double x) {
    using namespace f64;
    const Exp e = exp2_parts(x, 0.0);
    const double v = scale(exp_significand(e), e.n);
    return x > 1030.0 ? infinity() : x < -1080.0 ? 0.0 : v;
}

ISOBIT_FN double expm1(double x) {
    using namespace f64;
    const Pair q = expm1_quarter(x);
    const double v = 4.0 * (q.hi + q.lo);
    // Below 2^-54 the result is x; a quarter of a subnormal would lose bits.
    return abs(x) < 0x1p-54 ? x : x < -40.0 ? -1.0 : x > 710.0 ? infinity() : v;
}

} // namespace isobit::math
