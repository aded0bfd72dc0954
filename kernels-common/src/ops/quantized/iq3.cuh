// iq3_xxs and iq3_s: entries of a code book for 4 elements each, and signs of 8 elements.
#pragma once

#include "ops/quantized/grid.cuh"

namespace isobit {

struct iq3_xxs {
    static constexpr u32 BLOCK = 256, BYTES = 98, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        using namespace grid_detail;
        // The digits stand for 4, 12 and so on to 52, and 62.
        const u32 digits = four_of_3(IQ3_XXS_GRID[byte_at(s, at + 2 + j * 8 + w)]);
        const u32 signs = word_at(s, at + 66 + j * 4) >> (w / 2 * 7);
        return with_signs(look_up_bytes(0x1c140c04u, 0x3e342c24u, digits), four_of_7(signs, w % 2));
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        using namespace grid_detail;
        return odd_scale(format_detail::f16_at(s, at), byte_at(s, at + 69 + j * 4) >> 4, 0.25f);
    }
};

struct iq3_s {
    static constexpr u32 BLOCK = 256, BYTES = 110, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        using namespace grid_detail;
        const u32 high = byte_at(s, at + 66 + j) >> w & 1;
        // The digits stand for 1, 3 and so on to 15.
        const u32 digits = four_of_3(IQ3_S_GRID[byte_at(s, at + 2 + j * 8 + w) | high << 8]);
        return with_signs(digits * 2 + 0x01010101u, byte_at(s, at + 74 + j * 4 + w / 2) >> (w % 2 * 4));
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        using namespace grid_detail;
        return odd_scale(format_detail::f16_at(s, at), nibble_at(s, at + 106, j), 1);
    }
};

} // namespace isobit
