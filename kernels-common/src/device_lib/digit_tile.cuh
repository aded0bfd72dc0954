// Products of matrices of integers that are several signed bytes long: balanced digits, one plane
// per digit, the highest first. Uses the integer matrix unit that the target has, else dot products
// of four. Integer sums are exact, so all give the same result, and a unit needs no test of its
// rounding. No AMD card has run those of AMD.
//
// A *chunk* is 8 lines (rows of `a`, columns of `b`) by 16 of k of one plane: 16 bytes of each
// line, one line after the other. That is what NVIDIA calls a core matrix: ldmatrix and wgmma read
// it without conflicts, and so do lanes of other units that read whole lines. Chunks that follow
// each other along k are a step of this file.
#pragma once

#include "device_lib/int_tile.cuh"

// AMD's units: `v_mfma` of CDNA, and `v_wmma` of RDNA 3 and 4.
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__GFX11__) || defined(__gfx1200__) || defined(__gfx1201__)
#define ISOBIT_WAVE_INT_UNIT
#endif

namespace isobit {

// Lines and elements of k of a chunk, and its bytes.
ISOBIT_CONST u32 CHUNK_LINES = 8, CHUNK_K = 16, CHUNK_BYTES = CHUNK_LINES * CHUNK_K;

// Which results a thread has. Teams of DIGIT_TEAM threads multiply together, in steps of STEP_K
// elements of k. In each 16 x DIGIT_COLUMNS results a thread has those of OWN_ROWS rows, the first
// of them digit_row() and the others ROW_STEP apart, and of OWN_COLUMNS neighbouring columns from
// digit_column() on.
#if defined(__gfx90a__) || defined(__gfx942__)
ISOBIT_CONST u32 DIGIT_TEAM = 64, STEP_K = 64;
ISOBIT_CONST u32 DIGIT_COLUMNS = 16, OWN_ROWS = 4, ROW_STEP = 1, OWN_COLUMNS = 1;
ISOBIT_FN u32 digit_row(u32 thread) { return thread % DIGIT_TEAM / 16 * 4; }
#elif defined(__GFX11__)
// Both halves of a wave have the same elements of k.
ISOBIT_CONST u32 DIGIT_TEAM = 32, STEP_K = 16;
ISOBIT_CONST u32 DIGIT_COLUMNS = 16, OWN_ROWS = 8, ROW_STEP = 2, OWN_COLUMNS = 1;
ISOBIT_FN u32 digit_row(u32 thread) { return thread % DIGIT_TEAM / 16; }
#elif defined(ISOBIT_WAVE_INT_UNIT)
ISOBIT_CONST u32 DIGIT_TEAM = 32, STEP_K = 32;
ISOBIT_CONST u32 DIGIT_COLUMNS = 16, OWN_ROWS = 8, ROW_STEP = 1, OWN_COLUMNS = 1;
ISOBIT_FN u32 digit_row(u32 thread) { return thread % DIGIT_TEAM / 16 * 8; }
#else
ISOBIT_CONST u32 DIGIT_TEAM = TILE_TEAM, STEP_K = 32;
ISOBIT_CONST u32 DIGIT_COLUMNS = 8, OWN_ROWS = 2, ROW_STEP = 8, OWN_COLUMNS = 2;
ISOBIT_FN u32 digit_row(u32 thread) { return tile_row(thread); }
#endif
#if defined(ISOBIT_WAVE_INT_UNIT)
ISOBIT_FN u32 digit_column(u32 thread) { return thread % 16; }
#else
ISOBIT_FN u32 digit_column(u32 thread) { return tile_column(thread); }
#endif

// A thread's results in 16 x DIGIT_COLUMNS, row by row, and how many of these are in 16 x 16 N.
ISOBIT_CONST u32 OWN_RESULTS = OWN_ROWS * OWN_COLUMNS;
template <u32 N>
ISOBIT_CONST u32 DIGIT_PARTS = N * 16 / DIGIT_COLUMNS;
#if defined(ISOBIT_WAVE_INT_UNIT)
// The registers that the unit reads and writes.
using DigitSums = i32 __attribute__((ext_vector_type(OWN_RESULTS)));
#else
using DigitSums = i32[OWN_RESULTS];
#endif

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

#if defined(ISOBIT_WAVE_INT_UNIT)
namespace digit_tile_detail {

// Words of a lane that a product takes. Which elements of k they are does not matter, because a
// lane has those of the same place in `a` and in `b`.
#if defined(__gfx90a__)
ISOBIT_CONST u32 UNIT_WORDS = 1;
ISOBIT_FN DigitSums multiply(const u32 *x, const u32 *y, DigitSums sum) {
    return __builtin_amdgcn_mfma_i32_16x16x16i8((i32)x[0], (i32)y[0], sum, 0, 0, 0);
}
#elif defined(__gfx942__)
ISOBIT_CONST u32 UNIT_WORDS = 2;
ISOBIT_FN DigitSums multiply(const u32 *x, const u32 *y, DigitSums sum) {
    const u64 of_x = (u64)x[1] << 32 | x[0], of_y = (u64)y[1] << 32 | y[0];
    return __builtin_amdgcn_mfma_i32_16x16x32_i8((i64)of_x, (i64)of_y, sum, 0, 0, 0);
}
#else
#if defined(__GFX11__)
ISOBIT_CONST u32 UNIT_WORDS = 4;
#else
ISOBIT_CONST u32 UNIT_WORDS = 2;
#endif
using UnitWords = i32 __attribute__((ext_vector_type(UNIT_WORDS)));
ISOBIT_FN DigitSums multiply(const u32 *x, const u32 *y, DigitSums sum) {
    UnitWords of_x, of_y;
#pragma unroll
    for (u32 w = 0; w < UNIT_WORDS; w++)
        of_x[w] = (i32)x[w], of_y[w] = (i32)y[w];
    // Both factors are signed, and sums may wrap.
#if defined(__GFX11__)
    return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, of_x, true, of_y, sum, false);
#else
    return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, of_x, true, of_y, sum, false);
#endif
}
#endif

} // namespace digit_tile_detail
#endif

