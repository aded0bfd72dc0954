// asin, acos and atan in f64.
#pragma once

#include "device_lib/math/f64_core.cuh"

namespace isobit::math {

namespace f64 {

// (asin(v)/v - 1) / v^2 as a function of z = v^2, for z up to 1/4.
ISOBIT_FN double asin_poly(double z) {
    return horner(z, 0x1.5555555555556p-3, 0x1.3333333332da2p-4, 0x1.6db6db6e48603p-5, 0x1.f1c71c11deeap-6,
                  0x1.6e8bb37521acap-6, 0x1.1c4d112ced722p-6, 0x1.c9d30ac3ce59bp-7, 0x1.78010220135eap-7,
                  0x1.532a9148f185fp-7, 0x1.5e2915e074c7dp-8, 0x1.220541f36f9ap-6, -0x1.f58c57c0bb66bp-7,
                  0x1.dc181d63e5323p-6);
}

// atan(t) / t - 1 for |t| up to sqrt(2) - 1.
ISOBIT_FN double atan_tail(double t) {
    const double z = t * t;
    return z * horner(z, -0x1.5555555555555p-2, 0x1.9999999999452p-3, -0x1.249249243faa8p-3, 0x1.c71c718a1a80ep-4,
                      -0x1.745d0bd21e6eap-4, 0x1.3b12709f90fd6p-4, -0x1.10fb24631823bp-4, 0x1.dff0fee7a7de5p-5,
                      -0x1.a0cd519eca1e7p-5, 0x1.41eda3f8489f5p-5, -0x1.3b6fea68a0facp-6);
}

} // namespace f64

ISOBIT_FN double asin(double x) {
    using namespace f64;
    const double ax = abs(x);
    const bool small = ax <= 0.5;
    // Above 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x)/2)). For |x| > 1 the square root of a
    // negative number gives the NaN.
    const double z = small ? ax * ax : 0.5 * (1.0 - ax);
    const double v = small ? -ax : 2.0 * sqrt(z);
    const double u = v * z * asin_poly(z);
    const Pair s = fast_two_sum(small ? 0.0 : 0.5 * PI_HI, -v);
    return copysign(s.hi + (s.lo + ((small ? 0.0 : 0.5 * PI_LO) - u)), x);
}

ISOBIT_FN double acos(double x) {
    using namespace f64;
    const double ax = abs(x);
    const bool small = ax <= 0.5;
    const bool positive = x > 0.0;
    const double z = small ? ax * ax : 0.5 * (1.0 - ax);
    const double root = 2.0 * sqrt(z);
    const double v = small ? x : positive ? -root : root;
    const double base = small ? 0.5 : positive ? 0.0 : 1.0;
    const double u = v * z * asin_poly(z);
    const Pair s = fast_two_sum(base * PI_HI, -v);
    return s.hi + (s.lo + (base * PI_LO - u));
}

ISOBIT_FN double atan(double x) {
    using namespace f64;
    // Above 2^60 the result no longer changes.
    const double ax = abs(x) > 0x1p60 ? 0x1p60 : abs(x);
    const bool middle = ax > 0x1.a827999fcef32p-2; // sqrt(2) - 1
    const bool large = ax > 0x1.3504f333f9de6p1;   // sqrt(2) + 1
    // atan(x) = c + atan(t): c = 0, t = x; c = pi/4, t = (x - 1)/(x + 1); c = pi/2, t = -1/x
    const double less = ax - 1.0;
    const double more = ax + 1.0;
    const double n = large ? -1.0 : middle ? less : ax;
    const double d = large ? ax : middle ? more : 1.0;
    const double base = large ? 0.5 : middle ? 0.25 : 0.0;
    const bool inner = middle && !large;
    const double n_lo = inner ? ax - (less + 1.0) : 0.0;
    const double d_lo = inner ? ax - (more - 1.0) : 0.0;
    const double w = 1.0 / d;
    const double t = n * w;
    const double t_lo = fma(-t, d_lo, fma(-t, d, n) + n_lo) * w;
    const double p = atan_tail(t);
    const Pair s = fast_two_sum(base * PI_HI, t);
    return copysign(s.hi + (s.lo + (base * PI_LO + fma(t, p, t_lo))), x);
}

} // namespace isobit::math
