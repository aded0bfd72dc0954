// Products of matrices of integers that are several signed bytes long: balanced digits, one plane
// per digit, the highest first. Uses the integer matrix unit if every compiler can reach it on
// the target (NVIDIA sm_80 and newer), else dot products of four; both give the same integers.
//
// A *fragment* is 16 lines (rows of `a`, columns of `b`) by 32 of k. A plane of it takes 512
// bytes in the order in which the lanes of a team hold them for the unit, so that a lane reads
// what it needs with one access, in registers that follow each other: lane 4 r + q has four words
// of four digits, of lines r and r + 8, at 4 q and at 16 + 4 q of k. Of `a` both lines at 4 q
// come first, of `b` both words of line r. With one order for both, the unit's factors of `b` are
// not neighbours, and there are two moves per product: 102 TFLOP/s for bf16 at 8192^3 on an H200
// instead of 126.
#pragma once

#include "device_lib/int_tile.cuh"

namespace isobit {

#if defined(ISOBIT_INT_MMA)
ISOBIT_CONST bool HAS_DIGIT_UNIT = true;
#else
ISOBIT_CONST bool HAS_DIGIT_UNIT = false;
#endif

// Lines and elements of k of a fragment, and bytes of one plane of it.
ISOBIT_CONST u32 FRAGMENT_LINES = 16, FRAGMENT_K = 32, FRAGMENT_BYTES = FRAGMENT_LINES * FRAGMENT_K;

// The sums of products of digits whose weights add up to each power of 256, for one result.
template <u32 PLANES>
ISOBIT_CONST u32 WEIGHTS = 2 * PLANES - 1;

// Sums of products of 16 M lines of `a` and 16 N lines of `b` over 32 of k: those of 16 x 8
// results are in sum[i][j], four per lane in the places of int_tile.cuh. If FIRST, the sums begin
// here. `a` and `b` are in shared memory; neighbouring groups of 16 lines are `pitch` bytes
// apart. All lanes of a team must call it together.
template <u32 PLANES, bool FIRST, u32 M, u32 N>
ISOBIT_FN void multiply_digits(i32 (&sum)[M][2 * N][WEIGHTS<PLANES>][4], const u8 *a, const u8 *b, u32 pitch,
                               u32 thread) {
#if defined(ISOBIT_INT_MMA)
    const u32 lane = thread % TILE_TEAM * 16;
    Pack<4, u32> column[N][PLANES];
#pragma unroll
    for (u32 j = 0; j < N; j++)
#pragma unroll
        for (u32 q = 0; q < PLANES; q++)
            column[j][q] = load<4>((const u32 *)(b + j * pitch + q * FRAGMENT_BYTES + lane));
    // Products that follow each other add to different sums, because each takes several cycles.
#pragma unroll
    for (u32 p = 0; p < PLANES; p++) {
        Pack<4, u32> row[M];
#pragma unroll
        for (u32 i = 0; i < M; i++)
            row[i] = load<4>((const u32 *)(a + i * pitch + p * FRAGMENT_BYTES + lane));
#pragma unroll
        for (u32 q = 0; q < PLANES; q++)
#pragma unroll
            for (u32 i = 0; i < M; i++)
#pragma unroll
                for (u32 j = 0; j < 2 * N; j++) {
                    const u32 w = p + q;
                    // The first product of a weight has the lowest p.
                    const bool first = FIRST && p == (w < PLANES ? 0 : w + 1 - PLANES);
                    const u32(&x)[4] = row[i].v;
                    const u32 y[2] = {column[j / 2][q].v[j % 2 * 2], column[j / 2][q].v[j % 2 * 2 + 1]};
                    if (first)
                        int_tile_detail::multiply(sum[i][j][w], 0, x, y);
                    else
                        int_tile_detail::multiply_add(sum[i][j][w], x, y);
                }
    }
#else
    if constexpr (FIRST) {
#pragma unroll
        for (u32 i = 0; i < M; i++)
#pragma unroll
            for (u32 j = 0; j < 2 * N; j++)
#pragma unroll
                for (u32 e = 0; e < 4; e++)
#pragma unroll
                    for (u32 w = 0; w < WEIGHTS<PLANES>; w++)
                        sum[i][j][w][e] = 0;
    }
    const u32 line = tile_row(thread), column = tile_column(thread);
#pragma unroll 1
    for (u32 quad = 0; quad < 4; quad++)
#pragma unroll
        for (u32 i = 0; i < M; i++) {
            Pack<4, u32> row[PLANES];
#pragma unroll
            for (u32 p = 0; p < PLANES; p++)
                row[p] = load<4>((const u32 *)(a + i * pitch + p * FRAGMENT_BYTES + (line * 4 + quad) * 16));
#pragma unroll
            for (u32 j = 0; j < N; j++)
#pragma unroll
                for (u32 c = 0; c < 2; c++)
#pragma unroll
                    for (u32 q = 0; q < PLANES; q++) {
                        const Pack<4, u32> col = load<4>(
                            (const u32 *)(b + j * pitch + q * FRAGMENT_BYTES + ((column + c) * 4 + quad) * 16));
#pragma unroll
                        for (u32 p = 0; p < PLANES; p++)
#pragma unroll
                            for (u32 r = 0; r < 2; r++)
#pragma unroll
                                for (u32 h = 0; h < 2; h++) {
                                    i32 &s = sum[i][2 * j + h][p + q][r * 2 + c];
                                    s = dot4(dot4(s, row[p].v[r], col.v[h * 2]), row[p].v[r + 2], col.v[h * 2 + 1]);
                                }
                    }
        }
#endif
}

} // namespace isobit
