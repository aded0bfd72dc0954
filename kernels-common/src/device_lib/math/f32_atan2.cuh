// atan2 of f32. Recipe and bound: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {

// The angle of the shorter side seen along the longer one, b / a, is atan(t) or pi/4 + atan(t) with
// |t| up to sqrt(2) - 1. The angle of the point is that, or its distance from a multiple of pi/2.
ISOBIT_FN float atan2(float y, float x) {
    float ax = abs(x);
    float ay = abs(y);
    bool steep = ay > ax;
    float a = steep ? ay : ax;
    float b = steep ? ax : ay;
    // Two infinities are two equal sides; a finite side is nothing beside an infinite one.
    bool endless = a == f32::inf();
    b = endless ? (b == f32::inf() ? 1.0f : 0.0f) : b;
    a = endless || a == 0.0f ? 1.0f : a;
    // Keeps sums finite and remainders normal.
    float scale = a < 0x1p60f ? 0x1p64f : 0x1p-32f;
    a = a * scale;
    b = b * scale;
    bool middle = b > a * 0x1.a8279ap-2f;
    float less = b - a;
    float more = b + a;
    float n = middle ? less : b;
    float d = middle ? more : a;
    float n_low = middle ? b - (less + a) : 0.0f;
    float d_low = middle ? b - (more - a) : 0.0f;
    float w = f32::recip_rough(d);
    float t = n * w;
    t = fma(fma(-t, d, n), w, t);
    float t_low = (fma(-t, d_low, fma(-t, d, n)) + n_low) * w;
    float z = t * t;
    float q = fma(0x1.9d6be6p-5f, z, -0x1.613e3ap-4f);
    q = fma(q, z, 0x1.c57adep-4f);
    q = fma(q, z, -0x1.248a12p-3f);
    q = fma(q, z, 0x1.99997ap-3f);
    q = fma(q, z, -0x1.555556p-2f);
    float tail = fma(t * z, q, fma(-z, t_low, t_low));
    bool left = to_bits(x) >> 31;
    float sign = steep != left ? -1.0f : 1.0f;
    float base = (steep ? 1.0f : left ? 2.0f : 0.0f) + (middle ? 0.5f * sign : 0.0f);
    float c = base * f32::PIO2_HI;
    float c_low = fma(base, f32::PIO2_LO, fma(base, f32::PIO2_HI, -c));
    float v = sign * t;
    float u = c + v;
    float angle = u + (((c - u) + v) + fma(sign, tail, c_low));
    return copysign(is_nan(x) || is_nan(y) ? f32::nan() : angle, y);
}

} // namespace isobit::math
