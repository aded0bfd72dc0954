// Makes blocks of q8_0 or q8_1 from 32 elements; integer products also quantize their activations
// with this. Several threads make a block together: one thread with a whole block would be busy for
// longer than a product of few rows takes to read its matrix.
#pragma once

#include "device_lib/int_dot.cuh"
#include "device_lib/narrow_types.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"
#include "ops/quantized/rounding.cuh"

namespace isobit {

// What the elements of a block have in common: the factor that makes them integers, 0 if an element
// is not finite, and its reciprocal.
struct Q8Factor {
    float d, inverse;
    bool finite;
};

namespace q8_detail {

ISOBIT_FN u32 greater(u32 a, u32 b) { return a > b ? a : b; }

} // namespace q8_detail

// The greatest magnitude, as bits: in these every number that is not finite is above all that are.
template <u32 N>
ISOBIT_FN u32 q8_most(const float (&x)[N]) {
    u32 most = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++)
        most = q8_detail::greater(most, to_bits(abs(x[i])));
    return most;
}

// The greatest of N, in shared memory.
template <u32 N>
ISOBIT_FN u32 q8_most_of(const u32 *parts) {
    u32 most = 0;
#pragma unroll
    for (u32 i = 0; i < N; i += 4) {
        const Pack<4, u32> four = load<4>(parts + i);
#pragma unroll
        for (u32 l = 0; l < 4; l++)
            most = q8_detail::greater(most, four.v[l]);
    }
    return most;
}

ISOBIT_FN Q8Factor q8_factor(u32 most) {
    constexpr u32 INFINITE = 0x7f800000u;
    const bool finite = most < INFINITE;
    const float d = from_bits(most) / 127.0f;
    return {d, finite && d != 0 ? 1.0f / d : 0.0f, finite};
}

// The integers of four elements. An element that is not finite gives 0 with its factor of 0.
ISOBIT_FN u32 q8_word(const float *x, float inverse) {
    u32 four = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        four |= ((u32)round_away(x[i] * inverse, -128, 127) & 0xff) << (8 * i);
    return four;
}

// The sum of the 32 integers, in shared memory.
ISOBIT_FN i32 q8_sum_of(const u32 *words) {
    i32 sum = 0;
#pragma unroll
    for (u32 i = 0; i < 8; i += 4) {
        const Pack<4, u32> four = load<4>(words + i);
#pragma unroll
        for (u32 l = 0; l < 4; l++)
            sum = sum4(sum, four.v[l]);
    }
    return sum;
}

ISOBIT_FN f16 q8_scale(const Q8Factor &f) {
    constexpr u32 NO_NUMBER = 0x7e00u;
    return f.finite ? round_to<f16>(f.d) : f16{NO_NUMBER};
}

ISOBIT_FN f16 q8_scaled_sum(const Q8Factor &f, i32 sum) { return f.finite ? round_to<f16>((float)sum * f.d) : f16{0}; }

// Threads that make a block together, neighbours of one team, and elements of each.
ISOBIT_CONST u32 Q8_THREADS = 4, Q8_EACH = 32 / Q8_THREADS;

// A thread's part of a block, and its scales, which are of the whole block.
struct Q8Part {
    u32 q[Q8_EACH / 4];
    f16 d, s;
};

// Makes a block by four threads with eight elements each. `shared` has a place for each thread of
// the thread block. All threads of a team must call this function. Without SUM there is no scaled
// sum.
template <bool SUM>
ISOBIT_FN Q8Part q8_part(const float (&x)[Q8_EACH], u32 *shared) {
    const u32 *first = shared + thread_x() / Q8_THREADS * Q8_THREADS;
    shared[thread_x()] = q8_most(x);
    team_barrier();
    const Q8Factor factor = q8_factor(q8_most_of<Q8_THREADS>(first));
    Q8Part part;
    i32 sum = 0;
#pragma unroll
    for (u32 w = 0; w < Q8_EACH / 4; w++) {
        part.q[w] = q8_word(x + 4 * w, factor.inverse);
        sum = sum4(sum, part.q[w]);
    }
    part.d = q8_scale(factor);
    part.s = f16{0};
    if constexpr (SUM) {
        team_barrier();
        shared[thread_x()] = (u32)sum;
        team_barrier();
        const Pack<Q8_THREADS, u32> sums = load<Q8_THREADS>(first);
        sum = 0;
#pragma unroll
        for (u32 i = 0; i < Q8_THREADS; i++)
            sum += (i32)sums.v[i];
        part.s = q8_scaled_sum(factor, sum);
    }
    return part;
}

} // namespace isobit
