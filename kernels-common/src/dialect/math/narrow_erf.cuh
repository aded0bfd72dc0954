// erf of the narrow types.
#pragma once
#include "narrow_common.cuh"

namespace isobit::narrow {

// x P(x^2 / 3.5 - 1) as far as 2.65, from where on erf rounds to 1 in f16. The shifted variable keeps the sum well conditioned.
template <typename T>
ISOBIT_FN float erf(float x) {
    float s = fma(x * x, 0x1.24924ap-2f, -1.0f);
    float p = -0x1.dcf1fp-15f;
    p = fma(p, s, 0x1.c7f64cp-13f);
    p = fma(p, s, -0x1.2a5bbep-11f);
    p = fma(p, s, 0x1.b7ee3ep-10f);
    p = fma(p, s, -0x1.36b5bcp-8f);
    p = fma(p, s, 0x1.83714ap-7f);
    p = fma(p, s, -0x1.b109ep-6f);
    p = fma(p, s, 0x1.b270bcp-5f);
    p = fma(p, s, -0x1.86c0ap-4f);
    p = fma(p, s, 0x1.3ff04p-3f);
    p = fma(p, s, -0x1.fbff6cp-3f);
    p = fma(p, s, 0x1.0f71dep-1f);
    return abs(x) > 2.65f ? copysign(1.0f, x) : x * p;
}

} // namespace isobit::narrow
