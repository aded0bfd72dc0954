// Products of f64 on matrix units with the bits of fma(): tiles of 64 x 64 results per block of
// four warps, 32 x 32 per warp. Tiles of the factors pass through shared memory by asynchronous
// copies. A thread keeps the values of the current segment in registers, and the sums of earlier
// ones in shared memory: both in registers leave room for one block less per multiprocessor.
#pragma once

#include "device_lib/async_copy.cuh"
#include "device_lib/fma_unit.cuh"
#include "ops/matmul/segments.cuh"

namespace isobit {

ISOBIT_CONST u32 UNIT_TILE = 64, UNIT_BLOCK = 128, UNIT_STAGES = 2;
// Products along k per stage.
ISOBIT_CONST u32 UNIT_TILE_K = 16;
// Results of a warp in units, and warps along m.
ISOBIT_CONST u32 UNITS_M = 2, UNITS_N = 4, UNIT_WARPS_M = 2;

// A tile of an operand, whose rows run along k or along the other side. With four more elements per
// row, the factors that half a warp reads are in different banks.
template <bool ALONG_K>
struct UnitRows {
    static constexpr u32 PITCH = (ALONG_K ? UNIT_TILE_K : UNIT_TILE) + 4;
    static constexpr u32 SIZE = (ALONG_K ? UNIT_TILE : UNIT_TILE_K) * PITCH;

    ISOBIT_FN u32 place(u32 side, u32 k) { return ALONG_K ? side * PITCH + k : k * PITCH + side; }
};

// The results of a thread: the row and column of result `l` of its units `i`, `j` in the tile.
// Results 0 and 1, and so 2 and 3, are neighbours in a row.
struct UnitResults {
    UnitPlace at;
    u32 m, n;

    ISOBIT_FN u32 row(const UnitResults &of, u32 i, u32 l) { return of.m + of.at.side + i * UNIT_M + l / 2 * 8; }
    ISOBIT_FN u32 col(const UnitResults &of, u32 j, u32 l) { return of.n + of.at.k * 2 + j * UNIT_N + l % 2; }
};
ISOBIT_FN UnitResults unit_results() {
    const UnitPlace at = unit_place();
    return UnitResults{at, at.warp % UNIT_WARPS_M * (UNITS_M * UNIT_M), at.warp / UNIT_WARPS_M * (UNITS_N * UNIT_N)};
}

// Doubles of shared memory for two stages of the tiles of both operands, and the sums.
template <typename A, typename B>
ISOBIT_CONST u32 UNIT_SHARED = UNIT_STAGES *(A::SIZE + B::SIZE) + UNIT_TILE * UNIT_TILE;

// The sums of a thread's results over `steps` tiles along k; of no tiles, +0. `start(step, a, b)`
// starts the copies of the tiles of a step; all threads of the block call it together. Beyond k the
// factors must be -0 and +0, whose product changes nothing.
template <typename A, typename B, typename Start>
ISOBIT_FN void unit_product(double (&sum)[UNITS_M][UNITS_N][4], double *shared, const UnitResults &results, u32 steps,
                            const Start &start) {
    const auto start_next = [&](u32 step) {
        if (step < steps) {
            double *tile = shared + step % UNIT_STAGES * (A::SIZE + B::SIZE);
            start(step, tile, tile + A::SIZE);
        }
        copies_commit();
    };
#pragma unroll
    for (u32 step = 0; step < UNIT_STAGES - 1; step++)
        start_next(step);

    const UnitPlace &at = results.at;
    const u32 m = results.m + at.side, n = results.n + at.side;
    double *sums = shared + UNIT_STAGES * (A::SIZE + B::SIZE) + thread_x();
#pragma unroll
    for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
        for (u32 j = 0; j < UNITS_N; j++)
#pragma unroll
            for (u32 l = 0; l < 4; l++)
                sum[i][j][l] = 0;
#pragma unroll 1
    for (u32 step = 0; step < steps; step++) {
        copies_wait_but<UNIT_STAGES - 2>();
        barrier();
        // Into the tiles that all threads have used before the barrier.
        start_next(step + UNIT_STAGES - 1);
        const double *a_tile = shared + step % UNIT_STAGES * (A::SIZE + B::SIZE);
        const double *b_tile = a_tile + A::SIZE;
#pragma unroll
        for (u32 kk = 0; kk < UNIT_TILE_K; kk += UNIT_K) {
            double u[UNITS_M][2], v[UNITS_N];
#pragma unroll
            for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
                for (u32 l = 0; l < 2; l++)
                    u[i][l] = a_tile[A::place(m + i * UNIT_M + l * 8, kk + at.k)];
#pragma unroll
            for (u32 j = 0; j < UNITS_N; j++)
                v[j] = b_tile[B::place(n + j * UNIT_N, kk + at.k)];
#pragma unroll
            for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
                for (u32 j = 0; j < UNITS_N; j++)
                    unit_fma(sum[i][j], u[i], v[j]);
        }
        const bool last = step + 1 == steps;
        if (!last && (step + 1) % (PRODUCT_SEGMENT / UNIT_TILE_K) != 0)
            continue;
        const bool first = step < PRODUCT_SEGMENT / UNIT_TILE_K;
#pragma unroll
        for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
            for (u32 j = 0; j < UNITS_N; j++)
#pragma unroll
                for (u32 l = 0; l < 4; l++) {
                    double *before = sums + ((i * UNITS_N + j) * 4 + l) * UNIT_BLOCK;
                    const double value = (first ? nothing<double>() : *before) + sum[i][j][l];
                    sum[i][j][l] = last ? value : 0;
                    if (!last)
                        *before = value;
                }
    }
}

} // namespace isobit
