// Stores the results of a tile.
#pragma once

#include "ops/matmul/product.cuh"
#include "ops/matmul/tile.cuh"

namespace isobit {

// Stores a thread's results, or the values of its segment.
template <typename T>
ISOBIT_FN void store_tile(const compute_t<T> (&sum)[THREAD_M][THREAD_N], const TilePlace &place, T *c,
                          compute_t<T> *partial, const Product &p, const ProductBlock &block) {
    const u32 col = block.n_tile * TILE_N + TilePlace::col(place, 0);
#pragma unroll
    for (u32 i = 0; i < THREAD_M; i++) {
        const u32 row = block.m_tile * TILE_M + TilePlace::row(place, i);
        if (row >= p.m)
            continue;
        if (p.segments.size > 1) {
#pragma unroll
            for (u32 j = 0; j < THREAD_N; j++)
                if (col + j < p.n)
                    *partial_place(p, partial, block, row, col + j) = sum[i][j];
        } else if (p.c_vectors != 0 && col + 4 <= p.n) {
            constexpr int AT_ONCE = sizeof(T) > 4 ? 2 : 4;
#pragma unroll
            for (int j = 0; j < 4; j += AT_ONCE) {
                Pack<AT_ONCE, T> out;
#pragma unroll
                for (int l = 0; l < AT_ONCE; l++)
                    out.v[l] = from_compute<T>(sum[i][j + l]);
                store(c + row * p.c_row + col + j, out);
            }
        } else {
#pragma unroll
            for (u32 j = 0; j < THREAD_N; j++)
                if (col + j < p.n)
                    c[row * p.c_row + (col + j) * p.c_col] = from_compute<T>(sum[i][j]);
        }
    }
}

} // namespace isobit
