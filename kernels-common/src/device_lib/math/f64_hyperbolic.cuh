// sinh, cosh and tanh in f64, all from (exp(|x|) - 1) / 4 as a pair, with one division.
#pragma once

#include "device_lib/math/f64_core.cuh"

namespace isobit::math {

ISOBIT_FN double sinh(double x) {
    using namespace f64;
    const double ax = abs(x);
    // a = (E - 1)/4, and sinh = 2 (a + (a/4) / (a + 1/4))
    const Pair a = expm1_quarter(ax);
    const Pair d = two_sum(a.hi, 0.25);
    const double d_lo = d.lo + a.lo;
    const double w = 1.0 / d.hi;
    const double n = 0.25 * a.hi;
    const double q = n * w;
    const double q_lo = fma(-q, d_lo, fma(0.25, a.lo, fma(-q, d.hi, n))) * w;
    const Pair s = fast_two_sum(a.hi, q);
    const double v = 2.0 * (s.hi + (s.lo + (a.lo + q_lo)));
    return ax < 0x1p-28 ? x : copysign(ax > 710.5 ? infinity() : v, x);
}

ISOBIT_FN double cosh(double x) {
    using namespace f64;
    const double ax = abs(x);
    // b = E/4, and cosh = 2 (b + (1/16) / b)
    const Pair a = expm1_quarter(ax);
    const Pair b = two_sum(a.hi, 0.25);
    const double b_lo = b.lo + a.lo;
    const double w = 0.0625 / b.hi;
    const double w_lo = fma(-w, b_lo, fma(-w, b.hi, 0.0625)) * (16.0 * w);
    const Pair s = fast_two_sum(b.hi, w);
    const double v = 2.0 * (s.hi + (s.lo + (b_lo + w_lo)));
    return ax > 710.5 ? infinity() : v;
}

ISOBIT_FN double tanh(double x) {
    using namespace f64;
    const double ax = abs(x);
    // a = (E^2 - 1)/4, and tanh = a / (a + 1/2)
    const Pair a = expm1_quarter(ax + ax);
    const Pair d = two_sum(a.hi, 0.5);
    const double d_lo = d.lo + a.lo;
    const double w = 1.0 / d.hi;
    const double q = a.hi * w;
    const double rest = fma(-q, d_lo, fma(-q, d.hi, a.hi) + a.lo);
    const double v = fma(rest, w, q);
    return ax < 0x1p-28 ? x : copysign(ax > 22.0 ? 1.0 : v, x);
}

} // namespace isobit::math
