// iq4_nl and iq4_xs: 4-bit indices into a table of 16 levels, which are closer together near 0.
#pragma once

#include "ops/quantized/format.cuh"

namespace isobit {

namespace iq4_detail {

// The levels, four in a word: `kvalues_iq4nl` of ggml (https://github.com/ggml-org/ggml),
// Copyright (c) 2023-2026 The ggml authors, MIT license.
ISOBIT_CONST u32 LEVELS_0 = 0xbfad9881u, LEVELS_4 = 0xf6eaddcfu, LEVELS_8 = 0x26190d01u, LEVELS_12 = 0x71594535u;

// The levels of four indices.
ISOBIT_FN u32 levels_at(u32 indices) {
    return format_detail::one_of_16<LEVELS_0, LEVELS_4, LEVELS_8, LEVELS_12>(indices);
}

} // namespace iq4_detail

struct iq4_nl {
    static constexpr u32 BLOCK = 32, BYTES = 18, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32, u32 w) {
        return iq4_detail::levels_at(format_detail::nibbles(s, at + 2 + w % 4 * 4, w / 4));
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return QScale{format_detail::f16_at(s, at), 0};
    }
};

struct iq4_xs {
    static constexpr u32 BLOCK = 256, BYTES = 136, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        return iq4_detail::levels_at(format_detail::nibbles(s, at + 8 + j * 16 + w % 4 * 4, w / 4));
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        const u32 low = byte_at(s, at + 4 + j / 2) >> (j % 2 * 4) & 0xf, high = half_at(s, at + 2) >> (2 * j) & 3;
        return QScale{format_detail::f16_at(s, at) * (float)((i32)(low | high << 4) - 32), 0};
    }
};

} // namespace isobit
