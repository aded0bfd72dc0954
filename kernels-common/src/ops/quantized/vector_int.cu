// Products with few rows of activations through q8_1, one per thread block. If there is only one
// row, each thread block quantizes it itself, which takes less time than a launch.
#include "ops/quantized/q8.cuh"
#include "ops/quantized/formats.cuh"
#include "ops/quantized/vector.cuh"

namespace isobit {

// Words of a segment of activations in shared memory: the integers, then scale and scaled sum of
// each block, and four extra words, so that neighbouring segments start at different banks.
ISOBIT_CONST u32 Q_X_SCALES = Q_SEGMENT / 4, Q_X_WORDS = Q_X_SCALES + 2 * 8 + 4;

ISOBIT_FN u32 *block_words(u32 *x_shared, u32 block) { return x_shared + block / 8 * Q_X_WORDS + block % 8 * 8; }
ISOBIT_FN float *block_scales(u32 *x_shared, u32 block) {
    return (float *)x_shared + block / 8 * Q_X_WORDS + Q_X_SCALES + block % 8 * 2;
}

// Threads that make a block of the row together.
ISOBIT_CONST u32 Q_X_TOGETHER = 8;

// The four elements that a thread takes of each of its blocks: neighbours take neighbouring ones.
// Blocks beyond k are zeros, whose products with finite scales, as those of missing blocks of `w`
// are, change nothing.
template <typename T>
ISOBIT_FN void own_elements(float (&values)[Q_X_TOGETHER][4], const T *row, u32 block0, u32 blocks) {
#pragma unroll
    for (u32 i = 0; i < Q_X_TOGETHER; i++) {
        const u32 block = block0 + i * (Q_VECTOR_BLOCK / Q_X_TOGETHER) + thread_x() / Q_X_TOGETHER;
        Pack<4, T> four{};
        if (block < blocks)
            four = load<4>(row + (u64)block * Q_BLOCK + thread_x() % Q_X_TOGETHER * 4);
#pragma unroll
        for (u32 l = 0; l < 4; l++)
            values[i][l] = to_compute(four.v[l]);
    }
}

// Quantizes as many blocks of the row as there are threads, from block `block0` on. Eight threads
// read a block together; what its elements have in common is computed by one thread of their team.
ISOBIT_FN void quantize_blocks(u32 *x_shared, const QProduct &p, const void *x, u64 row, u32 block0) {
    float values[Q_X_TOGETHER][4];
    const u64 first = row * p.blocks * Q_BLOCK;
    if (p.dtype == VALUES_F32)
        own_elements(values, (const float *)x + first, block0, p.blocks);
    else if (p.dtype == VALUES_F16)
        own_elements(values, (const f16 *)x + first, block0, p.blocks);
    else
        own_elements(values, (const bf16 *)x + first, block0, p.blocks);
    constexpr u32 APART = Q_VECTOR_BLOCK / Q_X_TOGETHER, TEAM = 32, TEAM_BLOCKS = TEAM / Q_X_TOGETHER;
    const u32 lane = thread_x() % TEAM;
    // The block whose common values this thread computes: one of those that its team reads.
    const u32 own = lane / TEAM_BLOCKS * APART + thread_x() / TEAM * TEAM_BLOCKS + lane % TEAM_BLOCKS;
    u32 *const own_words = block_words(x_shared, own);
    float *const own_scales = block_scales(x_shared, own);
#pragma unroll
    for (u32 i = 0; i < Q_X_TOGETHER; i++)
        block_words(x_shared, i * APART + thread_x() / Q_X_TOGETHER)[thread_x() % Q_X_TOGETHER] = q8_most(values[i]);
    team_barrier();
    const Q8Factor factor = q8_factor(q8_most_of<Q_X_TOGETHER>(own_words));
    own_scales[0] = factor.inverse;
    team_barrier();
#pragma unroll
    for (u32 i = 0; i < Q_X_TOGETHER; i++) {
        const u32 block = i * APART + thread_x() / Q_X_TOGETHER;
        block_words(x_shared, block)[thread_x() % Q_X_TOGETHER] = q8_word(values[i], block_scales(x_shared, block)[0]);
    }
    team_barrier();
    own_scales[0] = to_f32(q8_scale(factor));
    own_scales[1] = to_f32(q8_scaled_sum(factor, q8_sum_of(own_words)));
}

// The same from activations that were quantized before, a block for each thread.
ISOBIT_FN void fetch_block(u32 *x_shared, const QProduct &p, const EightBitRows &x, u64 row, u32 block0) {
    const u32 block = block0 + thread_x();
    u32 *words = block_words(x_shared, thread_x());
    float *scales = block_scales(x_shared, thread_x());
    if (block < p.blocks) {
        const u64 from = row * p.blocks + block;
        copy16_start(words, x.q + from * 8);
        copy16_start(words + 4, x.q + from * 8 + 4);
        store(scales, load<2>(x.scales + from * 2));
    } else {
        store(words, Pack<4, u32>{});
        store(words + 4, Pack<4, u32>{});
        store(scales, Pack<2, float>{});
    }
}

// The value of a segment of a row of `w` with a row of activations.
template <typename F>
ISOBIT_FN float segment_value(const Held<Q_SEGMENT_BYTES<F>> &bytes, const u32 *segment) {
    constexpr u32 WORDS = F::SUB / 4;
    float p = 0;
#pragma unroll
    for (u32 j = 0; j < Q_SEGMENT / F::SUB; j++) {
        const u32 block = j * F::SUB / Q_BLOCK;
        const QScale scale = scale_of<F>(bytes, j);
        i32 products = 0, sum = 0;
#pragma unroll
        for (u32 w = 0; w < WORDS; w += 4) {
            const Pack<4, u32> four = load<4>(segment + j * WORDS + w);
#pragma unroll
            for (u32 l = 0; l < 4; l++) {
                products = dot4(products, levels_of<F>(bytes, block, j * WORDS % 8 + w + l), four.v[l]);
                if (F::SUMMAND && F::SUB == 16)
                    sum = sum4(sum, four.v[l]);
            }
        }
        const Pack<2, float> d = load<2>((const float *)segment + Q_X_SCALES + block * 2);
        p = fma(scale.factor * d.v[0], (float)products, p);
        if (F::SUMMAND)
            p = fma(scale.summand, F::SUB == 16 ? d.v[0] * (float)sum : d.v[1], p);
    }
    return p;
}

template <typename F, u32 SEGMENTS>
ISOBIT_FN void q_vector_int(const QProduct &p, const u8 *w, const void *x, const EightBitRows &rows, const u32 *ids,
                            u64 *fault, u32 first_row, void *y) {
    constexpr u32 ROWS = Q_VECTOR_BLOCK / SEGMENTS;
    constexpr u32 W_WORDS = ROWS * SEGMENTS * Q_SEGMENT_BYTES<F> / 4;
    static_assert(SEGMENTS * 8 == Q_VECTOR_BLOCK, "there is a thread for each block of activations");
    static_assert(ROWS * (SEGMENTS + 1) <= W_WORDS, "the segments' values lie where the bytes were");
    __shared__ vector_detail::words4 shared[(W_WORDS + SEGMENTS * Q_X_WORDS) / 4];
    u8 *w_shared = (u8 *)shared;
    u32 *x_shared = (u32 *)shared + W_WORDS;
    float *values = (float *)shared;

    const auto at = vector_place<SEGMENTS>(p);
    const u8 *matrix = chosen_matrix(p, w, ids, at.m, fault, first_row);
    float total = Q_NOTHING;
    if (matrix == nullptr || p.blocks == 0) {
        put_results<SEGMENTS>(p, at, y, 0.0f);
        return;
    }
    const u8 *from = matrix + (at.n0 + at.row) * p.w_row;
    u8 *to = w_shared + at.row * SEGMENTS * Q_SEGMENT_BYTES<F>;
    const u64 x_row = divide(at.m, p.repeat);
#pragma unroll 1
    for (u32 s0 = 0; s0 < p.segments; s0 += SEGMENTS) {
        const u32 blocks = p.blocks - s0 * 8;
        if (at.row < at.n_left)
            start_chunk<F, SEGMENTS>(to, from + (u64)s0 * Q_SEGMENT_BYTES<F>, at.segment, blocks);
        if (rows.q == nullptr)
            quantize_blocks(x_shared, p, x, x_row, s0 * 8);
        else
            fetch_block(x_shared, p, rows, x_row, s0 * 8);
        copies_wait();
        barrier();
        float value = 0;
        const bool busy = at.row < at.n_left && s0 + at.segment < p.segments;
        if (busy)
            value = segment_value<F>(hold<Q_SEGMENT_BYTES<F>>(to + at.segment * Q_SEGMENT_BYTES<F>),
                                     x_shared + at.segment * Q_X_WORDS);
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

#define ISOBIT_Q_VECTOR_INT(NAME, F, SEGMENTS)                                                                         \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128)                                                                                          \
    NAME(const QProduct p, const u8 *w, const void *x, const EightBitRows rows, const u32 *ids, u64 *fault,            \
         u32 first_row, void *y) {                                                                                     \
        q_vector_int<F, SEGMENTS>(p, w, x, rows, ids, fault, first_row, y);                                            \
    }                                                                                                                  \
    }
