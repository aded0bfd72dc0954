// atan2 and hypot of the narrow types, to within 1 ulp.
#pragma once
#include "device_lib/math/narrow_common.cuh"
#include "device_lib/math/narrow_inverse_trig.cuh"
#include "device_lib/math/narrow_root.cuh"

namespace isobit::narrow {

// The angle of the shorter side b seen along the longer one a, t P(t^2) with t = b / a, or its
// distance from pi/2, and then that or its distance from pi. A NaN is never the longer side alone,
// so it reaches the quotient. Limits of a and b stand in for infinity, which gives the quotients 1
// and 0, and for a zero a.
template <typename T>
ISOBIT_FN float atan2(float y, float x) {
    bool steep = abs(y) > abs(x);
    float a = steep ? abs(y) : abs(x);
    float b = steep ? abs(x) : abs(y);
    if constexpr (is_wide<T>) {
        // Into the range of the reciprocal. A finite b along an infinite a must end as 0, though
        // bf16 has quotients down to 2^-133.
        float scale = a < 0x1p-64f ? 0x1p64f : (a > 0x1p64f ? 0x1p-64f : 1.0f);
        b = b * (a == infinity() ? 0x1p-149f : scale);
        a = at_least(at_most(a * scale, 0x1p120f), 0x1p-100f);
        b = at_most(b, 0x1p120f);
    } else {
        a = at_least(at_most(a, 0x1p60f), 0x1p-60f);
        b = at_most(b, 0x1p60f);
    }
    float t = b * reciprocal(a);
    float p = horner(
        t * t, 0x1.01aa68p-7f, -0x1.2f35a4p-5f, 0x1.578934p-4f, -0x1.1437b4p-3f, 0x1.972c38p-3f, -0x1.554376p-2f,
        0x1.ffffeap-1f);
    float angle = fma(p, steep ? -t : t, steep ? HALF_PI : 0.0f);
    angle = (to_bits(x) >> 31) != 0 ? 2.0f * HALF_PI - angle : angle;
    return with_sign(angle, y);
}

// The squares are exact, so their sum is rounded once, whichever comes first.
template <typename T>
ISOBIT_FN float hypot(float x, float y) {
    bool endless = abs(x) == infinity() || abs(y) == infinity();
    float back = 1.0f;
    if constexpr (is_wide<T>) {
        // Into the range of the root.
        bool large = abs(x) > 0x1p60f || abs(y) > 0x1p60f;
        bool small = abs(x) < 0x1p-40f && abs(y) < 0x1p-40f;
        float scale = large ? 0x1p-80f : (small ? 0x1p100f : 1.0f);
        back = large ? 0x1p80f : (small ? 0x1p-100f : 1.0f);
        x = x * scale;
        y = y * scale;
    }
    float value = root(fma(x, x, y * y));
    if constexpr (is_wide<T>) {
        value = value * back;
    }
    return endless ? infinity() : value;
}

} // namespace isobit::narrow
