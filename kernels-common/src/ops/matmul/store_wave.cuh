// Stores the results of a tile on matrix units.
#pragma once

#include "ops/matmul/product.cuh"
#include "ops/matmul/wave_tile.cuh"

namespace isobit {

// Stores a lane's results: a unit's columns are in neighbouring lanes.
template <typename T>
ISOBIT_FN void store_wave(const WaveSums<compute_t<T>> (&sum)[WaveTile<compute_t<T>>::M][WaveTile<compute_t<T>>::N],
                          const WaveResults<compute_t<T>> &results, T *c, compute_t<T> *partial, const Product &p,
                          const ProductBlock &block) {
    using C = compute_t<T>;
    using Tile = WaveTile<C>;
#pragma unroll
    for (u32 j = 0; j < Tile::N; j++) {
        const u32 col = block.n_tile * TILE_N + WaveResults<C>::col(results, j);
        if (col >= p.n)
            continue;
#pragma unroll
        for (u32 i = 0; i < Tile::M; i++)
#pragma unroll
            for (u32 e = 0; e < Tile::SUMS; e++) {
                const u32 row = block.m_tile * TILE_M + WaveResults<C>::row(results, i, e);
                if (row >= p.m)
                    continue;
                if (p.segments.size > 1)
                    *partial_place(p, partial, block, row, col) = sum[i][j][e];
                else
                    c[row * p.c_row + col * p.c_col] = from_compute<T>(sum[i][j][e]);
            }
    }
}

} // namespace isobit
