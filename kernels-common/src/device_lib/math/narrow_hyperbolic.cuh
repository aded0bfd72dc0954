// sinh, cosh and tanh of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"
#include "device_lib/math/narrow_exp.cuh"

namespace isobit::narrow {

// e^x and e^-x share one reduction x = k ln 2 + r and one pair of polynomials, even and odd: e^x =
// 2^k (even + odd), e^-x = 2^-k (even - odd). Near 0, where k = 0, sinh is the odd polynomial, so
// nothing cancels.
struct HyperbolicSplit {
    float even;  // cosh(r)
    float odd;   // sinh(r)
    float sum;   // (2^k + 2^-k) / 2, for bf16 a half of that
    float gap;   // (2^k - 2^-k) / 2, for bf16 a half of that
};

template <typename T>
ISOBIT_FN HyperbolicSplit hyperbolic_split(float x) {
    float magnitude = at_most(abs(x), is_wide<T> ? 89.5f : 20.0f);
    // The low bits of t hold 2^(k-1), or 2^(k-2) for bf16.
    float offset = is_wide<T> ? MAGIC_BIASED - 2.0f : MAGIC_BIASED - 1.0f;
    float t = fma(magnitude, LOG2_E, offset);
    float r = fma(t - offset, -LN_2, magnitude);
    u32 up = to_bits(t) << 23;
    u32 both = is_wide<T> ? 250u << 23 : 252u << 23;
    u32 down = both - up;
    if constexpr (is_wide<T>) {
        down = up > both ? 0u : down;
    }
    float z = r * r;
    float even = horner(z, 0x1.6cca5ap-10f, 0x1.55c218p-5f, 0x1.fffe12p-2f, 0x1.000002p+0f);
    float odd = horner(z, 0x1.110502p-7f, 0x1.55520ep-3f, 0x1.000002p+0f);
    odd = odd * r;
    return HyperbolicSplit{even, odd, from_bits(up) + from_bits(down), from_bits(up) - from_bits(down)};
}

template <typename T>
ISOBIT_FN float sinh(float x) {
    HyperbolicSplit s = hyperbolic_split<T>(x);
    float value = fma(s.even, s.gap, s.odd * s.sum);
    return xor_sign(is_wide<T> ? 2.0f * value : value, sign_of(x));
}

template <typename T>
ISOBIT_FN float cosh(float x) {
    HyperbolicSplit s = hyperbolic_split<T>(x);
    float value = fma(s.even, s.sum, s.odd * s.gap);
    return is_wide<T> ? 2.0f * value : value;
}

// x P(x^2) / Q(x^2) up to 4.55, from where on tanh rounds to 1 in f16.
template <typename T>
ISOBIT_FN float tanh(float x) {
    float a = at_most(abs(x), 4.55f);
    float z = a * a;
    float p = horner(z, 0x1.6ed166p-18f, 0x1.4ea188p-9f, 0x1.01e0fep-3f, 1.0f);
    float q = horner(z, 0x1.6df11ep-13f, 0x1.6d6c8ep-6f, 0x1.d645c6p-2f, 1.0f);
    return with_sign(a * p * reciprocal(q), x);
}

} // namespace isobit::narrow
