// Shared code of the matrix product kernels: the parameters, and the work of a block.
#pragma once

#include "device_lib/index.cuh"
#include "ops/matmul/segments.cuh"

namespace isobit {

// The host's `Product` in matmul/mod.rs. `a` is m x k, `b` k x n, `c` m x n.
struct Product {
    u32 m;
    u32 n;
    // Segments that this launch computes separately, writing each value to `partial`; 1 if it
    // computes complete results.
    Divisor segments;
    u64 k;
    u64 a_row, a_col;
    u64 b_row, b_col;
    u64 c_row, c_col;
    // Nonzero if four neighbours along k (bit 0), or along m or n (bit 1), can be loaded at once
    // from `a` and from `b`, and if four along n can be stored to `c` (bit 1).
    u32 a_vectors, b_vectors, c_vectors;
    // The number of tiles (or strips) along m and n.
    Divisor m_tiles, n_tiles;
    // Of a, b and c.
    Index<3> batch;
};

// Must match ops/matmul/mod.rs.
static_assert(sizeof(Product) == 416);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Product, segments) == 8 && ISOBIT_OFFSET(Product, k) == 24);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Product, a_vectors) == 80 && ISOBIT_OFFSET(Product, m_tiles) == 92);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Product, batch) == 120);

// The work of a block.
struct ProductBlock {
    u32 m_tile, n_tile, segment, batch;
};

ISOBIT_FN ProductBlock product_block(const Product &p) {
    const u32 block = block_x();
    const u32 row = divide(block, p.n_tiles);
    const u32 rest = divide(row, p.m_tiles);
    const u32 batch = divide(rest, p.segments);
    return ProductBlock{row - rest * p.m_tiles.size, block - row * p.n_tiles.size, rest - batch * p.segments.size,
                        batch};
}

// Where segment `segment` of a result keeps its value until all segments are added.
template <typename C>
ISOBIT_FN C *partial_place(const Product &p, C *partial, const ProductBlock &block, u32 row, u32 col) {
    return partial + (((u64)block.batch * p.segments.size + block.segment) * p.m + row) * p.n + col;
}

} // namespace isobit
