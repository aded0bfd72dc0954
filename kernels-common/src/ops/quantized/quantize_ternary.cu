// Quantizes to blocks of tq1_0 and tq2_0, which have one scale. Eight threads make a block, with 32
// elements per thread.
#include "ops/quantized/block_scales.cuh"
#include "ops/quantized/ternary.cuh"

namespace isobit {

// Byte `at` of the block of these digits, which are 0 to 2.
ISOBIT_FN u32 ternary_byte(tq1_0, const u8 *digits, u32 at) {
    const u32 apart = at < 32 ? 32 : at < 48 ? 16 : 4, count = at < 48 ? 5 : 4;
    const u8 *from = digits + (at < 32 ? at : at < 48 ? at + 128 : at + 192);
    u32 number = 0;
    for (u32 k = 0; k < 5; k++)
        number = 3 * number + (k < count ? (u32)from[k * apart] : 0);
    return (number * 256 + 242) / 243;
}
ISOBIT_FN u32 ternary_byte(tq2_0, const u8 *digits, u32 at) {
    const u8 *from = digits + at / Q_BLOCK * 128 + at % Q_BLOCK;
    u32 byte = 0;
    for (u32 p = 0; p < 4; p++)
        byte |= (u32)from[Q_BLOCK * p] << (2 * p);
    return byte;
}

template <typename F>
ISOBIT_FN void q_quantize_ternary(u64 blocks, u32 dtype, const void *from, u8 *to) {
    constexpr u32 TEAM = 8, TEAMS = QK_BLOCK / TEAM, NO_NUMBER = 0x7e00;
    __shared__ TeamScales<TEAM> teams[TEAMS];
    TeamScales<TEAM> &team = teams[thread_x() / TEAM];
    const u32 j = thread_x() % TEAM;
    const u64 block = (u64)block_x() * TEAMS + thread_x() / TEAM;
    const bool there = block < blocks;

    float x[Q_BLOCK] = {};
    if (there)
        values_at(x, from, block * Q_SEGMENT + j * Q_BLOCK, dtype);
    team.scale[j] = top_of(x).magnitude;
    team.finite[j] = all_finite(x) ? 1 : 0;
    barrier();
    const float scale = top_of(team.scale).value, inverse = scale != 0 ? 1.0f / scale : 0.0f;
    const bool finite = is_finite(team);
#pragma unroll
    for (u32 i = 0; i < Q_BLOCK; i++)
        team.levels[j * Q_BLOCK + i] = (u8)(round_away(x[i] * inverse, -1, 1) + 1);
    barrier();
    if (!there)
        return;
    u16 *place = (u16 *)(to + block * F::BYTES);
    for (u32 at = j * 2; at < F::BYTES; at += TEAM * 2) {
        u32 two = 0;
        if (at + 2 == F::BYTES)
            two = finite ? round_to<f16>(scale).bits : NO_NUMBER;
        else if (finite)
            two = ternary_byte(F{}, team.levels, at) | ternary_byte(F{}, team.levels, at + 1) << 8;
        place[at / 2] = (u16)two;
    }
}

} // namespace isobit

#define ISOBIT_Q_QUANTIZE_TERNARY(NAME, F)                                                                             \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128) NAME(u64 blocks, u32 dtype, const void *from, u8 *to) {                                  \
        q_quantize_ternary<F>(blocks, dtype, from, to);                                                                \
    }                                                                                                                  \
    }
