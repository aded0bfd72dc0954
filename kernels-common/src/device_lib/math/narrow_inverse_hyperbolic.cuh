// asinh, acosh and atanh of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"
#include "device_lib/math/narrow_exp.cuh"

namespace isobit::narrow {

// An estimate of 1/sqrt(z) from the bits, which is exact at 1: near 1, where asinh needs sqrt(z) -
// 1 with as many digits as sqrt(z), all corrections are then as small as that difference.
ISOBIT_FN float root_estimate(float z) { return from_bits(0x5f400000u - (to_bits(z) >> 1)); }

// ((1 - e)^-1/2 - 1) / e for the errors e of the estimate, from -0.186 to 0.
ISOBIT_FN float root_tail(float e) {
    return horner(e, 0x1.7f650ep-3f, 0x1.336e7ap-2f, 0x1.7f4c32p-2f, 0x1.fffd36p-2f);
}

// log(1 + a + b), exact in relation to a small a + b. In bf16, if a is `far`, it is log(2 a), of a
// quarter of a and 3 ln 2: the sum is finite.
template <typename T>
ISOBIT_FN float log_of_sum(float a, float b, bool far) {
    float u = a + b;
    if constexpr (is_wide<T>) {
        u = far ? 0.25f * a : u;
    }
    u32 exponent = (to_bits(1.0f + u) - 0x3f3504f3u) & 0xff800000u;
    float scale = from_bits(0x3f800000u - exponent);
    float f = fma(u, scale, scale - 1.0f);
    float q;
    if constexpr (is_wide<T>) {
        exponent = far ? exponent + (3u << 23) : exponent;
        q = horner(
            f, 0x1.f6ca0ap-4f, -0x1.7f3956p-3f, 0x1.a200ccp-3f, -0x1.fe10dep-3f, 0x1.55334p-2f, -0x1.000178p-1f);
    } else {
        q = horner(
            f, -0x1.9cfb56p-4f, 0x1.4b529ap-3f, -0x1.611decp-3f, 0x1.97ad94p-3f, -0x1.ff6b8ep-3f, 0x1.5558ep-2f,
            -0x1.000064p-1f);
    }
    // ln 2 per unit of the exponent field.
    return fma((float)(i32)exponent, 0x1.62e42ep-24f, fma(f * f, q, f));
}

// From here on, the 1 beside the square is nothing in bf16, which reaches 2^128.
ISOBIT_CONST float FAR = 0x1p20f;

// log(a + sqrt(1 + a^2)) = log(1 + a + h). 1 + h is the root, as (1 + h) (1 + e q(e)) from its
// estimate.
template <typename T>
ISOBIT_FN float asinh(float x) {
    float a = abs(x);
    float square = a * a;
    float y = root_estimate(square + 1.0f);
    float gap = 1.0f - y;
    float h = fma(square, y, -gap);
    float e = fma(-h, y, gap);
    h = fma(fma(h, e, e), root_tail(e), h);
    // Infinity for infinity, if of the wrong sign.
    return with_sign(log_of_sum<T>(a, h, a > FAR), x);
}

// log(x + sqrt(x^2 - 1)) = log(1 + (x - 1) + s).
template <typename T>
ISOBIT_FN float acosh(float x) {
    float z = fma(x, x, -1.0f);
    float y = root_estimate(z);
    float s = z * y;
    float e = fma(-s, y, 1.0f);
    s = fma(s * e, root_tail(e), s);
    float value = log_of_sum<T>(x - 1.0f, s, x > FAR);
    value = x < infinity() ? value : x;
    return x < 1.0f ? infinity() - infinity() : value;
}

// log((1 + a) / (1 - a)) / 2 = (log 2^k) / 2 + atanh(s), where the quotient is 2^k (1 + s) / (1 -
// s) and the difference of the bits of its sides tells k to within 0.6. For k = 0, s is a.
template <typename T>
ISOBIT_FN float atanh(float x) {
    float a = abs(x);
    u32 exponent = (to_bits(1.0f + a) - to_bits(1.0f - a) + 0x400000u) & 0xff800000u;
    float power = from_bits(0x3f800000u + exponent);
    float more = 1.0f + power;
    float less = 1.0f - power;
    float s = fma(a, more, less) * reciprocal(fma(a, less, more));
    float z = s * s;
    float q = horner(z, 0x1.37dabp-3f, 0x1.991f5p-3f, 0x1.5555c2p-2f);
    float value = fma((float)(i32)exponent, 0.5f * LN_2 * 0x1p-23f, fma(s * z, q, s));
    float beyond = a == 1.0f ? infinity() : infinity() - infinity();
    return with_sign(a < 1.0f ? value : beyond, x);
}

} // namespace isobit::narrow
