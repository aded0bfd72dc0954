// sin, cos and tan in f64.
#pragma once

#include "device_lib/math/f64_trig_reduce.cuh"

namespace isobit::math {

namespace f64 {

// sin(r + lo) and cos(r + lo) for |r| up to slightly more than pi/4.
ISOBIT_FN double sin_kernel(Pair r) {
    const double z = r.hi * r.hi;
    const double p = horner(z, -0x1.5555555555555p-3, 0x1.1111111110c83p-7, -0x1.a01a019ea130ap-13, 0x1.71de37b1ca273p-19,
                            -0x1.ae60210233a95p-26, 0x1.5e118e8484eeep-33);
    return r.hi + fma(z * r.hi, p, fma(-0.5 * z, r.lo, r.lo));
}

ISOBIT_FN double cos_kernel(Pair r) {
    const double z = r.hi * r.hi;
    const double p = horner(z, 0x1.5555555555555p-5, -0x1.6c16c16c168ccp-10, 0x1.a01a019f38afap-16, -0x1.27e4fa036d38fp-22,
                            0x1.1eeb58509df39p-29, -0x1.9073d444493acp-37);
    const Pair s = fast_two_sum(1.0, -0.5 * z);
    return s.hi + (s.lo + fma(z * z, p, -r.hi * r.lo));
}

} // namespace f64

ISOBIT_FN double sin(double x) {
    using namespace f64;
    const Reduced a = trig_reduce(x);
    const double v = (a.quadrant & 1u) != 0u ? cos_kernel(a.r) : sin_kernel(a.r);
    return abs(x) < 0x1p-27 ? x : (a.quadrant & 2u) != 0u ? -v : v;
}

ISOBIT_FN double cos(double x) {
    using namespace f64;
    const Reduced a = trig_reduce(x);
    const double v = (a.quadrant & 1u) != 0u ? sin_kernel(a.r) : cos_kernel(a.r);
    return ((a.quadrant + 1u) & 2u) != 0u ? -v : v;
}

ISOBIT_FN double tan(double x) {
    using namespace f64;
    const Reduced a = trig_reduce(x);
    const double s = sin_kernel(a.r);
    const double c = cos_kernel(a.r);
    const bool odd = (a.quadrant & 1u) != 0u;
    const double v = (odd ? -c : s) / (odd ? s : c);
    return abs(x) < 0x1p-27 ? x : v;
}

} // namespace isobit::math
