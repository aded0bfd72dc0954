// Block products (docs/numerics.md, section 9): operands as integers, as the kernels keep them.
//
// A *part* is a segment of 128 along k of 16 lines (rows of `a`, columns of `b`), as four fragments
// of device_lib/digit_tile.cuh, with a plane per digit.
#pragma once

#include "device_lib/digit_tile.cuh"
#include "device_lib/limits.cuh"
#include "device_lib/thread.cuh"

namespace isobit {

// Elements of k per segment.
ISOBIT_CONST u32 BLOCK_SEGMENT = 128;
// Bits of a part's flags: a line is wide; a line has an infinity or a NaN; a step is so large or so
// small that two of them may have no product.
ISOBIT_CONST u32 PART_WIDE = 1, PART_SPECIAL = 2, PART_FAR = 4;
// The step of a line with an infinity or a NaN in the segment. Its integers are 0.
ISOBIT_CONST i32 SPECIAL_STEP = 0x7fff;

// Digits of a dtype's integers.
template <typename T>
struct Digits {
    static constexpr u32 COUNT = 3;
};
template <>
struct Digits<bf16> {
    static constexpr u32 COUNT = 2;
};
template <>
struct Digits<f8e4m3> {
    static constexpr u32 COUNT = 2;
};

// Bytes of a part.
template <u32 PLANES>
ISOBIT_CONST u32 PART_BYTES = BLOCK_SEGMENT / FRAGMENT_K * PLANES * FRAGMENT_BYTES;

// A packed matrix: for each of two levels the parts (lines first, then segments), and the steps of
// all lines of each segment; then a word of flags for each part.
struct PackedMatrix {
    u32 groups, segments;
};
ISOBIT_FN u64 part_of(const PackedMatrix &p, u32 group, u32 segment) { return (u64)group * p.segments + segment; }
template <u32 PLANES>
ISOBIT_FN u64 level_bytes(const PackedMatrix &p) {
    return (u64)p.groups * p.segments * PART_BYTES<PLANES>;
}
template <u32 PLANES>
ISOBIT_FN u8 *parts_of(u8 *packed, const PackedMatrix &p, u32 level) {
    return packed + level * level_bytes<PLANES>(p);
}
template <u32 PLANES>
ISOBIT_FN i32 *steps_of(u8 *packed, const PackedMatrix &p, u32 level) {
    return (i32 *)(packed + 2 * level_bytes<PLANES>(p)) + (u64)level * p.segments * p.groups * FRAGMENT_LINES;
}
template <u32 PLANES>
ISOBIT_FN u32 *flags_of(u8 *packed, const PackedMatrix &p) {
    return (u32 *)steps_of<PLANES>(packed, p, 2);
}

// 2^n, for n from -126 to 127.
ISOBIT_FN float power_of_two(i32 n) { return from_bits((u32)(n + 127) << 23); }

// The value of the exact sum in f32: high * 2^24 + low with `high` the nearest integer, rounded
// once to convert `high`, and once more. With two digits that is the sum rounded to nearest.
template <u32 PLANES>
ISOBIT_FN float value_of(const i32 (&sum)[WEIGHTS<PLANES>]) {
    if constexpr (PLANES == 2) {
        // Both halves are exact in f32, wherever the sum is cut. Integers below 2^22 become floats
        // by an addition.
        const u32 low = (u32)(sum[1] * 256 + sum[2] + 0x8000);
        const float top = from_bits((u32)(sum[0] + ((i32)low >> 16)) + 0x4b400000u) - 12582912.0f;
        return fma(top, 65536.0f, from_bits((low & 0xffff) | 0x4b400000u) - 12615680.0f);
    } else {
        const i32 middle = sum[2] * 256 + sum[3] + (sum[4] >> 8);
        const i32 carry = (middle + 0x8000) >> 16;
        const i32 high = sum[0] * 256 + sum[1] + carry;
        const i32 low = (middle - carry * 65536) * 256 + (sum[4] & 255);
        return fma((float)high, 16777216.0f, (float)low);
    }
}

// result + value * 2^exponent, rounded once.
ISOBIT_FN float add_scaled(float result, float value, i32 exponent) {
    const i32 within = exponent < -252 ? -252 : exponent > 252 ? 252 : exponent;
    const i32 near = within < -126 ? -126 : within > 126 ? 126 : within;
    return fma(value * power_of_two(within - near), power_of_two(near), result);
}

} // namespace isobit
