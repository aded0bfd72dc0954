// The tiles of tile.cuh on AMD's matrix units: four waves of 64 x 32 results each. A lane keeps the
// values of the current segment and the sums of earlier ones in registers, of which a wave has
// twice as many for its sums as other targets. At 32 x 32 (f32) or 16 x 16 results (f64) per unit,
// the reads of shared memory take less than half of the cycles in which the units are busy.
#pragma once

#include "device_lib/fma_unit.cuh"
#include "ops/matmul/tile.cuh"

namespace isobit {

// A block's units: waves along m, and units of a wave.
template <typename C>
struct WaveTile {
    static constexpr u32 SIDE = WaveUnit<C>::SIDE, LANES = SIDE * WaveUnit<C>::K;
    static constexpr u32 WAVES_M = 2, WAVES_N = TILE_BLOCK / LANES / WAVES_M;
    static constexpr u32 M = TILE_M / WAVES_M / SIDE, N = TILE_N / WAVES_N / SIDE, SUMS = WaveUnit<C>::SUMS;
};

// The results of a lane: the row and column of sum `e` of its units `i`, `j` in the tile.
template <typename C>
struct WaveResults {
    using Tile = WaveTile<C>;
    WavePlace at;
    u32 m, n;

    ISOBIT_FN u32 row(const WaveResults &of, u32 i, u32 e) { return of.m + i * Tile::SIDE + wave_row<C>(of.at, e); }
    ISOBIT_FN u32 col(const WaveResults &of, u32 j) { return of.n + j * Tile::SIDE + of.at.side; }
};
template <typename C>
ISOBIT_FN WaveResults<C> wave_results() {
    using Tile = WaveTile<C>;
    const WavePlace at = wave_place<C>();
    return WaveResults<C>{at, at.wave % Tile::WAVES_M * (Tile::M * Tile::SIDE),
                          at.wave / Tile::WAVES_M * (Tile::N * Tile::SIDE)};
}

// A lane's results, or the values of their segments.
template <typename C>
using WaveTileSums = WaveSums<C>[WaveTile<C>::M][WaveTile<C>::N];

// The sums of a lane's results over `k` products, by the `fetch` and `keep` of `for_each_tile`.
// `end(sum, segment)` adds the values of a segment to the sums.
template <u32 SEGMENT, typename C, typename Fetch, typename Keep, typename End>
ISOBIT_FN void wave_product(WaveTileSums<C> &sum, C *shared, const WaveResults<C> &results, u64 k, const Fetch &fetch,
                            const Keep &keep, const End &end) {
    using Tile = WaveTile<C>;
    constexpr u32 A_PITCH = TILE_M + TILE_PAD, B_PITCH = TILE_N + TILE_PAD;
    WaveSums<C> segment[Tile::M][Tile::N];
    const auto begin_segment = [&] {
#pragma unroll
        for (u32 i = 0; i < Tile::M; i++)
#pragma unroll
            for (u32 j = 0; j < Tile::N; j++)
#pragma unroll
                for (u32 e = 0; e < Tile::SUMS; e++)
                    segment[i][j][e] = 0;
    };
#pragma unroll
    for (u32 i = 0; i < Tile::M; i++)
#pragma unroll
        for (u32 j = 0; j < Tile::N; j++)
#pragma unroll
            for (u32 e = 0; e < Tile::SUMS; e++)
                sum[i][j][e] = nothing<C>();
    begin_segment();
    const auto add = [&](const C *a_tile, const C *b_tile) {
        a_tile += results.at.k * A_PITCH + results.m + results.at.side;
        b_tile += results.at.k * B_PITCH + results.n + results.at.side;
#pragma unroll
        for (u32 kk = 0; kk < TILE_K<C>; kk += WaveUnit<C>::K) {
            C u[Tile::M], v[Tile::N];
#pragma unroll
            for (u32 i = 0; i < Tile::M; i++)
                u[i] = a_tile[kk * A_PITCH + i * Tile::SIDE];
#pragma unroll
            for (u32 j = 0; j < Tile::N; j++)
                v[j] = b_tile[kk * B_PITCH + j * Tile::SIDE];
#pragma unroll
            for (u32 i = 0; i < Tile::M; i++)
#pragma unroll
                for (u32 j = 0; j < Tile::N; j++)
                    unit_fma(segment[i][j], u[i], v[j]);
        }
    };
    const auto end_segment = [&] {
        end(sum, segment);
        begin_segment();
    };
    for_each_tile<SEGMENT>(shared, k, fetch, keep, add, end_segment);
}

// The same, of segments that are added as they are.
template <typename C, typename Fetch, typename Keep>
ISOBIT_FN void wave_product(WaveSums<C> (&sum)[WaveTile<C>::M][WaveTile<C>::N], C *shared,
                            const WaveResults<C> &results, u64 k, const Fetch &fetch, const Keep &keep) {
    using Tile = WaveTile<C>;
    const auto end = [](WaveTileSums<C> &sum, const WaveTileSums<C> &segment) {
#pragma unroll
        for (u32 i = 0; i < Tile::M; i++)
#pragma unroll
            for (u32 j = 0; j < Tile::N; j++)
#pragma unroll
                for (u32 e = 0; e < Tile::SUMS; e++)
                    sum[i][j][e] = sum[i][j][e] + segment[i][j][e];
    };
    wave_product<PRODUCT_SEGMENT>(sum, shared, results, k, fetch, keep, end);
}

} // namespace isobit
