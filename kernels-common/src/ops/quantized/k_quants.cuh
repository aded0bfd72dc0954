// The formats with blocks of 256 whose sub-blocks have scales. The number of a block of 32 is j = 4
// h + p in formats with 2, 3 and 6 bits, and j = 2 g + p in formats with 4 and 5 bits.
#pragma once

#include "ops/quantized/format.cuh"

namespace isobit {

struct q2_k {
    static constexpr u32 BLOCK = 256, BYTES = 84, SUB = 16;
    static constexpr bool SUMMAND = true;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        return format_detail::pairs(s, at + 16 + j / 4 * 32 + w * 4, j % 4);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        const u32 both = byte_at(s, at + j);
        const QScale d = format_detail::f16_pair_at(s, at + 80);
        return QScale{d.factor * (float)(both & 0xf), -(d.summand * (float)(both >> 4))};
    }
};

struct q3_k {
    static constexpr u32 BLOCK = 256, BYTES = 110, SUB = 16;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        using namespace format_detail;
        return less(pairs(s, at + 32 + j / 4 * 32 + w * 4, j % 4) | bits(s, at + w * 4, j) << 2, 4);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        const u32 low = byte_at(s, at + 96 + j % 8) >> (j / 8 * 4) & 0xf;
        const u32 high = byte_at(s, at + 104 + j % 4) >> (j / 4 * 2) & 3;
        return QScale{format_detail::f16_at(s, at + 108) * (float)((i32)(low | high << 4) - 32), 0};
    }
};

namespace format_detail {

// The 6-bit scales and minima that q4_k and q5_k share.
template <typename S>
ISOBIT_FN QScale six_bits(const S &s, u32 at, u32 j) {
    // Bytes for the first four sub-blocks are also read for the others, so that no branch delays a
    // load.
    const u32 low = byte_at(s, at + 8 + j), middle = byte_at(s, at + 4 + j), high = byte_at(s, at + j);
    const u32 scale = j < 4 ? middle & 63 : (low & 0xf) | high >> 6 << 4;
    const u32 minimum = j < 4 ? low & 63 : low >> 4 | middle >> 6 << 4;
    const QScale d = f16_pair_at(s, at);
    return QScale{d.factor * (float)scale, -(d.summand * (float)minimum)};
}

} // namespace format_detail

struct q4_k {
    static constexpr u32 BLOCK = 256, BYTES = 144, SUB = 32;
    static constexpr bool SUMMAND = true;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        return format_detail::nibbles(s, at + 16 + j / 2 * 32 + w * 4, j % 2);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        return format_detail::six_bits(s, at, j);
    }
};

struct q5_k {
    static constexpr u32 BLOCK = 256, BYTES = 176, SUB = 32;
    static constexpr bool SUMMAND = true;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        using namespace format_detail;
        return nibbles(s, at + 48 + j / 2 * 32 + w * 4, j % 2) | bits(s, at + 16 + w * 4, j) << 4;
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        return format_detail::six_bits(s, at, j);
    }
};

struct q6_k {
    static constexpr u32 BLOCK = 256, BYTES = 210, SUB = 16;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        using namespace format_detail;
        const u32 h = j / 4, p = j % 4;
        const u32 low = nibbles(s, at + h * 64 + p % 2 * 32 + w * 4, p / 2);
        return less(low | pairs(s, at + 128 + h * 32 + w * 4, p) << 4, 32);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        return QScale{format_detail::f16_at(s, at + 208) * (float)(i8)(u8)byte_at(s, at + 192 + j), 0};
    }
};

struct q8_k {
    static constexpr u32 BLOCK = 256, BYTES = 292, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        return word_at(s, at + 4 + j * 32 + w * 4);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return QScale{from_bits(word_at(s, at)), 0};
    }
};

} // namespace isobit
