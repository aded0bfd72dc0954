// How the formats with blocks of 256 find the scale of a sub-block: ggml's searches with a fixed
// order of operations.
#pragma once

#include "device_lib/base.cuh"
#include "ops/quantized/rounding.cuh"

namespace isobit {

// The result of a search. It determines the integers: they are `even(ratio * (x - from))`, or the
// lowest integer if there was nothing to search (`flat`).
struct SubBlockScale {
    float scale, minimum;
    float ratio, from;
    bool flat;
};

namespace search_detail {

template <bool ABSOLUTE, u32 N>
ISOBIT_FN float error(float scale, float minimum, const i32 (&levels)[N], const float (&x)[N], const float (&weight)[N]) {
    float sum = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) {
        const float e = scale * (float)levels[i] + minimum - x[i];
        sum = sum + weight[i] * (ABSOLUTE ? abs(e) : e * e);
    }
    return sum;
}

template <u32 N>
ISOBIT_FN void levels_at(i32 (&levels)[N], i32 highest, float ratio, float from, const float (&x)[N]) {
#pragma unroll
    for (u32 i = 0; i < N; i++)
        levels[i] = round_even(ratio * (x[i] - from), 0, highest);
}

} // namespace search_detail

// Finds a scale and a minimum. Errors count by magnitude or squared.
template <i32 HIGHEST, u32 TRIES, bool ABSOLUTE, u32 N>
ISOBIT_FN SubBlockScale search_scale_and_min(float first, const float (&x)[N], const float (&weight)[N]) {
    using namespace search_detail;
    float lo = x[0], hi = x[0];
    float w = 0, wx = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
        w = w + weight[i];
        wx = wx + weight[i] * x[i];
    }
    lo = lo > 0 ? 0.0f : lo;
    if (hi == lo)
        return SubBlockScale{0, -lo, 0, 0, true};
    i32 levels[N];
    SubBlockScale found{0, 0, (float)HIGHEST / (hi - lo), lo, false};
    found.scale = 1.0f / found.ratio;
    levels_at(levels, HIGHEST, found.ratio, lo, x);
    float best = error<ABSOLUTE>(found.scale, lo, levels, x, weight);
#pragma unroll 1
    for (u32 t = 0; t <= TRIES; t++) {
        const float ratio = (first + 0.1f * (float)t + (float)HIGHEST) / (hi - lo);
        levels_at(levels, HIGHEST, ratio, lo, x);
        float l = 0, ll = 0, lx = 0;
#pragma unroll
        for (u32 i = 0; i < N; i++) {
            const float level = (float)levels[i], wl = weight[i] * level;
            l = l + wl;
            ll = ll + wl * level;
            lx = lx + wl * x[i];
        }
        const float d = w * ll - l * l;
        if (!(d > 0))
            continue;
        float scale = (w * lx - wx * l) / d, minimum = (ll * wx - l * lx) / d;
        if (minimum > 0) {
            minimum = 0;
            scale = lx / ll;
        }
        const float e = error<ABSOLUTE>(scale, minimum, levels, x, weight);
        if (e < best) {
            best = e;
            found.ratio = ratio, found.from = lo;
            found.scale = scale;
            lo = minimum;
        }
    }
    found.minimum = -lo;
    return found;
}

// Below this magnitude a sub-block counts as all zeros.
ISOBIT_CONST float Q_TINY = 1e-15f;

// Finds the scale of integers from -32 to 31; the weight of each element is its square.
template <u32 N>
ISOBIT_FN SubBlockScale search_scale(const float (&x)[N]) {
    const Top top = top_of(x);
    if (top.magnitude < Q_TINY)
        return SubBlockScale{0, 0, 0, 0, true};
    SubBlockScale found{0, 0, 0, 0, false};
    float best = 0;
#pragma unroll 1
    for (i32 t = -10; t <= 9; t++) {
        // The first try, at t = -10, is the one without a step; its own position t = 0 is skipped.
        if (t == 0)
            continue;
        const bool is_first = t == -10;
        const float ratio = is_first ? -32.0f / top.value : -(32.0f + 0.1f * (float)t) / top.value;
        float lx = 0, ll = 0;
#pragma unroll
        for (u32 i = 0; i < N; i++) {
            const float level = (float)round_even(ratio * x[i], -32, 31), weight = x[i] * x[i];
            lx = lx + weight * x[i] * level;
            ll = ll + weight * level * level;
        }
        if (is_first || (ll > 0 && lx * lx > best * ll)) {
            found.ratio = ratio;
            found.scale = is_first && ll == 0 ? 0.0f : lx / ll;
            best = found.scale * lx;
        }
    }
    return found;
}

// Finds the scale of integers from -4 to 3, and improves the integers one by one.
template <u32 N>
ISOBIT_FN float search_levels(i32 (&levels)[N], const float (&x)[N]) {
    const Top top = top_of(x);
    const bool tiny = top.magnitude < Q_TINY;
    const float ratio = -4.0f / top.value;
    float lx = 0, ll = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) {
        levels[i] = tiny ? -4 : round_even(ratio * x[i], -4, 3);
        const float level = (float)levels[i], weight = x[i] * x[i];
        lx = lx + weight * x[i] * level;
        ll = ll + weight * level * level;
    }
    if (tiny)
        return 0;
#pragma unroll 1
    for (u32 round = 0; round < 5; round++) {
        bool changed = false;
#pragma unroll
        for (u32 i = 0; i < N; i++) {
            const float weight = x[i] * x[i], level = (float)levels[i];
            float p = lx - weight * x[i] * level;
            if (!(p > 0))
                continue;
            float q = ll - weight * level * level;
            const i32 other = round_even(x[i] * q / p, -4, 3);
            if (other == levels[i])
                continue;
            p = p + weight * x[i] * (float)other;
            q = q + weight * (float)other * (float)other;
            if (q > 0 && p * p * ll > lx * lx * q) {
                levels[i] = other;
                lx = p, ll = q;
                changed = true;
            }
        }
        if (!changed)
            break;
    }
    return ll > 0 ? lx / ll : 0.0f;
}

} // namespace isobit
