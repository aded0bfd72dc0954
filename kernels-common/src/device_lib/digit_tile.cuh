// Products of matrices of integers that are several signed bytes long: balanced digits, one plane
// per digit, the highest first. Uses the integer matrix unit if every compiler can reach it on
// the target (NVIDIA sm_80 and newer), else dot products of four; both give the same integers.
//
// A *chunk* is 8 lines (rows of `a`, columns of `b`) by 16 of k of one plane: 16 bytes of each
// line, one line after the other. That is what NVIDIA calls a core matrix: ldmatrix and wgmma read
// it without conflicts, and lanes of other units read whole lines of it. Two neighbouring chunks
// along k are one step of this file.
#pragma once

#include "device_lib/int_tile.cuh"

namespace isobit {

#if defined(ISOBIT_INT_MMA)
ISOBIT_CONST bool HAS_DIGIT_UNIT = true;
#else
ISOBIT_CONST bool HAS_DIGIT_UNIT = false;
#endif

// Lines and elements of k of a chunk, its bytes, and elements of k of a step.
ISOBIT_CONST u32 CHUNK_LINES = 8, CHUNK_K = 16, CHUNK_BYTES = CHUNK_LINES * CHUNK_K, STEP_K = 2 * CHUNK_K;

// The sums of products of digits whose weights add up to each power of 256, for one result.
template <u32 PLANES>
ISOBIT_CONST u32 WEIGHTS = 2 * PLANES - 1;

#if defined(ISOBIT_INT_MMA)
// Four chunks in shared memory as the unit takes them. Each lane gives the address of one line.
ISOBIT_FN Pack<4, u32> load_chunks(const u8 *line) {
    Pack<4, u32> x;
    asm volatile("{ .reg .u64 s; .reg .u32 p; cvta.to.shared.u64 s, %4; cvt.u32.u64 p, s; "
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [p]; }"
                 : "=r"(x.v[0]), "=r"(x.v[1]), "=r"(x.v[2]), "=r"(x.v[3])
                 : "l"(line)
                 : "memory");
    return x;
}
#endif

// Sums of products of 16 M lines of `a` and 16 N lines of `b` over a step of k: those of 16 x 8
// results are in sum[i][j], four per lane in the places of int_tile.cuh. If FIRST, the sums begin
// here. `a` and `b` are in shared memory; neighbouring groups of 8 lines are `GROUP` bytes apart,
// planes `PLANE`. All lanes of a team must call it together.
template <u32 PLANES, bool FIRST, u32 M, u32 N, u32 GROUP, u32 PLANE>
ISOBIT_FN void multiply_digits(i32 (&sum)[M][2 * N][WEIGHTS<PLANES>][4], const u8 *a, const u8 *b, u32 thread) {
#if defined(ISOBIT_INT_MMA)
    const u32 line = thread % 8 * CHUNK_K, first = thread / 8 % 2, second = thread / 16 % 2;
    // The unit takes both groups of lines of `a` first, and both chunks of a group of `b`.
    const u8 *row_at = a + line + first * GROUP + second * CHUNK_BYTES;
    const u8 *column_at = b + line + first * CHUNK_BYTES + second * GROUP;
    Pack<4, u32> column[N][PLANES];
#pragma unroll
    for (u32 j = 0; j < N; j++)
#pragma unroll
        for (u32 q = 0; q < PLANES; q++)
            column[j][q] = load_chunks(column_at + j * 2 * GROUP + q * PLANE);
    // Products that follow each other add to different sums, because each takes several cycles.
#pragma unroll
    for (u32 p = 0; p < PLANES; p++) {
        Pack<4, u32> row[M];
#pragma unroll
        for (u32 i = 0; i < M; i++)
            row[i] = load_chunks(row_at + i * 2 * GROUP + p * PLANE);
#pragma unroll
        for (u32 q = 0; q < PLANES; q++)
#pragma unroll
            for (u32 i = 0; i < M; i++)
#pragma unroll
                for (u32 j = 0; j < 2 * N; j++) {
                    const u32 w = p + q;
                    // The first product of a weight has the lowest p.
                    const bool begins = FIRST && p == (w < PLANES ? 0 : w + 1 - PLANES);
                    const u32(&x)[4] = row[i].v;
                    const u32 y[2] = {column[j / 2][q].v[j % 2 * 2], column[j / 2][q].v[j % 2 * 2 + 1]};
                    if (begins)
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
    const u32 line = tile_row(thread) * CHUNK_K, column = tile_column(thread) * CHUNK_K;
#pragma unroll 1
    for (u32 chunk = 0; chunk < STEP_K / CHUNK_K; chunk++)
#pragma unroll
        for (u32 i = 0; i < 2 * M; i++) {
            Pack<4, u32> row[PLANES];
#pragma unroll
            for (u32 p = 0; p < PLANES; p++)
                row[p] = load<4>((const u32 *)(a + i * GROUP + p * PLANE + chunk * CHUNK_BYTES + line));
#pragma unroll
            for (u32 j = 0; j < 2 * N; j++)
#pragma unroll
                for (u32 c = 0; c < 2; c++)
#pragma unroll
                    for (u32 q = 0; q < PLANES; q++) {
                        const Pack<4, u32> col = load<4>(
                            (const u32 *)(b + j * GROUP + q * PLANE + chunk * CHUNK_BYTES + column + c * CHUNK_K));
#pragma unroll
                        for (u32 p = 0; p < PLANES; p++) {
                            i32 &s = sum[i / 2][j][p + q][i % 2 * 2 + c];
#pragma unroll
                            for (u32 l = 0; l < 4; l++)
                                s = dot4(s, row[p].v[l], col.v[l]);
                        }
                    }
        }
#endif
}

} // namespace isobit
