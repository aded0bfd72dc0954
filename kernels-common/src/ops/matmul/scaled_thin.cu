// Products of f8 with scales if one side is short, and sums of segments that were computed apart.
#include "ops/matmul/gemv.cuh"
#include "ops/matmul/scaled.cuh"

namespace isobit {

template <typename T, u32 R>
ISOBIT_FN void scaled_thin(const u8 *a, const u8 *b, T *c, float *partial, const float *a_scales, const float *b_scales,
                           const Product &p, const Scaled &q) {
    const ProductBlock block = product_block(p);
    const u32 col = block.n_tile * THIN_BLOCK + thread_x(), row = block.m_tile * R;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    const ScaleMatrices scales = scale_matrices(a_scales, b_scales, q, block.batch);
    const F8 format_a = f8_format(q.is_e5m2[0] != 0), format_b = f8_format(q.is_e5m2[1] != 0);
    const auto of_a = [&](u8 x) { return to_f32(x, format_a); };
    const auto of_b = [&](u8 x) { return to_f32(x, format_b); };
    const auto add = [&](u32 i, u32 segment, float value, float sum) {
        if (p.segments.size > 1)
            return value;
        const float of_row = scale_at(scales.a, q, 0, row + i, segment), of_col = scale_at(scales.b, q, 1, col, segment);
        return add_scaled(sum, value, of_row, of_col);
    };
    const auto store = [&](u32 i, float sum) {
        if (p.segments.size > 1)
            *partial_place(p, partial, block, row + i, col) = sum;
        else
            c[batch.at[2] + (row + i) * p.c_row + col * p.c_col] = from_compute<T>(sum);
    };
    thin_product<SCALED_SEGMENT, R, float>(a + batch.at[0], b + batch.at[1], p, block, of_a, of_b, add, store);
}

// Adds the segments of each result. `n_tiles` counts strips of a row, `m_tiles` counts rows.
template <typename T>
ISOBIT_FN void scaled_segments(T *c, const float *partial, const float *a_scales, const float *b_scales,
                               const Product &p, const Scaled &q, u32 segments) {
    const ProductBlock block = product_block(p);
    const u32 row = block.m_tile, col = block.n_tile * THIN_BLOCK + thread_x();
    if (col >= p.n)
        return;
    const ScaleMatrices scales = scale_matrices(a_scales, b_scales, q, block.batch);
    const auto add = [&](u32 segment, float value, float sum) {
        return add_scaled(sum, value, scale_at(scales.a, q, 0, row, segment), scale_at(scales.b, q, 1, col, segment));
    };
    const float sum = segments_sum(partial, p, block, row, col, segments, add);
    c[offsets_of(p.batch, block.batch).at[2] + row * p.c_row + col * p.c_col] = from_compute<T>(sum);
}

} // namespace isobit

#define ISOBIT_MATMUL_SCALED_THIN(NAME, T, R)                                                                          \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128)                                                                                                 \
    NAME(const u8 *a, const u8 *b, T *c, float *partial, const float *a_scales, const float *b_scales,                 \
         const Product p, const Scaled q) {                                                                            \
        scaled_thin<T, R>(a, b, c, partial, a_scales, b_scales, p, q);                                                 \
    }                                                                                                                  \
    }
#define ISOBIT_MATMUL_SCALED_SEGMENTS(NAME, T)                                                                         \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128)                                                                                                 \
    NAME(T *c, const float *partial, const float *a_scales, const float *b_scales, const Product p, const Scaled q,    \
         u32 segments) {                                                                                               \
        scaled_segments(c, partial, a_scales, b_scales, p, q, segments);                                               \
    }                                                                                                                  \
    }
