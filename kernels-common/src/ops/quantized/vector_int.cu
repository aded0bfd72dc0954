// Products with few rows of activations through q8_1. If there is only one row, each thread block
// quantizes it itself, which takes less time than a launch.
#include "ops/quantized/q8.cuh"
#include "ops/quantized/formats.cuh"
#include "ops/quantized/vector.cuh"

namespace isobit {

// Words of a segment of activations in shared memory: the integers, then scale and scaled sum of
// each block, and four extra words, so that neighbouring segments start at different banks.
ISOBIT_CONST u32 Q_X_SCALES = Q_SEGMENT / 4, Q_X_WORDS = Q_X_SCALES + 2 * 8 + 4;

ISOBIT_FN void keep_block(u32 *segment, u32 block, const u32 (&q)[8], float d, float s) {
#pragma unroll
    for (u32 w = 0; w < 8; w += 4)
        store(segment + block * 8 + w, Pack<4, u32>{{q[w], q[w + 1], q[w + 2], q[w + 3]}});
    store((float *)segment + Q_X_SCALES + block * 2, Pack<2, float>{{d, s}});
}

// Quantizes block `block` of the row here; blocks beyond k are empty.
ISOBIT_FN void quantize_block(u32 *x_shared, const QProduct &p, const void *x, u64 row, u32 block, u32 place) {
    u32 q[8] = {};
    float d = Q_NOTHING, s = Q_NOTHING;
    if (block < p.blocks) {
        float values[Q_BLOCK];
        values_at(values, x, (row * p.blocks + block) * Q_BLOCK, p.dtype);
        const Q8Block made = q8_block(values);
#pragma unroll
        for (u32 w = 0; w < 8; w++)
            q[w] = made.q[w];
        d = to_f32(made.d), s = to_f32(made.s);
    }
    keep_block(x_shared + place / 8 * Q_X_WORDS, place % 8, q, d, s);
}

// The same from activations that were quantized before.
ISOBIT_FN void fetch_block(u32 *x_shared, const QProduct &p, const EightBitRows &x, u64 row, u32 block, u32 place) {
    u32 *segment = x_shared + place / 8 * Q_X_WORDS;
    if (block < p.blocks) {
        const u64 from = row * p.blocks + block;
        copy16_start(segment + place % 8 * 8, x.q + from * 8);
        copy16_start(segment + place % 8 * 8 + 4, x.q + from * 8 + 4);
        store((float *)segment + Q_X_SCALES + place % 8 * 2, load<2>(x.scales + from * 2));
    } else {
        const u32 none[8] = {};
        keep_block(segment, place % 8, none, Q_NOTHING, Q_NOTHING);
    }
}

// The values of a segment of a row of `w` with up to M rows of activations, which are CHUNK words
// apart.
template <typename F, u32 M, u32 CHUNK>
ISOBIT_FN void segment_values(float (&p)[M], const Held<Q_SEGMENT_BYTES<F>> &bytes, const u32 *x, u32 rows) {
    constexpr u32 WORDS = F::SUB / 4;
#pragma unroll
    for (u32 i = 0; i < M; i++)
        p[i] = 0;
#pragma unroll
    for (u32 j = 0; j < Q_SEGMENT / F::SUB; j++) {
        const u32 block = j * F::SUB / Q_BLOCK;
        const QScale scale = scale_of<F>(bytes, j);
        u32 levels[WORDS];
#pragma unroll
        for (u32 w = 0; w < WORDS; w++)
            levels[w] = levels_of<F>(bytes, block, j * WORDS % 8 + w);
#pragma unroll
        for (u32 i = 0; i < M; i++) {
            if (M > 1 && i >= rows)
                break;
            const u32 *segment = x + i * CHUNK;
            i32 products = 0, sum = 0;
#pragma unroll
            for (u32 w = 0; w < WORDS; w += 4) {
                const Pack<4, u32> four = load<4>(segment + j * WORDS + w);
#pragma unroll
                for (u32 l = 0; l < 4; l++) {
                    products = dot4(products, levels[w + l], four.v[l]);
                    if (F::SUMMAND && F::SUB == 16)
                        sum = sum4(sum, four.v[l]);
                }
            }
            const Pack<2, float> d = load<2>((const float *)segment + Q_X_SCALES + block * 2);
            p[i] = fma(scale.factor * d.v[0], (float)products, p[i]);
            if (F::SUMMAND)
                p[i] = fma(scale.summand, F::SUB == 16 ? d.v[0] * (float)sum : d.v[1], p[i]);
        }
    }
}

template <typename F, u32 M, u32 SEGMENTS>
ISOBIT_FN void q_vector_int(const QProduct &p, const u8 *w, const void *x, const EightBitRows &rows, const u32 *ids,
                            u64 *fault, u32 first_row, void *y) {
    constexpr u32 ROWS = Q_VECTOR_BLOCK / SEGMENTS, CHUNK = SEGMENTS * Q_X_WORDS;
    constexpr u32 W_WORDS = ROWS * SEGMENTS * Q_SEGMENT_BYTES<F> / 4, VALUES = M * ROWS * (SEGMENTS + 1);
    static_assert(VALUES <= W_WORDS, "the segments' values lie where the bytes were");
    __shared__ vector_detail::words4 shared[(W_WORDS + M * CHUNK) / 4];
    u8 *w_shared = (u8 *)shared;
    u32 *x_shared = (u32 *)shared + W_WORDS;
    float *values = (float *)shared;

    const auto at = vector_place<M, SEGMENTS>(p);
    const u8 *matrix = chosen_matrix(p, w, ids, at.m0, fault, first_row);
    float total = Q_NOTHING;
    if (matrix == nullptr || p.blocks == 0) {
        put_results(p, at, y, 0.0f);
        return;
    }
    const u8 *from = matrix + (at.n0 + at.row) * p.w_row;
    u8 *to = w_shared + at.row * SEGMENTS * Q_SEGMENT_BYTES<F>;
#pragma unroll 1
    for (u32 s0 = 0; s0 < p.segments; s0 += SEGMENTS) {
        const u32 blocks = p.blocks - s0 * 8;
        if (at.row < at.n_left)
            start_chunk<F, SEGMENTS>(to, from + (u64)s0 * Q_SEGMENT_BYTES<F>, at.segment, blocks);
#pragma unroll 1
        for (u32 i = thread_x(); i < at.m_left * SEGMENTS * 8; i += Q_VECTOR_BLOCK) {
            const u32 block = i % (SEGMENTS * 8), row = i / (SEGMENTS * 8);
            const u64 x_row = divide(at.m0 + row, p.repeat);
            if (M == 1 && rows.q == nullptr)
                quantize_block(x_shared, p, x, x_row, s0 * 8 + block, i);
            else
                fetch_block(x_shared, p, rows, x_row, s0 * 8 + block, i);
        }
        copies_wait();
        barrier();
        float value[M];
        const bool busy = at.row < at.n_left && s0 + at.segment < p.segments;
        if (busy)
            segment_values<F, M, CHUNK>(value, hold<Q_SEGMENT_BYTES<F>>(to + at.segment * Q_SEGMENT_BYTES<F>),
                                        x_shared + at.segment * Q_X_WORDS, at.m_left);
        barrier();
        if (busy) {
#pragma unroll
            for (u32 i = 0; i < M; i++)
                values[(i * ROWS + at.row) * (SEGMENTS + 1) + at.segment] = value[i];
        }
        barrier();
        total = add_chunk(values, total, at, p.segments - s0);
        if (s0 + SEGMENTS < p.segments)
            barrier();
    }
    put_results(p, at, y, total);
}

} // namespace isobit

#define ISOBIT_Q_VECTOR_INT(NAME, F, M, SEGMENTS)                                                                      \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128)                                                                                          \
    NAME(const QProduct p, const u8 *w, const void *x, const EightBitRows rows, const u32 *ids, u64 *fault,            \
         u32 first_row, void *y) {                                                                                     \
        q_vector_int<F, M, SEGMENTS>(p, w, x, rows, ids, fault, first_row, y);                                         \
    }                                                                                                                  \
    }