// Sums of products of 16 M lines of `a` and 16 N lines of `b` over a step of k. If FIRST, the sums
// begin here. `a` and `b` are in shared memory; neighbouring groups of 8 lines are `GROUP` bytes
// apart, those of `b` `B_GROUP`, planes `PLANE`. All lanes of a team must call it together.
template <u32 PLANES, bool FIRST, u32 M, u32 N, u32 GROUP, u32 PLANE, u32 B_GROUP = GROUP>
ISOBIT_FN void multiply_digits(DigitSums (&sum)[M][DIGIT_PARTS<N>][WEIGHTS<PLANES>], const u8 *a, const u8 *b,
                               u32 thread) {
#if defined(ISOBIT_INT_MMA)
    const u32 line = thread % 8 * CHUNK_K, first = thread / 8 % 2, second = thread / 16 % 2;
    // The unit takes both groups of lines of `a` first, and both chunks of a group of `b`.
    const u8 *row_at = a + line + first * GROUP + second * CHUNK_BYTES;
    const u8 *column_at = b + line + first * CHUNK_BYTES + second * B_GROUP;
    Pack<4, u32> column[N][PLANES];
#pragma unroll
    for (u32 j = 0; j < N; j++)
#pragma unroll
        for (u32 q = 0; q < PLANES; q++)
            column[j][q] = load_chunks(column_at + j * 2 * B_GROUP + q * PLANE);
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
#elif defined(ISOBIT_WAVE_INT_UNIT)
    // A lane has 16 bytes of a line; each 16 lanes have one of the chunks.
    const u32 lane = thread % DIGIT_TEAM, chunk = lane / 16 % (STEP_K / CHUNK_K);
    const u32 line = lane % CHUNK_LINES * CHUNK_K + chunk * CHUNK_BYTES, second = lane / CHUNK_LINES % 2;
    Pack<4, u32> column[N][PLANES];
#pragma unroll
    for (u32 j = 0; j < N; j++)
#pragma unroll
        for (u32 q = 0; q < PLANES; q++)
            column[j][q] = load<4>((const u32 *)(b + line + (j * 2 + second) * B_GROUP + q * PLANE));
    // Products that follow each other add to different sums, because each takes several cycles.
#pragma unroll
    for (u32 p = 0; p < PLANES; p++) {
        Pack<4, u32> row[M];
#pragma unroll
        for (u32 i = 0; i < M; i++)
            row[i] = load<4>((const u32 *)(a + line + (i * 2 + second) * GROUP + p * PLANE));
#pragma unroll
        for (u32 q = 0; q < PLANES; q++)
#pragma unroll
            for (u32 l = 0; l < 4; l += digit_tile_detail::UNIT_WORDS)
#pragma unroll
                for (u32 i = 0; i < M; i++)
#pragma unroll
                    for (u32 j = 0; j < N; j++) {
                        const u32 w = p + q;
                        const bool begins = FIRST && l == 0 && p == (w < PLANES ? 0 : w + 1 - PLANES);
                        sum[i][j][w] = digit_tile_detail::multiply(row[i].v + l, column[j][q].v + l,
                                                                   begins ? DigitSums{} : sum[i][j][w]);
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
                            (const u32 *)(b + j * B_GROUP + q * PLANE + chunk * CHUNK_BYTES + column + c * CHUNK_K));
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
