// How the threads of a team that makes one block of 256 compute its scales: each thread finds those
// of its sub-block, and they are combined in shared memory.
#pragma once

#include "device_lib/halves.cuh"
#include "ops/quantized/k_quants.cuh"
#include "ops/quantized/search.cuh"
#include "ops/quantized/values.cuh"

namespace isobit {

ISOBIT_CONST u32 QK_BLOCK = 128;

// What the threads of a team exchange: what each found for its sub-block, then the integers that
// are stored.
template <u32 TEAM>
struct TeamScales {
    float scale[TEAM], minimum[TEAM];
    u32 finite[TEAM];
    u8 levels[Q_SEGMENT];
    u8 scales[TEAM], mins[TEAM];
};

// Whether all elements of the block are finite.
template <u32 TEAM>
ISOBIT_FN bool is_finite(const TeamScales<TEAM> &team) {
    bool finite = true;
    for (u32 i = 0; i < TEAM; i++)
        finite = finite && team.finite[i] != 0;
    return finite;
}

// The scale of a block, the step of its minima, and whether all its bytes are zero.
struct BlockScales {
    f16 d, dmin;
    bool zeros;
};

// A format's search returns what it finds for a sub-block and, through `levels`, its integers from
// LOWEST to HIGHEST. `of_block` computes the scales of the block and of this sub-block from the
// results of all sub-blocks.
template <i32 SCALE_MOST>
struct ScaleAndMin {
    // Scales numbers of at least 0 to integers up to SCALE_MOST.
    template <u32 TEAM>
    ISOBIT_FN float greatest(const float (&all)[TEAM]) {
        float most = 0;
        for (u32 j = 0; j < TEAM; j++)
            most = all[j] > most ? all[j] : most;
        return most;
    }
    ISOBIT_FN i32 integer(float most, float own) {
        return round_even((most > 0 ? (float)SCALE_MOST / most : 0.0f) * own, 0, SCALE_MOST);
    }
    template <u32 TEAM>
    ISOBIT_FN BlockScales of_block(const TeamScales<TEAM> &all, u32 j, i32 &scale, i32 &minimum) {
        const float scales = greatest(all.scale), mins = greatest(all.minimum);
        scale = integer(scales, all.scale[j]);
        minimum = integer(mins, all.minimum[j]);
        return BlockScales{round_to<f16>(scales / (float)SCALE_MOST), round_to<f16>(mins / (float)SCALE_MOST), false};
    }
};

template <i32 SCALE_LOWEST>
struct SymmetricScale {
    template <u32 TEAM>
    ISOBIT_FN BlockScales of_block(const TeamScales<TEAM> &all, u32 j, i32 &scale, float tiny) {
        const Top top = top_of(all.scale);
        scale = SCALE_LOWEST;
        if (top.magnitude == 0 || top.magnitude < tiny)
            return BlockScales{f16{0}, f16{0}, tiny > 0};
        const float ratio = (float)SCALE_LOWEST / top.value;
        scale = round_even(ratio * all.scale[j], SCALE_LOWEST, -SCALE_LOWEST - 1);
        return BlockScales{round_to<f16>(1.0f / ratio), f16{0}, false};
    }
};

// The weights of q4_k and q5_k: the root of the mean square plus the element's magnitude.
template <u32 N>
ISOBIT_FN void weights_of(float (&weight)[N], const float (&x)[N]) {
    float squares = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++)
        squares = squares + x[i] * x[i];
    const float mean = sqrt(squares / (float)N);
#pragma unroll
    for (u32 i = 0; i < N; i++)
        weight[i] = mean + abs(x[i]);
}

template <u32 N>
ISOBIT_FN void found_levels(i32 (&levels)[N], const SubBlockScale &found, const float (&x)[N], i32 lowest, i32 highest) {
#pragma unroll
    for (u32 i = 0; i < N; i++)
        levels[i] = found.flat ? lowest : round_even(found.ratio * (x[i] - found.from), lowest, highest);
}

} // namespace isobit
