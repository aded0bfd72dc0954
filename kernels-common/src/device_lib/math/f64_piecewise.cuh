// hard_sigmoid, hard_swish, selu and celu in f64.
#pragma once

#include "device_lib/math/f64_exp.cuh"

namespace isobit::math {

// (x + 3) / 6 with x limited to -3 .. 3, so that nothing cancels.
ISOBIT_FN double hard_sigmoid(double x) {
    const double v = x < -3.0 ? -3.0 : x > 3.0 ? 3.0 : x;
    const double y = v + 3.0;
    const double lo = v - (y - 3.0);
    return fma(y, 0x1.5555555555555p-3, fma(y, 0x1.5555555555555p-57, lo * 0x1.5555555555555p-3));
}

ISOBIT_FN double hard_swish(double x) { return (x < -3.0 ? -3.0 : x) * hard_sigmoid(x); }

ISOBIT_FN double selu(double x) {
    using namespace f64;
    const double sa = 0x1.c212cc640f031p0;
    const Pair q = expm1_quarter(x);
    const double v = fma(4.0 * sa, q.hi, 4.0 * sa * q.lo);
    const double below = abs(x) < 0x1p-54 ? sa * x : x < -40.0 ? -sa : v;
    return x > 0.0 ? 0x1.0cfabd6a91132p0 * x : below;
}

ISOBIT_FN double celu(double x, double alpha) {
    const double t = x / alpha;
    const double power = expm1(t);
    // What t lost, times alpha, with the weight exp(t).
    const double rest = (power + 1.0) * fma(-t, alpha, x);
    const bool finite = power < f64::infinity() && abs(t) < f64::infinity();
    const double v = finite ? fma(alpha, power, rest) : alpha * power;
    // The curve is below the precision, and t may have lost bits as a subnormal.
    return x > 0.0 || abs(t) < 0x1p-54 ? x : v;
}

} // namespace isobit::math
