// Products of small integer matrices, one in registers and one in shared memory. Uses the integer
// matrix unit if every compiler can reach it on the target (NVIDIA sm_80 and newer), else dot
// products of four. Integer sums are exact, so both give the same result.
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

// A thread's words of 16 rows of WORDS words (4 or 8) each, in registers.
template <u32 WORDS>
struct IntRows {
#if defined(ISOBIT_INT_MMA)
    u32 w[WORDS / 2];
#else
    u32 w[WORDS * 2];
#endif
};

// Takes a thread's words of 16 rows from `word(r, w)`, which returns word w of row `tile_row` (r =
// 0), or of the row 8 further on (r = 1). With a matrix unit no word is asked for twice in a team;
// without one, the four threads with the same rows ask for the same words.
template <u32 WORDS, typename W>
ISOBIT_FN IntRows<WORDS> int_rows(const W &word, u32 thread) {
    static_assert(WORDS == 4 || WORDS == 8, "a product takes 16 or 32 bytes of a row");
    IntRows<WORDS> rows;
#if defined(ISOBIT_INT_MMA)
#pragma unroll
    for (u32 w = 0; w < WORDS / 2; w++)
        rows.w[w] = word(w % 2, thread % 4 + w / 2 * 4);
#else
    (void)thread;
#pragma unroll
    for (u32 w = 0; w < WORDS * 2; w++)
        rows.w[w] = word(w / WORDS, w % WORDS);
#endif
    return rows;
}

// sum = `first` + the products of 16 rows in registers and the first 8 rows of `b`, which have
// WORDS words each, are `pitch` words apart, in shared memory and aligned to 16 bytes. `thread` is
// the number of the thread in the block; the whole team must call this function.
template <u32 WORDS>
ISOBIT_FN void int_rows_tile(i32 (&sum)[4], i32 first, const IntRows<WORDS> &rows, const u32 *b, u32 pitch,
                             u32 thread) {
#if defined(ISOBIT_INT_MMA)
    const u32 *from = b + tile_row(thread) * pitch + thread % 4;
    // The layout that the matrix unit requires: thread 4 r + w holds word w (and 4 + w) of rows r
    // and r + 8 of one operand, and of row r of the other.
    u32 column[WORDS / 4];
#pragma unroll
    for (u32 w = 0; w < WORDS / 4; w++)
        column[w] = from[w * 4];
    int_tile_detail::multiply(sum, first, rows.w, column);
#else
#pragma unroll
    for (u32 e = 0; e < 4; e++)
        sum[e] = first;
#pragma unroll
    for (u32 w = 0; w < WORDS; w += 4)
#pragma unroll
        for (u32 c = 0; c < 2; c++) {
            const Pack<4, u32> column = load<4>(b + (tile_column(thread) + c) * pitch + w);
#pragma unroll
            for (u32 r = 0; r < 2; r++)
#pragma unroll
                for (u32 l = 0; l < 4; l++)
                    sum[r * 2 + c] = dot4(sum[r * 2 + c], rows.w[r * WORDS + w + l], column.v[l]);
        }
#endif
}

} // namespace isobit
