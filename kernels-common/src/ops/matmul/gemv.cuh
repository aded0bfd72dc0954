// Matrix products if one side is short: a thread computes R rows of one column of the results. If
// there are too few results to fill the GPU, each segment of k of a result has its own thread.
#pragma once

#include "ops/matmul/product.cuh"

namespace isobit {

ISOBIT_CONST u32 THIN_BLOCK = 128;

// Four neighbours along k.
template <typename E>
ISOBIT_CONST u32 THIN_AT_ONCE = sizeof(E) > 4 ? 2 : 4;

// `of_a` and `of_b` widen elements. `add(i, segment, value, sum)` is the sum of row `i` with the
// value of a segment of at most SEGMENT elements of k, and `store(i, sum)` stores a row's result,
// or the value of the block's only segment.
template <u32 SEGMENT, u32 R, typename C, typename E, typename OfA, typename OfB, typename Add, typename Store>
ISOBIT_FN void thin_product(const E *a, const E *b, const Product &p, const ProductBlock &block, const OfA &of_a,
                            const OfB &of_b, const Add &add, const Store &store) {
    // Elements of k in flight at once.
    constexpr u32 DEPTH = 8, AT_ONCE = THIN_AT_ONCE<E>;
    const u32 col = block.n_tile * THIN_BLOCK + thread_x();
    const u32 row = block.m_tile * R;
    if (col >= p.n)
        return;
    const u64 k0 = (u64)block.segment * SEGMENT;
    const u64 k_end = p.segments.size > 1 && p.k - k0 > SEGMENT ? k0 + SEGMENT : p.k;
    a += row * p.a_row;
    b += col * p.b_col;
    const u32 rows = p.m - row < R ? p.m - row : R;

    C sum[R];
#pragma unroll
    for (u32 i = 0; i < R; i++)
        sum[i] = nothing<C>();
#pragma unroll 1
    for (u64 at = k0; at < k_end; at += SEGMENT) {
        const u32 length = k_end - at < SEGMENT ? (u32)(k_end - at) : SEGMENT;
        C segment[R];
#pragma unroll
        for (u32 i = 0; i < R; i++)
            segment[i] = 0;
        u32 l = 0;
#pragma unroll 1
        for (; l + DEPTH <= length; l += DEPTH) {
            C v[DEPTH];
            const E *from = b + (at + l) * p.b_row;
            if ((p.b_vectors & 1) != 0) {
#pragma unroll
                for (u32 d = 0; d < DEPTH; d += AT_ONCE) {
                    const Pack<AT_ONCE, E> x = load<AT_ONCE>(from + d);
#pragma unroll
                    for (u32 e = 0; e < AT_ONCE; e++)
                        v[d + e] = of_b(x.v[e]);
                }
            } else {
#pragma unroll
                for (u32 d = 0; d < DEPTH; d++)
                    v[d] = of_b(from[d * p.b_row]);
            }
#pragma unroll
            for (u32 i = 0; i < R; i++)
                if (i < rows) {
                    const E *u = a + i * p.a_row + (at + l) * p.a_col;
#pragma unroll
                    for (u32 d = 0; d < DEPTH; d++)
                        segment[i] = fma(of_a(u[d * p.a_col]), v[d], segment[i]);
                }
        }
#pragma unroll 1
        for (; l < length; l++) {
            const C v = of_b(b[(at + l) * p.b_row]);
#pragma unroll
            for (u32 i = 0; i < R; i++)
                if (i < rows)
                    segment[i] = fma(of_a(a[i * p.a_row + (at + l) * p.a_col]), v, segment[i]);
        }
#pragma unroll
        for (u32 i = 0; i < R; i++)
            if (i < rows)
                sum[i] = add(i, (u32)(at / SEGMENT), segment[i], sum[i]);
    }
#pragma unroll
    for (u32 i = 0; i < R; i++)
        if (i < rows)
            store(i, sum[i]);
}

// The sum of the segments of a result, whose values are `partial`. `add(segment, value, sum)` is as
// above.
template <typename C, typename Add>
ISOBIT_FN C segments_sum(const C *partial, const Product &p, const ProductBlock &block, u32 row, u32 col, u32 segments,
                         const Add &add) {
    const C *from = partial + ((u64)block.batch * segments * p.m + row) * p.n + col;
    C sum = nothing<C>();
#pragma unroll 4
    for (u32 s = 0; s < segments; s++)
        sum = add(s, from[(u64)s * p.m * p.n], sum);
    return sum;
}

} // namespace isobit
