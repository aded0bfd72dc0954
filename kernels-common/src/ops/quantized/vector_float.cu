// Products with few rows of float activations, one per thread block. Matrix elements are
// dequantized in registers.
#include "ops/quantized/vector.cuh"
#include "ops/quantized/formats.cuh"

namespace isobit {

// A segment of activations in shared memory, with four extra words, so that neighbouring segments
// start at different banks.
ISOBIT_CONST u32 Q_X_FLOATS = Q_SEGMENT + 4;

// The value of the first `blocks` blocks of a segment.
template <typename F>
ISOBIT_FN float segment_value(const Held<Q_SEGMENT_BYTES<F>> &bytes, const float *x, u32 blocks) {
    constexpr u32 WORDS = F::SUB / 4;
    float p = 0;
#pragma unroll
    for (u32 j = 0; j < Q_SEGMENT / F::SUB; j++) {
        if (F::BLOCK < Q_SEGMENT && j * F::SUB / Q_BLOCK >= blocks)
            break;
        const QScale scale = scale_of<F>(bytes, j);
#pragma unroll
        for (u32 w = 0; w < WORDS; w++) {
            const u32 word = j * WORDS + w, levels = levels_of<F>(bytes, word / 8, word % 8);
            const Pack<4, float> four = load<4>(x + word * 4);
            float own[4];
            four_levels(own, levels);
#pragma unroll
            for (u32 i = 0; i < 4; i++)
                p = fma(four.v[i], element<F>(scale, own[i]), p);
        }
    }
    return p;
}

template <typename F, u32 SEGMENTS>
ISOBIT_FN void q_vector_float(const QProduct &p, const u8 *w, const void *x, const u32 *ids, u64 *fault,
                              u32 first_row, void *y) {
    constexpr u32 ROWS = Q_VECTOR_BLOCK / SEGMENTS;
    constexpr u32 W_WORDS = ROWS * SEGMENTS * Q_SEGMENT_BYTES<F> / 4;
    static_assert(ROWS * (SEGMENTS + 1) <= W_WORDS, "the segments' values lie where the bytes were");
    __shared__ vector_detail::words4 shared[(W_WORDS + SEGMENTS * Q_X_FLOATS) / 4];
    u8 *w_shared = (u8 *)shared;
    float *x_shared = (float *)shared + W_WORDS, *values = (float *)shared;

    const auto at = vector_place<SEGMENTS>(p);
    const u8 *matrix = chosen_matrix(p, w, ids, at.m, fault, first_row);
    float total = Q_NOTHING;
    if (matrix == nullptr || p.blocks == 0) {
        put_results<SEGMENTS>(p, at, y, 0.0f);
        return;
    }
    const u8 *from = matrix + (at.n0 + at.row) * p.w_row;
    u8 *to = w_shared + at.row * SEGMENTS * Q_SEGMENT_BYTES<F>;
    const u64 x_row = (u64)divide(at.m, p.repeat) * p.blocks * Q_BLOCK;
#pragma unroll 1
    for (u32 s0 = 0; s0 < p.segments; s0 += SEGMENTS) {
        const u32 blocks = p.blocks - s0 * 8;
        if (at.row < at.n_left)
            start_chunk<F, SEGMENTS>(to, from + (u64)s0 * Q_SEGMENT_BYTES<F>, at.segment, blocks);
        const u32 length = (blocks < SEGMENTS * 8 ? blocks : SEGMENTS * 8) * Q_BLOCK;
#pragma unroll 4
        for (u32 i = thread_x(); i < length; i += Q_VECTOR_BLOCK)
            x_shared[i / Q_SEGMENT * Q_X_FLOATS + i % Q_SEGMENT] = value_at(x, x_row + s0 * Q_SEGMENT + i, p.dtype);
        copies_wait();
        barrier();
        float value = 0;
        const bool busy = at.row < at.n_left && s0 + at.segment < p.segments;
        if (busy)
            value = segment_value<F>(hold<Q_SEGMENT_BYTES<F>>(to + at.segment * Q_SEGMENT_BYTES<F>),
                                     x_shared + at.segment * Q_X_FLOATS, blocks - at.segment * 8);
        barrier();
        if (busy)
            values[at.row * (SEGMENTS + 1) + at.segment] = value;
        barrier();
        total = add_chunk<SEGMENTS>(values, total, at, p.segments - s0);
        if (s0 + SEGMENTS < p.segments)
            barrier();
    }
    put_results<SEGMENTS>(p, at, y, total);
}

} // namespace isobit

#define ISOBIT_Q_VECTOR_FLOAT(NAME, F, SEGMENTS)                                                                       \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128)                                                                                          \
    NAME(const QProduct p, const u8 *w, const void *x, const u32 *ids, u64 *fault, u32 first_row, void *y) {           \
        q_vector_float<F, SEGMENTS>(p, w, x, ids, fault, first_row, y);                                                \
    }                                                                                                                  \
    }
