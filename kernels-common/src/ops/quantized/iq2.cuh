// iq2_xxs, iq2_xs and iq2_s: entries of a code book for 8 elements each, and their signs.
#pragma once

#include "ops/quantized/grid.cuh"

namespace isobit {

namespace grid_detail {

// What scales of iq2 are multiples of.
ISOBIT_CONST float IQ2_UNIT = 0.125f;

// The levels of half an entry: its digits stand for 8, 25 and 43.
ISOBIT_FN u32 iq2_levels(u32 entry, u32 half_number) {
    return look_up_bytes(0x002b1908u, 0, four_of_2(entry >> (8 * half_number) & 0xff));
}

} // namespace grid_detail

struct iq2_xxs {
    static constexpr u32 BLOCK = 256, BYTES = 66, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        using namespace grid_detail;
        const u32 entry = IQ2_XXS_GRID[byte_at(s, at + 2 + j * 8 + w / 2)];
        const u32 signs = word_at(s, at + 6 + j * 8) >> (w / 2 * 7);
        return with_signs(iq2_levels(entry, w % 2), four_of_7(signs, w % 2));
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        using namespace grid_detail;
        return odd_scale(format_detail::f16_at(s, at), byte_at(s, at + 9 + j * 8) >> 4, IQ2_UNIT);
    }
};

struct iq2_xs {
    static constexpr u32 BLOCK = 256, BYTES = 74, SUB = 16;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        using namespace grid_detail;
        const u32 both = half_at(s, at + 2 + j * 8 + w / 2 * 2);
        return with_signs(iq2_levels(IQ2_XS_GRID[both & 511], w % 2), four_of_7(both >> 9, w % 2));
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        using namespace grid_detail;
        return odd_scale(format_detail::f16_at(s, at), nibble_at(s, at + 66, j), IQ2_UNIT);
    }
};

struct iq2_s {
    static constexpr u32 BLOCK = 256, BYTES = 82, SUB = 16;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        using namespace grid_detail;
        const u32 high = byte_at(s, at + 66 + j) >> (w / 2 * 2) & 3, place = j * 4 + w / 2;
        const u32 entry = IQ2_S_GRID[byte_at(s, at + 2 + place) | high << 8];
        return with_signs(iq2_levels(entry, w % 2), byte_at(s, at + 34 + place) >> (w % 2 * 4));
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        using namespace grid_detail;
        return odd_scale(format_detail::f16_at(s, at), nibble_at(s, at + 74, j), IQ2_UNIT);
    }
};

} // namespace isobit
