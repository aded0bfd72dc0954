// Reduces an f64 angle to r + lo within pi/4 and its quadrant: with a three-part pi/2 up to 2^30,
// and for larger arguments with Payne and Hanek's method in 64-bit integers.
#pragma once

#include "device_lib/math/f64_core.cuh"

namespace isobit::math::f64 {

struct Reduced {
    u32 quadrant; // modulo 4
    Pair r;
};

ISOBIT_CONST double PIO2_1 = 0x1.921fb54442d18p0;
ISOBIT_CONST double PIO2_2 = 0x1.1a62633145c07p-54;
ISOBIT_CONST double PIO2_3 = -0x1.f1976b7ed8fbcp-110;
ISOBIT_CONST double TWO_OVER_PI = 0x1.45f306dc9c883p-1;

// The first 1216 bits of 2/pi, after 64 zeros.
ISOBIT_TABLE u64 TWO_OVER_PI_BITS[20] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull,
    0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull,
    0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull,
};

// The upper half of a 128-bit product, from 32-bit pieces, because no builtin for it has the same
// name in all compilers.
ISOBIT_FN u64 mul_high(u64 a, u64 b) {
    const u64 a0 = a & 0xffffffffull, a1 = a >> 32, b0 = b & 0xffffffffull, b1 = b >> 32;
    const u64 low = a0 * b0;
    const u64 mid = a1 * b0 + (low >> 32);
    const u64 cross = a0 * b1 + (mid & 0xffffffffull);
    return a1 * b1 + (mid >> 32) + (cross >> 32);
}

// hi 2^-64 + lo 2^-128 as a pair, from four exact conversions.
ISOBIT_FN Pair fraction(u64 hi, u64 lo) {
    const Pair a = fast_two_sum((double)(u32)(hi >> 32) * 0x1p-32, (double)(u32)hi * 0x1p-64);
    const double b = (double)(u32)(lo >> 32) * 0x1p-96 + (double)(u32)lo * 0x1p-128;
    return fast_two_sum(a.hi, a.lo + b);
}

// For |x| from 2^30 up. With x = m 2^e, computes the product of m and 192 bits of 2/pi modulo
// 2^192, which represents 4. Bits of 2/pi before those only add multiples of 4, and bits after them
// change nothing above 2^-125.
ISOBIT_FN Reduced trig_reduce_large(double x) {
    const u64 b = to_bits(x) & 0x7fffffffffffffffull;
    const u64 m = (b & 0x000fffffffffffffull) | 0x0010000000000000ull;
    const u32 at = (u32)(b >> 52) - 1013u; // the first bit wanted: e + 62, e = field - 1075
    const u32 word = at >> 6, bit = at & 63u;
    const u64 w0 = TWO_OVER_PI_BITS[word], w1 = TWO_OVER_PI_BITS[word + 1u];
    const u64 w2 = TWO_OVER_PI_BITS[word + 2u], w3 = TWO_OVER_PI_BITS[word + 3u];
    // Shifts in two steps, because a shift by 64 is undefined.
    const u64 g0 = (w0 << bit) | ((w1 >> 1) >> (63u - bit));
    const u64 g1 = (w1 << bit) | ((w2 >> 1) >> (63u - bit));
    const u64 g2 = (w2 << bit) | ((w3 >> 1) >> (63u - bit));
    const u64 low = m * g1;
    const u64 p1 = low + mul_high(m, g2);
    const u64 p0 = m * g0 + mul_high(m, g1) + (p1 < low ? 1ull : 0ull);
    // Two integer bits, then the fraction. A fraction of at least a half belongs to the next
    // quadrant, with a negative sign.
    u64 hi = (p0 << 2) | (p1 >> 62);
    u64 lo = p1 << 2;
    const bool up = (hi >> 63) != 0ull;
    const u32 q = (u32)(p0 >> 62) + (up ? 1u : 0u);
    const u64 flip = up ? ~0ull : 0ull;
    hi = (hi ^ flip) + (up && lo == 0ull ? 1ull : 0ull);
    lo = (lo ^ flip) + (up ? 1ull : 0ull);
    const Pair f = fraction(hi, lo);
    const Pair p = two_prod(f.hi, PIO2_1);
    const Pair r = fast_two_sum(p.hi, fma(f.lo, PIO2_1, fma(f.hi, PIO2_2, p.lo)));
    const bool below = x < 0.0;
    const bool minus = up != below;
    return {below ? 0u - q : q, {minus ? -r.hi : r.hi, minus ? -r.lo : r.lo}};
}

ISOBIT_FN Reduced trig_reduce(double x) {
    if (!(abs(x) < 0x1p30)) {
        // Infinities and NaN have no quadrant.
        return abs(x) < infinity() ? trig_reduce_large(x) : Reduced{0u, {not_a_number(), not_a_number()}};
    }
    const double t = fma(x, TWO_OVER_PI, MAGIC);
    const double k = t - MAGIC;
    const Pair p = two_prod(k, PIO2_2);
    const Pair s = two_sum(fma(-k, PIO2_1, x), -p.hi);
    return {magic_int(t), fast_two_sum(s.hi, fma(-k, PIO2_3, s.lo - p.lo))};
}

} // namespace isobit::math::f64
