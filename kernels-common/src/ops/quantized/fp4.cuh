// mxfp4 and nvfp4: numbers of f4e2m1 with scales of one byte.
#pragma once

#include "device_lib/narrow_types.cuh"
#include "ops/quantized/format.cuh"

namespace isobit {

namespace fp4_detail {

// The numbers of f4e2m1 by their bits, doubled, four in a word: `kvalues_fp4` of ggml
// (https://github.com/ggml-org/ggml), Copyright (c) 2023-2026 The ggml authors, MIT license.
ISOBIT_FN u32 levels_at(u32 indices) {
    return format_detail::one_of_16<0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu>(indices);
}

// Half the number with these bits of f8e8m0.
ISOBIT_FN float half_of_power(u32 exponent) {
    return from_bits(exponent < 2 ? 0x00200000u << exponent : exponent < 255 ? (exponent - 1) << 23 : 0x7fc00000u);
}

// Half the number with these bits of f8e4m3; the sign is ignored.
ISOBIT_FN float half_of_scale(u32 bits) { return to_f32(f8e4m3{(u8)(bits & 0x7f)}) * 0.5f; }

} // namespace fp4_detail

// Blocks have an odd number of bytes.
struct mxfp4 {
    static constexpr u32 BLOCK = 32, BYTES = 17, SUB = 32;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32, u32 w) {
        return fp4_detail::levels_at(unaligned_word_at(s, at + 1 + w % 4 * 4) >> (w / 4 * 4) & 0x0f0f0f0fu);
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32) {
        return QScale{fp4_detail::half_of_power(byte_at(s, at)), 0};
    }
};

struct nvfp4 {
    static constexpr u32 BLOCK = 64, BYTES = 36, SUB = 16;
    static constexpr bool SUMMAND = false;

    template <typename S>
    ISOBIT_FN u32 levels(const S &s, u32 at, u32 j, u32 w) {
        return fp4_detail::levels_at(format_detail::nibbles(s, at + 4 + j * 16 + w / 4 * 8 + w % 2 * 4, w / 2 % 2));
    }
    template <typename S>
    ISOBIT_FN QScale scale(const S &s, u32 at, u32 j) {
        return QScale{fp4_detail::half_of_scale(byte_at(s, at + j)), 0};
    }
};

} // namespace isobit
