// Quantizes to blocks of 256 whose sub-blocks have scales. A team of threads makes each block, with
// one thread per sub-block.
#include "ops/quantized/k_quantize.cuh"

namespace isobit {

template <typename F>
ISOBIT_FN void q_quantize_256(u64 blocks, u32 dtype, const void *from, u8 *to) {
    using Make = KQuantizer<F>;
    constexpr u32 TEAM = Q_SEGMENT / F::SUB, TEAMS = QK_BLOCK / TEAM, NO_NUMBER = 0x7e00;
    __shared__ TeamScales<TEAM> teams[TEAMS];
    TeamScales<TEAM> &team = teams[thread_x() / TEAM];
    const u32 j = thread_x() % TEAM;
    const u64 block = (u64)block_x() * TEAMS + thread_x() / TEAM;
    const bool there = block < blocks;

    float x[F::SUB] = {};
    i32 levels[F::SUB];
    if (there)
        values_at(x, from, block * Q_SEGMENT + j * F::SUB, dtype);
    const SubBlockScale found = Make::search(levels, x);
    team.scale[j] = found.scale;
    team.minimum[j] = found.minimum;
    team.finite[j] = all_finite(x) ? 1 : 0;
    barrier();
    const bool finite = is_finite(team);

    i32 scale = 0, minimum = 0;
    BlockScales d;
    if constexpr (F::SUMMAND)
        d = Make::of_block(team, j, scale, minimum);
    else
        d = Make::of_block(team, j, scale, Make::TINY);
    const float factor = to_f32(d.d) * (float)scale, summand = to_f32(d.dmin) * (float)minimum;
    const bool again = factor != 0;
#pragma unroll
    for (u32 i = 0; i < F::SUB; i++) {
        if (again)
            levels[i] = round_even((F::SUMMAND ? x[i] + summand : x[i]) / factor, Make::LOWEST, Make::HIGHEST);
        team.levels[j * F::SUB + i] = (u8)(levels[i] - Make::LOWEST);
    }
    // Scales of q3_k are stored as unsigned numbers, those of q6_k as signed ones.
    team.scales[j] = (u8)(is_same<F, q3_k> ? scale + 32 : scale);
    team.mins[j] = (u8)minimum;
    barrier();
    if (!there)
        return;
    u16 *place = (u16 *)(to + block * F::BYTES);
    for (u32 at = j * 2; at < F::BYTES; at += TEAM * 2) {
        u32 two;
        if (at == Make::D)
            two = finite ? d.d.bits : NO_NUMBER;
        else if (!finite || d.zeros)
            two = 0;
        else if (at == Make::DMIN)
            two = d.dmin.bits;
        else
            two = Make::byte(team, at) | Make::byte(team, at + 1) << 8;
        place[at / 2] = (u16)two;
    }
}

} // namespace isobit

#define ISOBIT_Q_QUANTIZE_256(NAME, F)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128) NAME(u64 blocks, u32 dtype, const void *from, u8 *to) {                                  \
        q_quantize_256<F>(blocks, dtype, from, to);                                                                    \
    }                                                                                                                  \
    }
