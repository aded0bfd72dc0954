// How the threads of a team that make one block of 256 come to its scales: each finds those of its
// sub-block, and they meet in shared memory.
#pragma once

#include "device_lib/halves.cuh"
#include "ops/quantized/k_quants.cuh"
#include "ops/quantized/search.cuh"
#include "ops/quantized/values.cuh"

namespace isobit {

ISOBIT_CONST u32 QK_BLOCK = 128;

// What a team's threads tell one another: what each found for its sub-block, then the integers as
// they are stored.
template <u32 TEAM>
struct TeamScales {
    float scale[TEAM], minimum[TEAM];
    u32 finite[TEAM];
    u8 levels[Q_SEGMENT];
    u8 scales[TEAM], mins[TEAM];
};

// The scale and the step of the minima of a block, and whether all its bytes are zeros.
struct BlockScales {
    f16 d, dmin;
    bool zeros;
};

// A search makes of a sub-block what it found and, through `levels`, its integers from LOWEST to
// HIGHEST; `of_block` makes the block's scales and this sub-block's, of what all sub-blocks found.
template <i32 SCALE_MOST>
struct ScaleAndMin {
    // Numbers of at least 0 to integers up to SCALE_MOST.
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

// The weights of q4_k and q5_k: the root of the mean square, and the element's magnitude.
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
