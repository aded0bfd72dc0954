// Quantizes to blocks of 32: those of 4 and 5 bits with one thread per block, those of 8 bits with
// four.
#include "device_lib/halves.cuh"
#include "ops/quantized/legacy_quants.cuh"
#include "ops/quantized/q8.cuh"
#include "ops/quantized/values.cuh"

namespace isobit {

ISOBIT_CONST u32 Q_QUANTIZE_BLOCK = 128;

// The bytes of a block as it is written, two at a time.
template <typename F>
struct Halves {
    u16 v[F::BYTES / 2];
};

// Levels as numbers from 0 to 31, and the block's scale and summand.
struct Levels32 {
    u32 v[Q_BLOCK];
    f16 d, minimum;
};

// Levels around the middle: the element with the greatest magnitude gets the lowest level.
ISOBIT_FN Levels32 levels_around(const float (&x)[Q_BLOCK], i32 middle) {
    const float d = top_of(x).value / (float)-middle, inverse = d != 0 ? 1.0f / d : 0.0f;
    Levels32 levels;
#pragma unroll
    for (u32 i = 0; i < Q_BLOCK; i++)
        levels.v[i] = (u32)round_trunc(x[i] * inverse + ((float)middle + 0.5f), 0, 2 * middle - 1);
    levels.d = round_to<f16>(d);
    levels.minimum = f16{0};
    return levels;
}

// Levels from the smallest element to the largest.
ISOBIT_FN Levels32 levels_between(const float (&x)[Q_BLOCK], i32 highest) {
    float lo = x[0], hi = x[0];
#pragma unroll
    for (u32 i = 1; i < Q_BLOCK; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    const float d = (hi - lo) / (float)highest, inverse = d != 0 ? 1.0f / d : 0.0f;
    Levels32 levels;
#pragma unroll
    for (u32 i = 0; i < Q_BLOCK; i++)
        levels.v[i] = (u32)round_trunc((x[i] - lo) * inverse + 0.5f, 0, highest);
    levels.d = round_to<f16>(d);
    levels.minimum = round_to<f16>(lo == 0 ? 0.0f : lo);
    return levels;
}

// Blocks of 4 and 5 bits: the scale, the smallest element, the fifth bits and the nibbles, as far
// as the format has them.
template <typename F>
ISOBIT_FN Halves<F> nibble_block(const float (&x)[Q_BLOCK]) {
    constexpr u32 HEAD = F::SUMMAND ? 2 : 1, NIBBLES = F::BYTES / 2 - 8;
    constexpr bool FIVE = NIBBLES > HEAD;
    Levels32 levels;
    if constexpr (F::SUMMAND)
        levels = levels_between(x, FIVE ? 31 : 15);
    else
        levels = levels_around(x, FIVE ? 16 : 8);
    Halves<F> to;
    to.v[0] = levels.d.bits;
    if constexpr (F::SUMMAND)
        to.v[1] = levels.minimum.bits;
    if constexpr (FIVE) {
        u32 fifth = 0;
#pragma unroll
        for (u32 i = 0; i < Q_BLOCK; i++)
            fifth |= levels.v[i] >> 4 << i;
        to.v[HEAD] = (u16)fifth;
        to.v[HEAD + 1] = (u16)(fifth >> 16);
    }
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
        u32 two = 0;
#pragma unroll
        for (u32 b = 0; b < 2; b++)
            two |= ((levels.v[2 * i + b] & 0xf) | (levels.v[2 * i + b + 16] & 0xf) << 4) << (8 * b);
        to.v[NIBBLES + i] = (u16)two;
    }
    return to;
}

template <typename F>
ISOBIT_FN void q_quantize_nibbles(u64 blocks, u32 dtype, const void *from, u8 *to) {
    constexpr u32 NO_NUMBER = 0x7e00;
    const u64 i = (u64)block_x() * Q_QUANTIZE_BLOCK + thread_x();
    if (i >= blocks)
        return;
    float x[Q_BLOCK];
    values_at(x, from, i * Q_BLOCK, dtype);
    const bool finite = all_finite(x);
    const Halves<F> block = nibble_block<F>(x);
    u16 *place = (u16 *)(to + i * F::BYTES);
#pragma unroll
    for (u32 h = 0; h < F::BYTES / 2; h++)
        place[h] = finite ? block.v[h] : (u16)(h == 0 ? NO_NUMBER : 0);
}

// Blocks of 8 bits, by Q8_THREADS threads each.
template <typename F>
ISOBIT_FN void q_quantize_bytes(u64 blocks, u32 dtype, const void *from, u8 *to) {
    constexpr u32 HEAD = F::BYTES / 2 - 16;
    __shared__ vector_detail::words4 shared[Q_QUANTIZE_BLOCK / 4];
    const u64 i = (u64)block_x() * Q_QUANTIZE_BLOCK + thread_x(), block = i / Q8_THREADS;
    float x[Q8_EACH] = {};
    if (block < blocks)
        values_at(x, from, i * Q8_EACH, dtype);
    const Q8Part part = q8_part<(HEAD > 1)>(x, (u32 *)shared);
    if (block >= blocks)
        return;
    u16 *place = (u16 *)(to + block * F::BYTES);
    const u32 own = (u32)(i % Q8_THREADS);
#pragma unroll
    for (u32 h = 0; h < Q8_EACH / 2; h++)
        place[HEAD + own * (Q8_EACH / 2) + h] = (u16)(part.q[h / 2] >> (h % 2 * 16));
    if (own == 0) {
        place[0] = part.d.bits;
        if constexpr (HEAD > 1)
            place[1] = part.s.bits;
    }
}

template <typename F>
ISOBIT_FN void q_quantize_32(u64 blocks, u32 dtype, const void *from, u8 *to) {
    if constexpr (F::BYTES > Q_BLOCK)
        q_quantize_bytes<F>(blocks, dtype, from, to);
    else
        q_quantize_nibbles<F>(blocks, dtype, from, to);
}

} // namespace isobit

#define ISOBIT_Q_QUANTIZE_32(NAME, F)                                                                                  \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128) NAME(u64 blocks, u32 dtype, const void *from, u8 *to) {                                  \
        q_quantize_32<F>(blocks, dtype, from, to);                                                                     \
    }                                                                                                                  \
    }
