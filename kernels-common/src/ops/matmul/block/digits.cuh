// Block products (docs/numerics.md, section 9): operands as integers, as the kernels keep them.
//
// A *part* is a segment of 128 along k of 8 lines (rows of `a`, columns of `b`): a plane per digit,
// of eight chunks of device_lib/digit_tile.cuh. Parts of a segment follow each other, so the lines
// of a tile are one piece of memory.
#pragma once

#include "device_lib/bits.cuh"
#include "device_lib/digit_tile.cuh"
#include "device_lib/limits.cuh"
#include "device_lib/thread.cuh"

namespace isobit {

// Elements of k per segment.
ISOBIT_CONST u32 BLOCK_SEGMENT = 128;
// Bits of a part's flags: a line is wide; a line has an infinity or a NaN; a step is so large or so
// small that two of them may have no product.
ISOBIT_CONST u32 PART_WIDE = 1, PART_SPECIAL = 2, PART_FAR = 4;
// The step of a line with an infinity or a NaN in the segment. No result has its integers.
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

// Bytes of a plane of a part, and of a part.
ISOBIT_CONST u32 PLANE_BYTES = BLOCK_SEGMENT * CHUNK_LINES;
template <u32 PLANES>
ISOBIT_CONST u32 PART_BYTES = PLANES * PLANE_BYTES;

// Groups of lines that share parts.
ISOBIT_FN u32 groups_of(u32 lines) { return (lines + CHUNK_LINES - 1) / CHUNK_LINES; }

// A packed matrix. For each of two levels the parts (of all groups of lines, then segments), then a
// part of zeros; for each level 2^step of all lines of each segment, then the steps; then a word of
// flags for each part. Of the second level only wide parts exist; lines of others have the step 0.
struct PackedMatrix {
    u8 *at;
    u32 groups, segments;
};
ISOBIT_FN PackedMatrix packed_matrix(u8 *at, u32 lines, u32 segments) {
    return {at, groups_of(lines), segments};
}
ISOBIT_FN u64 part_of(const PackedMatrix &p, u32 group, u32 segment) { return (u64)segment * p.groups + group; }
ISOBIT_FN u64 parts_of_level(const PackedMatrix &p) { return (u64)p.groups * p.segments; }
template <u32 PLANES>
ISOBIT_FN u8 *parts_of(const PackedMatrix &p, u32 level) {
    return p.at + level * parts_of_level(p) * PART_BYTES<PLANES>;
}
template <u32 PLANES>
ISOBIT_FN u8 *zeros_of(const PackedMatrix &p) {
    return parts_of<PLANES>(p, 2);
}
template <u32 PLANES>
ISOBIT_FN float *scales_of(const PackedMatrix &p, u32 level) {
    return (float *)(zeros_of<PLANES>(p) + PART_BYTES<PLANES>)+level * parts_of_level(p) * CHUNK_LINES;
}
template <u32 PLANES>
ISOBIT_FN i32 *steps_of(const PackedMatrix &p, u32 level) {
    return (i32 *)scales_of<PLANES>(p, 2) + level * parts_of_level(p) * CHUNK_LINES;
}
template <u32 PLANES>
ISOBIT_FN u32 *flags_of(const PackedMatrix &p) {
    return (u32 *)steps_of<PLANES>(p, 2);
}

// 2^n, for n from -126 to 127.
ISOBIT_FN float power_of_two(i32 n) { return from_bits((u32)(n + 127) << 23); }

// The sums of one result among those of a thread.
template <u32 PLANES>
struct OwnWeights {
    i32 of[WEIGHTS<PLANES>];
};
template <u32 PLANES>
ISOBIT_FN OwnWeights<PLANES> weights_of(const DigitSums (&sum)[WEIGHTS<PLANES>], u32 own) {
    OwnWeights<PLANES> weights;
#pragma unroll
    for (u32 w = 0; w < WEIGHTS<PLANES>; w++)
        weights.of[w] = sum[w][own];
    return weights;
}

// The value of an exact sum is high * 2^24 + low with `high` the nearest integer, rounded once to
// convert `high`, and once more. With two digits that is the sum rounded to nearest, wherever it is
// cut, because both halves are exact in f32. Here as two floats: the value is
// fma(high, 2^(8 PLANES), low - 2^23).
struct SumHalves {
    float high, low;
};
template <u32 PLANES>
ISOBIT_FN SumHalves halves_of(const i32 (&sum)[WEIGHTS<PLANES>]) {
    if constexpr (PLANES == 2) {
        const i32 rest = sum[1] * 256 + sum[2];
        return {(float)(sum[0] + (rest >> 16)), from_bits(permute_bytes<0x5410>((u32)rest, 0x00004b00u))};
    } else {
        const u32 middle = (u32)(sum[2] * 256 + sum[3] + (sum[4] >> 8)) + 0x8000;
        const i32 high = sum[0] * 256 + sum[1] + ((i32)middle >> 16);
        // Three bytes are the low half plus 2^23.
        return {(float)high, (float)(i32)permute_bytes<0x7540>((u32)sum[4], middle & 0xffff)};
    }
}
// What `high` counts, and what `low` has too much.
template <u32 PLANES>
ISOBIT_CONST float HIGH_UNIT = PLANES == 2 ? 65536.0f : 16777216.0f;
ISOBIT_CONST float LOW_EXCESS = 8388608.0f;

// What depends on the row alone in adding a segment to results, if no product of steps is far.
template <u32 PLANES>
struct RowScale {
    float one, high, excess;
    ISOBIT_FN RowScale of(float scale) { return {scale, scale * HIGH_UNIT<PLANES>, scale * -LOW_EXCESS}; }
};

// The value times 2^(step of the row), which is rounded as the value alone, because it is a normal
// number.
template <u32 PLANES>
ISOBIT_FN float scaled_value(const i32 (&sum)[WEIGHTS<PLANES>], const RowScale<PLANES> &row) {
    const SumHalves halves = halves_of<PLANES>(sum);
    return fma(halves.high, row.high, fma(halves.low, row.one, row.excess));
}
// result + value * 2^(both steps), rounded once.
template <u32 PLANES>
ISOBIT_FN float add_near(float result, const i32 (&sum)[WEIGHTS<PLANES>], const RowScale<PLANES> &row, float column) {
    return fma(scaled_value<PLANES>(sum, row), column, result);
}

// The same for any steps: the value, and how it is added.
template <u32 PLANES>
ISOBIT_FN float value_of(const i32 (&sum)[WEIGHTS<PLANES>]) {
    const SumHalves halves = halves_of<PLANES>(sum);
    return fma(halves.high, HIGH_UNIT<PLANES>, halves.low - LOW_EXCESS);
}
ISOBIT_FN float add_scaled(float result, float value, i32 exponent) {
    const i32 within = exponent < -252 ? -252 : exponent > 252 ? 252 : exponent;
    const i32 near = within < -126 ? -126 : within > 126 ? 126 : within;
    return fma(value * power_of_two(within - near), power_of_two(near), result);
}
template <u32 PLANES>
ISOBIT_FN float add_far(float result, const i32 (&sum)[WEIGHTS<PLANES>], i32 exponent) {
    return add_scaled(result, value_of<PLANES>(sum), exponent);
}

} // namespace isobit
