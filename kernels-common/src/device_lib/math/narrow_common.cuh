// Shared parts of the recipes of the narrow types. These f32 building blocks are shorter than those
// of the f32 functions, because a result needs only enough digits to round correctly to 11 (f16) or
// 8 (bf16) bits. docs/numerics/narrow.md states every recipe.
#pragma once
#include "device_lib/narrow_types.cuh"

namespace isobit::narrow {

// bf16 has the exponent range of f32, so its recipes guard against overflow and underflow; those of
// f16 and f8e4m3 need no guard.
template <typename T>
constexpr bool is_wide = false;
template <>
constexpr bool is_wide<bf16> = true;

template <typename T>
constexpr bool is_f16 = false;
template <>
constexpr bool is_f16<f16> = true;

ISOBIT_FN float infinity() { return from_bits(0x7f800000u); }

// A NaN x stays NaN; the usual minimum or maximum instruction would drop it.
#if defined(ISOBIT_PTX70) && defined(__clang__) && defined(__NVPTX__)
ISOBIT_FN float at_most(float x, float limit) { return __nvvm_fmin_nan_f(x, limit); }
ISOBIT_FN float at_least(float x, float limit) { return __nvvm_fmax_nan_f(x, limit); }
#else
ISOBIT_FN float at_most(float x, float limit) { return x > limit ? limit : x; }
ISOBIT_FN float at_least(float x, float limit) { return x < limit ? limit : x; }
#endif

// A few f16 results are closer to a rounding tie than one unit of f32, so the f32 recipe cannot
// decide the side. Their inputs are moved slightly towards the correct side. bf16 and f8e4m3 have
// no such results.
template <typename T>
ISOBIT_FN float moved(float x, float hard, float to) {
    if constexpr (is_f16<T>) {
        return x == hard ? to : x;
    } else {
        return x;
    }
}

ISOBIT_FN float xor_sign(float x, u32 sign) { return from_bits(to_bits(x) ^ sign); }
ISOBIT_FN float with_sign(float x, float sign) {
    return from_bits((to_bits(x) & 0x7fffffffu) | (to_bits(sign) & 0x80000000u));
}
ISOBIT_FN u32 sign_of(float x) { return to_bits(x) & 0x80000000u; }

// The polynomial with these coefficients, from the highest power down, by Horner's scheme with one
// fma per step.
ISOBIT_FN float horner(float, float value) { return value; }
template <typename... Rest>
ISOBIT_FN float horner(float x, float value, float next, Rest... rest) {
    return horner(x, fma(value, x, next), rest...);
}

// 1.5 * 2^23: adding it rounds to an integer, which is then in the low bits.
ISOBIT_CONST float MAGIC = 0x1.8p23f;
// The same plus the exponent bias: shifted left by 23, the bits of the sum are two to the power of
// that integer.
ISOBIT_CONST float MAGIC_BIASED = 0x1.8p23f + 127.0f;

// 2^k from the sum k + MAGIC_BIASED, for -127 < k < 128. Recipes multiply by it, instead of adding
// to an exponent field, so that a NaN factor stays NaN.
ISOBIT_FN float power_of_two(float biased) { return from_bits(to_bits(biased) << 23); }

// 1/d to about 2^-24, for |d| from 2^-125 to 2^125: an estimate from the bits with 5 % error, then
// one third-order and one second-order step. An IEEE division costs twice as much.
ISOBIT_FN float reciprocal(float d) {
    float y = from_bits(0x7ef31000u - to_bits(d));
    float e = fma(-d, y, 1.0f);
    y = fma(y, fma(e, e, e), y);
    e = fma(-d, y, 1.0f);
    return fma(y, e, y);
}

} // namespace isobit::narrow
