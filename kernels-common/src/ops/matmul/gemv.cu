// The matrix product if one side is short.
#include "ops/matmul/gemv.cuh"

namespace isobit {

template <typename T, u32 R>
ISOBIT_FN void matmul_thin(const T *a, const T *b, T *c, compute_t<T> *partial, const Product &p) {
    using C = compute_t<T>;
    const ProductBlock block = product_block(p);
    const u32 col = block.n_tile * THIN_BLOCK + thread_x(), row = block.m_tile * R;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    const auto widen = [](T x) { return to_compute(x); };
    const auto add = [](u32, u32, C segment, C sum) { return sum + segment; };
    const auto store = [&](u32 i, C sum) {
        if (p.segments.size > 1)
            *partial_place(p, partial, block, row + i, col) = sum;
        else
            c[batch.at[2] + (row + i) * p.c_row + col * p.c_col] = from_compute<T>(sum);
    };
    thin_product<PRODUCT_SEGMENT, R, C>(a + batch.at[0], b + batch.at[1], p, block, widen, widen, add, store);
}

// Adds the segments of each result. `n_tiles` counts strips of a row, `m_tiles` counts rows.
template <typename T>
ISOBIT_FN void matmul_segments(T *c, const compute_t<T> *partial, const Product &p, u32 segments) {
    using C = compute_t<T>;
    const ProductBlock block = product_block(p);
    const u32 row = block.m_tile, col = block.n_tile * THIN_BLOCK + thread_x();
    if (col >= p.n)
        return;
    const auto add = [](u32, C segment, C sum) { return sum + segment; };
    const C sum = segments_sum(partial, p, block, row, col, segments, add);
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
