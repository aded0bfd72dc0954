// Quantizers for the formats with blocks of 256: their searches, and where the bytes of a block
// come from.
#pragma once

#include "ops/quantized/block_scales.cuh"

namespace isobit {

// What differs between formats: the integers, the search, and the source of the bytes. `byte`
// returns byte `at` of a block, except for the bytes of d and dmin.
template <typename F>
struct KQuantizer;

template <>
struct KQuantizer<q2_k> : ScaleAndMin<15> {
    static constexpr i32 LOWEST = 0, HIGHEST = 3;
    static constexpr u32 D = 80, DMIN = 82;
    ISOBIT_FN SubBlockScale search(i32 (&levels)[16], const float (&x)[16]) {
        float weight[16];
#pragma unroll
        for (u32 i = 0; i < 16; i++)
            weight[i] = abs(x[i]);
        const SubBlockScale found = search_scale_and_min<HIGHEST, 15, true>(-0.5f, x, weight);
        found_levels(levels, found, x, LOWEST, HIGHEST);
        return found;
    }
    ISOBIT_FN u32 byte(const TeamScales<16> &m, u32 at) {
        if (at < 16)
            return (u32)m.scales[at] | (u32)m.mins[at] << 4;
        const u8 *from = m.levels + (at - 16) / Q_BLOCK * 128 + (at - 16) % Q_BLOCK;
        return (u32)from[0] | (u32)from[Q_BLOCK] << 2 | (u32)from[2 * Q_BLOCK] << 4 | (u32)from[3 * Q_BLOCK] << 6;
    }
};

template <>
struct KQuantizer<q3_k> : SymmetricScale<-32> {
    static constexpr i32 LOWEST = -4, HIGHEST = 3;
    static constexpr u32 D = 108, DMIN = 110;
    static constexpr float TINY = 0;
    ISOBIT_FN SubBlockScale search(i32 (&levels)[16], const float (&x)[16]) {
        return SubBlockScale{search_levels(levels, x), 0, 0, 0, false};
    }
    ISOBIT_FN u32 byte(const TeamScales<16> &m, u32 at) {
        u32 out = 0;
        if (at < 32) {
            for (u32 j = 0; j < 8; j++)
                out |= ((u32)m.levels[j * Q_BLOCK + at] >> 2) << j;
        } else if (at < 96) {
            const u8 *from = m.levels + (at - 32) / Q_BLOCK * 128 + (at - 32) % Q_BLOCK;
            for (u32 p = 0; p < 4; p++)
                out |= ((u32)from[p * Q_BLOCK] & 3) << (2 * p);
        } else if (at < 104) {
            const u32 j = at - 96;
            out = (u32)(m.scales[j] & 0xf) | (u32)(m.scales[j + 8] & 0xf) << 4;
        } else {
            for (u32 i = 0; i < 4; i++)
                out |= ((u32)m.scales[at - 104 + 4 * i] >> 4) << (2 * i);
        }
        return out;
    }
};

// The bytes of the 6-bit scales and minima.
ISOBIT_FN u32 six_bit_byte(const TeamScales<8> &m, u32 i) {
    if (i < 4)
        return (u32)m.scales[i] | (u32)(m.scales[i + 4] >> 4) << 6;
    if (i < 8)
        return (u32)m.mins[i - 4] | (u32)(m.mins[i] >> 4) << 6;
    return (u32)(m.scales[i - 4] & 0xf) | (u32)(m.mins[i - 4] & 0xf) << 4;
}

// The sub-blocks of q4_k and q5_k: of 32 bytes, the low nibbles hold one and the high nibbles the
// next.
ISOBIT_FN u32 nibble_byte(const TeamScales<8> &m, u32 i) {
    const u8 *from = m.levels + i / Q_BLOCK * 64 + i % Q_BLOCK;
    return (u32)(from[0] & 0xf) | (u32)(from[Q_BLOCK] & 0xf) << 4;
}

template <>
struct KQuantizer<q4_k> : ScaleAndMin<63> {
    static constexpr i32 LOWEST = 0, HIGHEST = 15;
    static constexpr u32 D = 0, DMIN = 2;
    ISOBIT_FN SubBlockScale search(i32 (&levels)[32], const float (&x)[32]) {
        float weight[32];
        weights_of(weight, x);
        const SubBlockScale found = search_scale_and_min<HIGHEST, 20, false>(-1.0f, x, weight);
        found_levels(levels, found, x, LOWEST, HIGHEST);
        return found;
    }
    ISOBIT_FN u32 byte(const TeamScales<8> &m, u32 at) {
        return at < 16 ? six_bit_byte(m, at - 4) : nibble_byte(m, at - 16);
    }
};

template <>
struct KQuantizer<q5_k> : ScaleAndMin<63> {
    static constexpr i32 LOWEST = 0, HIGHEST = 31;
    static constexpr u32 D = 0, DMIN = 2;
    ISOBIT_FN SubBlockScale search(i32 (&levels)[32], const float (&x)[32]) {
        float weight[32];
        weights_of(weight, x);
        const SubBlockScale found = search_scale_and_min<HIGHEST, 15, false>(-0.5f, x, weight);
        found_levels(levels, found, x, LOWEST, HIGHEST);
        return found;
    }
    ISOBIT_FN u32 byte(const TeamScales<8> &m, u32 at) {
        if (at < 16)
            return six_bit_byte(m, at - 4);
        if (at >= 48)
            return nibble_byte(m, at - 48);
        u32 out = 0;
        for (u32 j = 0; j < 8; j++)
            out |= ((u32)m.levels[j * Q_BLOCK + at - 16] >> 4) << j;
        return out;
    }
};

template <>
struct KQuantizer<q6_k> : SymmetricScale<-128> {
    static constexpr i32 LOWEST = -32, HIGHEST = 31;
    static constexpr u32 D = 208, DMIN = 210;
    static constexpr float TINY = Q_TINY;
    ISOBIT_FN SubBlockScale search(i32 (&levels)[16], const float (&x)[16]) {
        const SubBlockScale found = search_scale(x);
        found_levels(levels, found, x, LOWEST, HIGHEST);
        return found;
    }
    ISOBIT_FN u32 byte(const TeamScales<16> &m, u32 at) {
        if (at < 128) {
            const u8 *from = m.levels + at / 64 * 128 + at % 64;
            return (u32)(from[0] & 0xf) | (u32)(from[64] & 0xf) << 4;
        }
        if (at >= 192)
            return m.scales[at - 192];
        const u8 *from = m.levels + (at - 128) / Q_BLOCK * 128 + (at - 128) % Q_BLOCK;
        u32 out = 0;
        for (u32 p = 0; p < 4; p++)
            out |= ((u32)from[p * Q_BLOCK] >> 4) << (2 * p);
        return out;
    }
};

} // namespace isobit
