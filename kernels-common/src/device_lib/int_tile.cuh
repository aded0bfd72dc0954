// Products of small integer matrices in shared memory. Uses the integer matrix unit if every
// compiler can reach it on the target (NVIDIA sm_80 and newer), else dot products of four. Integer
// sums are exact, so both give the same result.
//
// Threads work in teams of TILE_TEAM neighbours, whatever the warp size is. In each 16 x 8 part of
// the result a thread holds four sums: rows `tile_row` and `tile_row` + 8, columns `tile_column`
// and the next one.
#pragma once

#include "device_lib/int_dot.cuh"
#include "device_lib/vector.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define ISOBIT_INT_MMA
#endif

namespace isobit {

ISOBIT_CONST u32 TILE_TEAM = 32;

ISOBIT_FN u32 tile_row(u32 thread) { return thread % TILE_TEAM / 4; }
ISOBIT_FN u32 tile_column(u32 thread) { return thread % 4 * 2; }

namespace int_tile_detail {

#if defined(ISOBIT_INT_MMA)
// A thread's part of 16 rows of 16 or 32 bytes, times 8 columns of the same length, added to
// `first`. The addend is an input operand and does not change, so one `first` in registers serves
// every product.
ISOBIT_FN void multiply(i32 (&sum)[4], i32 first, const u32 (&a)[2], const u32 (&b)[1]) {
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(first));
}
ISOBIT_FN void multiply(i32 (&sum)[4], i32 first, const u32 (&a)[4], const u32 (&b)[2]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(first));
}
// The same, added to `sum`.
ISOBIT_FN void multiply_add(i32 (&sum)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

} // namespace int_tile_detail

// sum[i][j] = `first` + the products of 16 rows of `a` (from row 16 i on) and 8 rows of `b` (from
// row 8 j on). Each row has WORDS words (4 or 8), rows are `pitch` words apart, in shared memory
// and aligned to 16 bytes. `thread` is the number of the thread in the block; the whole team must
// call this function.
template <u32 WORDS, u32 M, u32 N>
ISOBIT_FN void int_tile(i32 (&sum)[M][N][4], i32 first, const u32 *a, const u32 *b, u32 pitch, u32 thread) {
    static_assert(WORDS == 4 || WORDS == 8, "a product takes 16 or 32 bytes of a row");
#if defined(ISOBIT_INT_MMA)
    // The layout that the matrix unit requires: thread 4 r + w holds word w (and 4 + w) of rows r
    // and r + 8 of `a`, and of row r of `b`.
    const u32 place = tile_row(thread) * pitch + thread % 4;
    u32 column[N][WORDS / 4];
#pragma unroll
    for (u32 j = 0; j < N; j++)
#pragma unroll
        for (u32 w = 0; w < WORDS / 4; w++)
            column[j][w] = b[place + j * 8 * pitch + w * 4];
#pragma unroll
    for (u32 i = 0; i < M; i++) {
        u32 row[WORDS / 2];
#pragma unroll
        for (u32 w = 0; w < WORDS / 2; w++)
            row[w] = a[place + (i * 16 + w % 2 * 8) * pitch + w / 2 * 4];
#pragma unroll
        for (u32 j = 0; j < N; j++)
            int_tile_detail::multiply(sum[i][j], first, row, column[j]);
    }
#else
#pragma unroll
    for (u32 i = 0; i < M; i++)
#pragma unroll
        for (u32 j = 0; j < N; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                sum[i][j][e] = first;
#pragma unroll
    for (u32 w = 0; w < WORDS; w += 4) {
        Pack<4, u32> column[N][2];
#pragma unroll
        for (u32 j = 0; j < N; j++)
#pragma unroll
            for (u32 c = 0; c < 2; c++)
                column[j][c] = load<4>(b + (j * 8 + tile_column(thread) + c) * pitch + w);
#pragma unroll
        for (u32 i = 0; i < M; i++)
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                const Pack<4, u32> row = load<4>(a + (i * 16 + r * 8 + tile_row(thread)) * pitch + w);
#pragma unroll
                for (u32 j = 0; j < N; j++)
#pragma unroll
                    for (u32 c = 0; c < 2; c++)
#pragma unroll
                        for (u32 l = 0; l < 4; l++)
                            sum[i][j][r * 2 + c] = dot4(sum[i][j][r * 2 + c], row.v[l], column[j][c].v[l]);
            }
    }
#endif
}

} // namespace isobit
