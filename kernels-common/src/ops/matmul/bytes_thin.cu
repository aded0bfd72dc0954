// Products of a row of bytes with zero points, by dot products of four bytes: a thread has a
// column. Sums wrap, so any order gives the same bits. Of two rows and more, tiles are faster even
// if most of them stay empty: 8 rows by 4096 x 4096 took 100 to 250 us in this way on an H100, and
// 64 rows 21 to 65 in tiles.
#include "ops/matmul/bytes.cuh"

namespace isobit {

ISOBIT_CONST u32 BYTES_THIN_BLOCK = 128;

struct ThinSums {
    i32 products, a, b;
};

// Four bytes of a line from `from` on.
ISOBIT_FN u32 thin_word(const u8 *from, u64 stride, u64 left, bool vectors, u32 flip) {
    return (vectors && left >= 4 ? *(const u32 *)from : word_of(from, stride, left, flip)) ^ flip;
}

// Adds the products of WORDS words along k, which are loaded before they are used.
template <u32 WORDS>
ISOBIT_FN void add_words(ThinSums &sums, const u8 *a, const u8 *b, u64 left, const Product &p, const Bytes &q) {
    u32 v[WORDS];
#pragma unroll
    for (u32 w = 0; w < WORDS; w++)
        v[w] = thin_word(b + 4 * w * p.b_row, p.b_row, left - 4 * w, (p.b_vectors & 1) != 0, q.b_flip);
#pragma unroll
    for (u32 w = 0; w < WORDS; w++) {
        const u32 u = thin_word(a + 4 * w * p.a_col, p.a_col, left - 4 * w, (p.a_vectors & 1) != 0, q.a_flip);
        sums.products = dot4(sums.products, u, v[w]);
        sums.a = sum4(sums.a, u);
        sums.b = sum4(sums.b, v[w]);
    }
}

ISOBIT_FN void bytes_thin(const u8 *a, const u8 *b, u32 *c, u32 *partial, const u8 *a_zeros, const u8 *b_zeros,
                          const Product &p, const Bytes &q) {
    const ProductBlock block = product_block(p);
    const u32 col = block.n_tile * BYTES_THIN_BLOCK + thread_x(), row = block.m_tile;
    if (col >= p.n)
        return;
    const u64 k0 = (u64)block.segment * PRODUCT_SEGMENT;
    const u64 k = p.segments.size > 1 && p.k - k0 > PRODUCT_SEGMENT ? PRODUCT_SEGMENT : p.k - k0;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    a += batch.at[0] + row * p.a_row + k0 * p.a_col;
    b += batch.at[1] + col * p.b_col + k0 * p.b_row;

    ThinSums sums{0, 0, 0};
    // Words in flight at once.
    constexpr u32 WORDS = 4;
    u64 at = 0;
#pragma unroll 1
    for (; at + 4 * WORDS <= k; at += 4 * WORDS)
        add_words<WORDS>(sums, a + at * p.a_col, b + at * p.b_row, k - at, p, q);
#pragma unroll 1
    for (; at < k; at += 4)
        add_words<1>(sums, a + at * p.a_col, b + at * p.b_row, k - at, p, q);
    const u32 a_zero = zero_point(a_zeros, q, 0, row * q.a_zero_stride);
    const u32 b_zero = zero_point(b_zeros, q, 1, col * q.b_zero_stride);
    const u32 result = with_zeros((u32)sums.products, (u32)sums.a, (u32)sums.b, a_zero, b_zero, k);
    if (p.segments.size > 1)
        *partial_place(p, partial, block, row, col) = result;
    else
        c[batch.at[2] + row * p.c_row + col * p.c_col] = result;
}

} // namespace isobit

#define ISOBIT_MATMUL_BYTES_THIN(NAME)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128)                                                                                                 \
    NAME(const u8 *a, const u8 *b, u32 *c, u32 *partial, const u8 *a_zeros, const u8 *b_zeros, const Product p,        \
         const Bytes q) {                                                                                              \
        bytes_thin(a, b, c, partial, a_zeros, b_zeros, p, q);                                                          \
    }                                                                                                                  \
    }
