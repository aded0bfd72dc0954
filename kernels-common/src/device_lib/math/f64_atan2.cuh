// atan2 in f64.
#pragma once

#include "device_lib/math/f64_core.cuh"
#include "device_lib/math/f64_inverse_trig.cuh"

namespace isobit::math {

ISOBIT_FN double atan2(double y, double x) {
    using namespace f64;
    const double ax = abs(x);
    const double ay = abs(y);
    const bool steep = ay > ax;
    double a = steep ? ay : ax;
    double b = steep ? ax : ay;
    // Two infinities are two equal sides; a finite side is nothing beside an infinite one.
    const bool endless = a == infinity();
    b = endless ? (b == infinity() ? 1.0 : 0.0) : b;
    a = endless || a == 0.0 ? 1.0 : a;
    // Keeps sums finite and remainders normal.
    const double scale = a < 0x1p-900 ? 0x1p200 : a > 0x1p1000 ? 0x1p-100 : 1.0;
    a = a * scale;
    b = b * scale;
    // The angle of b / a is atan(t), or pi/4 + atan(t).
    const bool middle = b > a * 0x1.a827999fcef32p-2;
    const double less = b - a;
    const double more = b + a;
    const double n = middle ? less : b;
    const double d = middle ? more : a;
    const double n_lo = middle ? b - (less + a) : 0.0;
    const double d_lo = middle ? b - (more - a) : 0.0;
    const double w = 1.0 / d;
    const double t = n * w;
    const double t_lo = fma(-t, d_lo, fma(-t, d, n) + n_lo) * w;
    const double tail = fma(t, atan_tail(t), t_lo);
    // The angle of the point is base pi + sign atan(t).
    const bool left = to_bits(x) >> 63;
    const double sign = steep != left ? -1.0 : 1.0;
    const double base = (steep ? 0.5 : left ? 1.0 : 0.0) + (middle ? 0.25 * sign : 0.0);
    const Pair c = two_prod(base, PI_HI);
    const Pair s = fast_two_sum(c.hi, sign * t);
    const double angle = s.hi + (s.lo + fma(sign, tail, fma(base, PI_LO, c.lo)));
    return copysign(is_nan(x) || is_nan(y) ? not_a_number() : angle, y);
}

} // namespace isobit::math
