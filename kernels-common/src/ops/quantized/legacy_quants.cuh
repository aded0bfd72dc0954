// The formats with blocks of 32.
#pragma once

#include "ops/quantized/format.cuh"

namespace isobit {

struct q4_0 {
    static constexpr u32 BLOCK = 32, BYTES = 18, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32, u32 w) {
        return format_detail::less(format_detail::nibbles(s, at + 2 + w % 4 * 4, w / 4), 8);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return QScale{format_detail::f16_at(s, at), 0};
    }
};

struct q4_1 {
    static constexpr u32 BLOCK = 32, BYTES = 20, SUB = 32;
    static constexpr bool SUMMAND = true;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32, u32 w) {
        return format_detail::nibbles(s, at + 4 + w % 4 * 4, w / 4);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return format_detail::f16_pair_at(s, at);
    }
};

struct q5_0 {
    static constexpr u32 BLOCK = 32, BYTES = 22, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32, u32 w) {
        using namespace format_detail;
        return less(nibbles(s, at + 6 + w % 4 * 4, w / 4) | fifth_bits(word_at(s, at + 2) >> (4 * w)), 16);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return QScale{format_detail::f16_at(s, at), 0};
    }
};

struct q5_1 {
    static constexpr u32 BLOCK = 32, BYTES = 24, SUB = 32;
    static constexpr bool SUMMAND = true;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32, u32 w) {
        using namespace format_detail;
        return nibbles(s, at + 8 + w % 4 * 4, w / 4) | fifth_bits(word_at(s, at + 4) >> (4 * w));
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return format_detail::f16_pair_at(s, at);
    }
};

struct q8_0 {
    static constexpr u32 BLOCK = 32, BYTES = 34, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32, u32 w) {
        return word_at(s, at + 2 + w * 4);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return QScale{format_detail::f16_at(s, at), 0};
    }
};

struct q8_1 {
    static constexpr u32 BLOCK = 32, BYTES = 36, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32, u32 w) {
        return word_at(s, at + 4 + w * 4);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return QScale{format_detail::f16_at(s, at), 0};
    }
};

} // namespace isobit
