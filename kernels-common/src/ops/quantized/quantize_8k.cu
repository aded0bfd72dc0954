// Quantizes to blocks of q8_k, which have one scale. Eight threads make a block, with 32 elements
// per thread.
#include "ops/quantized/block_scales.cuh"

namespace isobit {

// The bytes are the scale in f32, the integers, and the sums of 16 integers each.
ISOBIT_FN void q_quantize_8k(u64 blocks, u32 dtype, const void *from, u8 *to) {
    constexpr u32 TEAM = 8, TEAMS = QK_BLOCK / TEAM, NO_NUMBER = 0x7fc00000u;
    __shared__ TeamScales<TEAM> teams[TEAMS];
    TeamScales<TEAM> &team = teams[thread_x() / TEAM];
    const u32 j = thread_x() % TEAM;
    const u64 block = (u64)block_x() * TEAMS + thread_x() / TEAM;
    const bool there = block < blocks;

    float x[Q_BLOCK] = {};
    if (there)
        values_at(x, from, block * Q_SEGMENT + j * Q_BLOCK, dtype);
    team.scale[j] = top_of(x).value;
    team.finite[j] = all_finite(x) ? 1 : 0;
    barrier();
    const Top top = top_of(team.scale);
    const bool finite = is_finite(team);
    if (!there)
        return;
    const bool any = finite && top.magnitude != 0;
    const float ratio = -127.0f / top.value;
    u16 *place = (u16 *)(to + block * q8_k::BYTES);
    i32 sums[2] = {};
#pragma unroll
    for (u32 i = 0; i < Q_BLOCK; i += 2) {
        u32 two = 0;
#pragma unroll
        for (u32 b = 0; b < 2; b++) {
            const i32 level = any ? round_even(ratio * x[i + b], -128, 127) : 0;
            sums[i / 16] += level;
            two |= ((u32)level & 0xff) << (8 * b);
        }
        place[2 + (j * Q_BLOCK + i) / 2] = (u16)two;
    }
#pragma unroll
    for (u32 h = 0; h < 2; h++)
        place[130 + 2 * j + h] = (u16)sums[h];
    if (j == 0) {
        const u32 d = any ? to_bits(1.0f / ratio) : finite ? 0 : NO_NUMBER;
        place[0] = (u16)d;
        place[1] = (u16)(d >> 16);
    }
}

} // namespace isobit

#define ISOBIT_Q_QUANTIZE_8K(NAME)                                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128) NAME(u64 blocks, u32 dtype, const void *from, u8 *to) {                                  \
        q_quantize_8k(blocks, dtype, from, to);                                                                        \
    }                                                                                                                  \
    }
