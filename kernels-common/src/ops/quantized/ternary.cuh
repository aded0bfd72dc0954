// tq1_0 and tq2_0: integers from -1 to 1 with one scale, five or four in a byte.
#pragma once

#include "ops/quantized/format.cuh"

namespace isobit {

struct tq1_0 {
    static constexpr u32 BLOCK = 256, BYTES = 54, SUB = 32;
    static constexpr bool SUMMAND = false;

    // A byte is a fraction of 256 with five digits in base 3: multiplied by a power of 3, it begins
    // with one of them.
    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        const u32 i = j * 32 + w * 4;
        const u32 digit = i < 160 ? j : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
        const u32 from = i < 160 ? w * 4 : i < 240 ? 32 + i % 16 : 48;
        const u32 power = (u32)(0x511b090301ull >> (8 * digit)) & 0xff, bytes = word_at(s, at + from);
        const u32 even = (bytes & 0x00ff00ffu) * power & 0x00ff00ffu;
        const u32 odd = (bytes >> 8 & 0x00ff00ffu) * power & 0x00ff00ffu;
        return format_detail::less((even * 3 >> 8 & 0x00030003u) | (odd * 3 & 0x03000300u), 1);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return QScale{format_detail::f16_at(s, at + 52), 0};
    }
};

struct tq2_0 {
    static constexpr u32 BLOCK = 256, BYTES = 66, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        return format_detail::less(format_detail::pairs(s, at + j / 4 * 32 + w * 4, j % 4), 1);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return QScale{format_detail::f16_at(s, at + 64), 0};
    }
};

} // namespace isobit
