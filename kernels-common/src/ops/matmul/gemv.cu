// The matrix product if one side is short: a thread computes R rows of one column of the results.
// If there are too few results to fill the GPU, each segment of k of a result has its own thread.
#include "ops/matmul/product.cuh"

namespace isobit {

ISOBIT_CONST u32 THIN_BLOCK = 128;

template <typename T, u32 R>
ISOBIT_FN void matmul_thin(const T *a, const T *b, T *c, compute_t<T> *partial, const Product &p) {
    using C = compute_t<T>;
    // Elements of k in flight at once, in vectors of four.
    constexpr u32 DEPTH = 8, AT_ONCE = sizeof(T) > 4 ? 2 : 4;
    const ProductBlock block = product_block(p);
    const u32 col = block.n_tile * THIN_BLOCK + thread_x();
    const u32 row = block.m_tile * R;
    if (col >= p.n)
        return;
    const u64 k0 = (u64)block.segment * PRODUCT_SEGMENT;
    const u64 k_end = p.segments.size > 1 && p.k - k0 > PRODUCT_SEGMENT ? k0 + PRODUCT_SEGMENT : p.k;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    a += batch.at[0] + row * p.a_row;
    b += batch.at[1] + col * p.b_col;
    const u32 rows = p.m - row < R ? p.m - row : R;

    C sum[R];
#pragma unroll
    for (u32 i = 0; i < R; i++)
        sum[i] = nothing<C>();
#pragma unroll 1
    for (u64 at = k0; at < k_end; at += PRODUCT_SEGMENT) {
        const u32 length = k_end - at < PRODUCT_SEGMENT ? (u32)(k_end - at) : PRODUCT_SEGMENT;
        C segment[R];
#pragma unroll
        for (u32 i = 0; i < R; i++)
            segment[i] = 0;
        u32 l = 0;
#pragma unroll 1
        for (; l + DEPTH <= length; l += DEPTH) {
            C v[DEPTH];
            const T *from = b + (at + l) * p.b_row;
            if ((p.b_vectors & 1) != 0) {
#pragma unroll
                for (u32 d = 0; d < DEPTH; d += AT_ONCE) {
                    const Pack<AT_ONCE, T> x = load<AT_ONCE>(from + d);
#pragma unroll
                    for (u32 e = 0; e < AT_ONCE; e++)
                        v[d + e] = to_compute(x.v[e]);
                }
            } else {
#pragma unroll
                for (u32 d = 0; d < DEPTH; d++)
                    v[d] = to_compute(from[d * p.b_row]);
            }
#pragma unroll
            for (u32 i = 0; i < R; i++)
                if (i < rows) {
                    const T *u = a + i * p.a_row + (at + l) * p.a_col;
#pragma unroll
                    for (u32 d = 0; d < DEPTH; d++)
                        segment[i] = fma(to_compute(u[d * p.a_col]), v[d], segment[i]);
                }
        }
#pragma unroll 1
        for (; l < length; l++) {
            const C v = to_compute(b[(at + l) * p.b_row]);
#pragma unroll
            for (u32 i = 0; i < R; i++)
                if (i < rows)
                    segment[i] = fma(to_compute(a[i * p.a_row + (at + l) * p.a_col]), v, segment[i]);
        }
#pragma unroll
        for (u32 i = 0; i < R; i++)
            sum[i] = sum[i] + segment[i];
    }
#pragma unroll
    for (u32 i = 0; i < R; i++)
        if (i < rows) {
            if (p.segments.size > 1)
                *partial_place(p, partial, block, row + i, col) = sum[i];
            else
                c[batch.at[2] + (row + i) * p.c_row + col * p.c_col] = from_compute<T>(sum[i]);
        }
}

// Adds the segments of each result. `n_tiles` counts strips of a row, `m_tiles` counts rows.
template <typename T>
ISOBIT_FN void matmul_segments(T *c, const compute_t<T> *partial, const Product &p, u32 segments) {
    using C = compute_t<T>;
    const ProductBlock block = product_block(p);
    const u32 row = block.m_tile, col = block.n_tile * THIN_BLOCK + thread_x();
    if (col >= p.n)
        return;
    const C *from = partial + ((u64)block.batch * segments * p.m + row) * p.n + col;
    C sum = nothing<C>();
#pragma unroll 4
    for (u32 s = 0; s < segments; s++)
        sum = sum + from[(u64)s * p.m * p.n];
    c[offsets_of(p.batch, block.batch).at[2] + row * p.c_row + col * p.c_col] = from_compute<T>(sum);
}

} // namespace isobit

#define ISOBIT_MATMUL_THIN(NAME, T, R)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128) NAME(const T *a, const T *b, T *c, compute_t<T> *partial, const Product p) {                    \
        matmul_thin<T, R>(a, b, c, partial, p);                                                                        \
    }                                                                                                                  \
    }
#define ISOBIT_MATMUL_SEGMENTS(NAME, T)                                                                                \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128) NAME(T *c, const compute_t<T> *partial, const Product p, u32 segments) {                        \
        matmul_segments(c, partial, p, segments);                                                                      \
    }                                                                                                                  \
    }
