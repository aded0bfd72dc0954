// f8e5m2 (OCP E5M2), the upper half of an f16: its bits, its conversions and its properties. Only
// the modules with kernels of the dtype include it, and they include it first.
#pragma once

#include "device_lib/arith.cuh"

namespace isobit {

struct f8e5m2 {
    u8 bits;
};

template <>
struct limits<f8e5m2> {
    static constexpr bool IS_FLOAT = true;
    static constexpr bool IS_SIGNED = true;
    using compute = float;
};

ISOBIT_FN float to_f32(f8e5m2 x) { return to_f32(f16{(u16)((u32)x.bits << 8)}); }
ISOBIT_FN double to_f64(f8e5m2 x) { return (double)to_f32(x); }

// Rounds once, to nearest even; from 61440 on to infinity.
template <>
__device__ inline __attribute__((always_inline)) f8e5m2 round_to<f8e5m2>(float x) {
    u32 magnitude = to_bits(x) & 0x7fffffffu;
    u32 sign = (to_bits(x) >> 24) & 0x80u;
    u32 within = magnitude > 0x47700000u ? 0x47700000u : magnitude;
    // The f8 unit at a value of exponent e, at least -14, is 2^(e-2), which is the f32 unit next to
    // 2^(e+21). So the addition rounds, and leaves the number of units in the low bits.
    u32 binade = within & 0x7f800000u;
    u32 large = (binade < 0x38800000u ? 0x38800000u : binade) + (21u << 23);
    u32 units = to_bits(from_bits(within) + from_bits(large)) - large;
    u32 value = magnitude > 0x7f800000u ? 0x7eu : units + (large >> 21) - 536u;
    return f8e5m2{(u8)(sign | value)};
}

namespace arith {

template <>
constexpr u32 LOWEST_BITS<f8e5m2> = 0xfc;

} // namespace arith

} // namespace isobit
