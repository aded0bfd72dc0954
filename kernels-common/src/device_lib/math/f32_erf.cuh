// erf of f32. Recipe and bound: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {

// x + x p(x^2) below 1; from 1 on 1 - 2^(|x| q(|x|)), where q approximates log2(erfc(x)) / x.
ISOBIT_FN float erf(float x) {
    float a = abs(x);
    float z = x * x;
    float p = fma(0x1.4c5cb4p-14f, z, -0x1.a5197ap-11f);
    p = fma(p, z, 0x1.542fecp-8f);
    p = fma(p, z, -0x1.b7fec4p-6f);
    p = fma(p, z, 0x1.ce2d52p-4f);
    p = fma(p, z, -0x1.81274p-2f);
    p = fma(p, z, 0x1.06eba8p-3f);
    float near = fma(a, p, a);

    float b = f32::at_most(a, 3.95f);
    float q = fma(-0x1.5618d4p-16f, b, 0x1.0a7f98p-11f);
    q = fma(q, b, -0x1.63f132p-8f);
    q = fma(q, b, 0x1.1bf25ap-5f);
    q = fma(q, b, -0x1.3ad06cp-3f);
    q = fma(q, b, -0x1.d504aap-1f);
    q = fma(q, b, -0x1.a0dc94p0f);
    float t = fma(q, b, f32::ROUNDER);
    float r = fma(q, b, -(t - f32::ROUNDER));
    float s = f32::scale_of(t);
    float far = fma(-s, f32::exp2m1_poly(r), 1.0f - s);
    return f32::with_sign(a < 1.0f ? near : far, x);
}

} // namespace isobit::math
