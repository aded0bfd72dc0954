// pow of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"
#include "device_lib/math/narrow_exp.cuh"
#include "device_lib/math/narrow_log.cuh"

namespace isobit::narrow {

// 2^(y log2 |x|), with the special values of C's Annex F. The result may be 1 ulp off, so both
// polynomials are shorter than those of log2 and exp2: their relative errors are 2^-19 and 2^-18.
template <typename T>
ISOBIT_FN float pow(float x, float y) {
    float a = abs(x);
    LogSplit s = log_split<T>(a);
    float q = horner(
        s.f, 0x1.5f6f62p-3f, -0x1.13c69cp-2f, 0x1.2ecd1p-2f, -0x1.6fff66p-2f, 0x1.ec295ap-2f, -0x1.71569p-1f,
        0x1.71548ep+0f);
    float log = fma(s.f, q, s.k);
    // -inf at 0; infinity and NaN stay as they are.
    log = to_bits(a) - 1u < 0x7f7fffffu ? log : (a - 1.0f) * infinity();
    float t = a == 1.0f || y == 0.0f ? 0.0f : y * log;
    // For bf16, exponentiates half of t and squares the result later.
    float half = is_wide<T> ? 0.5f : 1.0f;
    float limit = is_wide<T> ? 140.0f : 30.0f;
    t = at_least(at_most(t, limit), -limit);
    float biased = fma(t, half, MAGIC_BIASED);
    float r = fma(t, half, -(biased - MAGIC_BIASED));
    float value = horner(r, 0x1.3a03c8p-7f, 0x1.c9fc74p-5f, 0x1.ec0374p-3f, 0x1.62e12cp-1f, 1.0f);
    value = value * power_of_two(biased);
    if constexpr (is_wide<T>) {
        value = value * value;
    }
    bool integer = rint(y) == y;
    bool odd = integer && rint(0.5f * y) != 0.5f * y;
    value = xor_sign(value, sign_of(x) & (odd ? 0x80000000u : 0u));
    // A NaN y is not an integer either.
    return x < 0.0f && a < infinity() && !integer ? infinity() - infinity() : value;
}

} // namespace isobit::narrow
