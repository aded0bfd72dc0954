// Shared code of the formats. A format F describes how to read a block:
// - BLOCK and BYTES: the elements and bytes of a block; SUB: the number of elements that share a
//   scale (16 or 32); SUMMAND: whether an element has a summand;
// - levels(s, at, j, w): the integers of elements 32 j + 4 w to 32 j + 4 w + 3 as the signed bytes
//   of a word, for the block that starts at byte `at` of s;
// - scale(s, at, j): factor and summand of sub-block j.
// Kernels only see segments of 256 elements: eight blocks of 32, four of 64, or one of 256.
#pragma once

#include "device_lib/bits.cuh"
#include "ops/quantized/block_bytes.cuh"

namespace isobit {

// Elements of a segment, and of the smallest blocks, which are also the blocks of activations.
ISOBIT_CONST u32 Q_SEGMENT = 256, Q_BLOCK = 32;

// An element is `factor * level + summand`.
struct QScale {
    float factor;
    float summand;
};

template <typename F>
ISOBIT_CONST u32 Q_SEGMENT_BYTES = Q_SEGMENT / F::BLOCK * F::BYTES;

// Four levels: word `w` of number `j` of the blocks of 32 in a segment.
template <typename F, typename S>
ISOBIT_FN u32 levels_of(const S &s, u32 j, u32 w) {
    constexpr u32 EACH = F::BLOCK / Q_BLOCK;
    if constexpr (F::BLOCK < Q_SEGMENT)
        return F::levels(s, j / EACH * F::BYTES, j % EACH, w);
    else
        return F::levels(s, 0, j, w);
}

// The scale of sub-block `j` of a segment.
template <typename F, typename S>
ISOBIT_FN QScale scale_of(const S &s, u32 j) {
    constexpr u32 EACH = F::BLOCK / F::SUB;
    if constexpr (F::BLOCK < Q_SEGMENT)
        return F::scale(s, j / EACH * F::BYTES, j % EACH);
    else
        return F::scale(s, 0, j);
}

// The levels of a word of four, as f32. Without conversions, which are slow on NVIDIA: a level plus
// 128 becomes the last bits of a float whose last place is 1.
ISOBIT_FN void four_levels(float (&x)[4], u32 levels) {
    constexpr u32 BASE = 0x4b000000u;
    constexpr float LESS = 8388608.0f + 128;
    const u32 biased = levels ^ 0x80808080u;
    x[0] = from_bits(permute_bytes<0x7540>(biased, BASE)) - LESS;
    x[1] = from_bits(permute_bytes<0x7541>(biased, BASE)) - LESS;
    x[2] = from_bits(permute_bytes<0x7542>(biased, BASE)) - LESS;
    x[3] = from_bits(permute_bytes<0x7543>(biased, BASE)) - LESS;
}

// The value of the element with this level.
template <typename F>
ISOBIT_FN float element(const QScale &scale, float level) {
    if constexpr (F::SUMMAND)
        return fma(scale.factor, level, scale.summand);
    else
        return scale.factor * level;
}

// Element `k` of a row of blocks.
template <typename F>
ISOBIT_FN float element_of_blocks(const u8 *row, u64 k) {
    const InPlace segment{row + k / Q_SEGMENT * Q_SEGMENT_BYTES<F>};
    const u32 at = (u32)(k % Q_SEGMENT);
    float four[4];
    four_levels(four, levels_of<F>(segment, at / Q_BLOCK, at % Q_BLOCK / 4));
    const float low = at % 2 == 0 ? four[0] : four[1], high = at % 2 == 0 ? four[2] : four[3];
    return element<F>(scale_of<F>(segment, at / F::SUB), at % 4 < 2 ? low : high);
}

namespace format_detail {

template <typename S>
ISOBIT_FN float f16_at(const S &s, u32 at) {
    return to_f32(f16{(u16)half_at(s, at)});
}

// Two adjacent f16: a factor and a summand.
template <typename S>
ISOBIT_FN QScale f16_pair_at(const S &s, u32 at) {
    const u32 both = word_at(s, at);
    return QScale{to_f32(f16{(u16)both}), to_f32(f16{(u16)(both >> 16)})};
}

// Subtracts a bias from four levels of 0 to 127: borrows stop at the bit above each level.
ISOBIT_FN u32 less(u32 levels, u32 bias) { return ((levels | 0x80808080u) - bias * 0x01010101u) ^ 0x80808080u; }

// Four nibbles: the low ones (p = 0) or the high ones.
template <typename S>
ISOBIT_FN u32 nibbles(const S &s, u32 at, u32 p) {
    return word_at(s, at) >> (4 * p) & 0x0f0f0f0fu;
}

// The bytes of four words at the nibbles in four bytes.
template <u32 FROM_0, u32 FROM_4, u32 FROM_8, u32 FROM_12>
ISOBIT_FN u32 one_of_16(u32 indices) {
    const u32 low = indices & 0x07070707u;
    const u32 lower = look_up_bytes(FROM_0, FROM_4, low), upper = look_up_bytes(FROM_8, FROM_12, low);
    const u32 is_upper = (indices >> 3 & 0x01010101u) * 0xff;
    return (lower & ~is_upper) | (upper & is_upper);
}

// Bit pair `p` of four bytes.
template <typename S>
ISOBIT_FN u32 pairs(const S &s, u32 at, u32 p) {
    return word_at(s, at) >> (2 * p) & 0x03030303u;
}

// Bit `p` of four bytes.
template <typename S>
ISOBIT_FN u32 bits(const S &s, u32 at, u32 p) {
    return word_at(s, at) >> p & 0x01010101u;
}

// Moves the four bits of a number to bit 4 of each byte.
ISOBIT_FN u32 fifth_bits(u32 four) { return (four & 0xf) * 0x02040810u & 0x10101010u; }

} // namespace format_detail

} // namespace isobit
