// Quantizes to iq4_nl, one thread per block, and to iq4_xs, one thread per sub-block.
#include "ops/quantized/block_scales.cuh"
#include "ops/quantized/iq4.cuh"

namespace isobit {

ISOBIT_CONST u32 NO_NUMBER = 0x7e00;
ISOBIT_CONST float LOWEST_LEVEL = -127;

// The index of the level nearest to a number, the upper one of two; NaN gives the last.
ISOBIT_FN u32 nearest_index(float v) {
    constexpr float MIDDLES[15] = {-115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79, 101};
    u32 index = 0;
#pragma unroll
    for (u32 i = 0; i < 15; i++)
        index += v < MIDDLES[i] ? 0 : 1;
    return index;
}

ISOBIT_FN float level_of(u32 index) {
    return (float)(i8)(u8)(iq4_detail::levels_at(index) & 0xff);
}

// The scale with the least weighted error among that for the reciprocal `first`, and those with
// which the element of the greatest magnitude lies up to TRIES beside the lowest level.
template <i32 TRIES>
ISOBIT_FN float search_iq4(const float (&x)[Q_BLOCK], float top, float first) {
    constexpr i32 LAST = TRIES == 0 ? 0 : 2 * TRIES + 1;
    float scale = 0, best = 0;
#pragma unroll 1
    for (i32 t = 0; t <= LAST; t++) {
        const float inverse = t == 0 ? first : ((float)(t - 1 - TRIES) + LOWEST_LEVEL) / top;
        float xl = 0, ll = 0;
#pragma unroll
        for (u32 i = 0; i < Q_BLOCK; i++) {
            const float weight = x[i] * x[i], level = level_of(nearest_index(x[i] * inverse));
            xl = xl + weight * level * x[i];
            ll = ll + weight * level * level;
        }
        if (ll > 0 && (t == 0 || xl * xl > best * ll)) {
            scale = xl / ll;
            best = scale * xl;
        }
    }
    return scale;
}

// Bytes `2 i` and `2 i + 1` of the indices of 32 elements.
ISOBIT_FN u16 index_bytes(const float (&x)[Q_BLOCK], float inverse, u32 i) {
    u32 two = 0;
#pragma unroll
    for (u32 b = 0; b < 2; b++) {
        const u32 low = nearest_index(x[2 * i + b] * inverse), high = nearest_index(x[2 * i + b + 16] * inverse);
        two |= (low | high << 4) << (8 * b);
    }
    return (u16)two;
}

ISOBIT_FN void q_quantize_iq4_nl(u64 blocks, u32 dtype, const void *from, u8 *to) {
    const u64 block = (u64)block_x() * QK_BLOCK + thread_x();
    if (block >= blocks)
        return;
    float x[Q_BLOCK];
    values_at(x, from, block * Q_BLOCK, dtype);
    const bool finite = all_finite(x);
    const Top top = top_of(x);
    const bool any = finite && top.magnitude >= Q_TINY;
    const float first = 1.0f / (top.value / LOWEST_LEVEL), scale = search_iq4<0>(x, top.value, first);
    const u32 d = scale == scale ? round_to<f16>(scale).bits : NO_NUMBER;
    u16 *place = (u16 *)(to + block * iq4_nl::BYTES);
    place[0] = (u16)(any ? d : finite ? 0 : NO_NUMBER);
#pragma unroll
    for (u32 i = 0; i < 8; i++)
        place[1 + i] = any ? index_bytes(x, first, i) : 0;
}

ISOBIT_FN void q_quantize_iq4_xs(u64 blocks, u32 dtype, const void *from, u8 *to) {
    constexpr u32 TEAM = 8, TEAMS = QK_BLOCK / TEAM;
    __shared__ TeamScales<TEAM> teams[TEAMS];
    TeamScales<TEAM> &team = teams[thread_x() / TEAM];
    const u32 j = thread_x() % TEAM;
    const u64 block = (u64)block_x() * TEAMS + thread_x() / TEAM;
    const bool there = block < blocks;

    float x[Q_BLOCK] = {};
    if (there)
        values_at(x, from, block * Q_SEGMENT + j * Q_BLOCK, dtype);
    const Top own = top_of(x);
    const float first = 1.0f / (-own.value / LOWEST_LEVEL);
    team.scale[j] = own.magnitude >= Q_TINY ? search_iq4<7>(x, own.value, first) : 0.0f;
    team.finite[j] = all_finite(x) ? 1 : 0;
    barrier();
    const bool finite = is_finite(team);
    const float step = -top_of(team.scale).value * 0x1p-5f, inverse = step != 0 ? 1.0f / step : 0.0f;
    const i32 scale = round_even(inverse * team.scale[j], -32, 31);
    const float factor = step * (float)scale, reciprocal = factor != 0 ? 1.0f / factor : 0.0f;
    team.scales[j] = (u8)(scale + 32);
    barrier();
    if (!there)
        return;
    u16 *place = (u16 *)(to + block * iq4_xs::BYTES);
#pragma unroll
    for (u32 i = 0; i < 8; i++)
        place[4 + 8 * j + i] = finite ? index_bytes(x, reciprocal, i) : 0;
    // The scale, the upper bits of the sub-blocks' scales, and four low nibbles each.
    u32 two = round_to<f16>(step).bits;
    if (j == 1) {
        two = 0;
        for (u32 i = 0; i < TEAM; i++)
            two |= (u32)team.scales[i] >> 4 << (2 * i);
    } else if (j == 2 || j == 3) {
        two = 0;
        for (u32 i = 0; i < 4; i++)
            two |= (u32)(team.scales[4 * (j - 2) + i] & 0xf) << (4 * i);
    }
    if (j < 4)
        place[j] = (u16)(finite ? two : j == 0 ? NO_NUMBER : 0);
}

} // namespace isobit

#define ISOBIT_Q_QUANTIZE_IQ4(NAME, F)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128) NAME(u64 blocks, u32 dtype, const void *from, u8 *to) {                                  \
        q_quantize_##F(blocks, dtype, from, to);                                                                       \
    }                                                                                                                  \
    }
