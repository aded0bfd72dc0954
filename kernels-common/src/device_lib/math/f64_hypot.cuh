// hypot in f64.
#pragma once

#include "device_lib/math/f64_core.cuh"

namespace isobit::math {

ISOBIT_FN double hypot(double x, double y) {
    using namespace f64;
    const double ax = abs(x);
    const double ay = abs(y);
    // Keeps the squares finite, and their errors normal.
    const double longer = ax < ay ? ay : ax;
    const bool large = longer > 0x1p500;
    const bool small = longer < 0x1p-400;
    const double down = large ? 0x1p-600 : small ? 0x1p600 : 1.0;
    const double back = large ? 0x1p600 : small ? 0x1p-600 : 1.0;
    const double a = longer * down;
    const double b = (ax < ay ? ax : ay) * down;
    const Pair h = two_prod(a, a);
    const Pair l = two_prod(b, b);
    const Pair s = fast_two_sum(h.hi, l.hi);
    const double root = sqrt(s.hi);
    const double rest = fma(-root, root, s.hi) + (s.lo + (h.lo + l.lo));
    const double v = root == 0.0 ? root : fma(rest, 0.5 / root, root);
    return ax == infinity() || ay == infinity() ? infinity() : v * back;
}

} // namespace isobit::math
