// iq1_s and iq1_m: entries of a code book for 8 elements of -1, 0 and 1 each, which are all an
// eighth more or less. The levels are 8 times that.
#pragma once

#include "ops/quantized/grid.cuh"

namespace isobit {

namespace grid_detail {

// The levels of half an entry.
ISOBIT_FN u32 iq1_levels(u32 number, u32 half_number, bool is_less) {
    const u32 digits = four_of_2(IQ1_GRID[number] >> (8 * half_number) & 0xff);
    return format_detail::less(digits * 8, is_less ? 9 : 7);
}

ISOBIT_CONST float IQ1_UNIT = 0.125f;

} // namespace grid_detail

struct iq1_s {
    static constexpr u32 BLOCK = 256, BYTES = 50, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        const u32 high = half_at(s, at + 34 + j * 2);
        const u32 number = byte_at(s, at + 2 + j * 4 + w / 2) | (high >> (w / 2 * 3) & 7) << 8;
        return grid_detail::iq1_levels(number, w % 2, high >> 15 != 0);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        using namespace grid_detail;
        return odd_scale(format_detail::f16_at(s, at), half_at(s, at + 34 + j * 2) >> 12 & 7, IQ1_UNIT);
    }
};

struct iq1_m {
    static constexpr u32 BLOCK = 256, BYTES = 56, SUB = 16;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        const u32 high = byte_at(s, at + 32 + j * 2 + w / 4) >> (w / 2 % 2 * 4);
        const u32 number = byte_at(s, at + j * 4 + w / 2) | (high & 7) << 8;
        return grid_detail::iq1_levels(number, w % 2, (high & 8) != 0);
    }
    // The bits of the block's scale are above those of the sub-blocks' scales.
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        using namespace grid_detail;
        const u32 low = word_at(s, at + 48), high = word_at(s, at + 52);
        const u32 d = (low >> 12 & 0xf) | (low >> 24 & 0xf0) | (high >> 4 & 0xf00) | (high >> 16 & 0xf000);
        return odd_scale(to_f32(f16{(u16)d}), half_at(s, at + 48 + j / 4 * 2) >> (j % 4 * 3) & 7, IQ1_UNIT);
    }
};

} // namespace isobit
