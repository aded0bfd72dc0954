// What the kernels of block products with few rows or columns share: their parameters, and the
// values of segments, which are between them.
#pragma once

#include "device_lib/index.cuh"
#include "ops/matmul/block/quantize.cuh"

namespace isobit {

// The host's `Thin` in matmul/block/thin.rs.
struct BlockThin {
    // The long operand, and the thin one, which is read element by element.
    BlockLines lines, rows;
    // Whether the thin operand is the right one, and how many times a block takes a block of lines.
    u32 is_right, times;
    // Such pieces of lines, and blocks of results.
    Divisor pieces, all_segments, sum_blocks;
    u64 result_row, result_line;
    // Bytes of a packed thin matrix and of a packed long one, 0 if they are not packed, and of the
    // values of a matrix.
    u64 packed_rows, packed_lines, values;
    // Of the thin operand, the long one and the results, and the numbers of packed matrices: thin
    // ones, and long ones.
    Index<5> batch;
};

// Must match ops/matmul/block/thin.rs.
static_assert(sizeof(BlockThin) == 592);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BlockThin, is_right) == 80 && ISOBIT_OFFSET(BlockThin, pieces) == 88 &&
              ISOBIT_OFFSET(BlockThin, result_row) == 128 && ISOBIT_OFFSET(BlockThin, batch) == 168);

// Which levels are multiplied: both first ones, the second one of rows, or that of lines.
ISOBIT_CONST u32 THIN_PASSES = 3, PASS_FIRST = 0, PASS_ROWS = 1, PASS_LINES = 2;

// Flags of a group of lines or of rows in a segment: one of them is wide; one has a step with which
// a value may be no f32, or an infinity or a NaN.
ISOBIT_CONST u32 THIN_WIDE = 0x10000, THIN_APART = 0x20000;
// The values of 8 lines and all rows in a segment are multiplied by 2^step at once if this is
// exact: if none of the groups is apart. A value is 0 or from 1 to 2^55, so steps of lines and rows
// from -63 to 35 make products from 2^-126 to 2^125.
ISOBIT_FN bool is_apart(i32 step) { return step < -63 || step > 35; }
// A line of a segment as the second kernel needs it if there are flags: its step, and whether it
// or, where digits are multiplied, its group is wide.
ISOBIT_FN u32 line_word(i32 step, u32 flags) { return ((u32)step & 0xffff) | (flags & THIN_WIDE); }
ISOBIT_FN i32 step_of_word(u32 word) { return (i32)(word << 16) >> 16; }

// The values of a matrix: of each pass and segment all rows, lines next to each other; then the
// words of all lines of each segment for both levels; then those of all rows; then for each segment
// the flags of its groups of lines, with those of rows.
struct ThinValues {
    float *at;
    u32 lines, rows, segments;
};
ISOBIT_FN float *values_of(const ThinValues &v, u32 pass, u32 segment) {
    return v.at + ((u64)pass * v.segments + segment) * v.rows * v.lines;
}
ISOBIT_FN u32 *line_words_of(const ThinValues &v, u32 level, u32 segment) {
    return (u32 *)values_of(v, THIN_PASSES, 0) + ((u64)level * v.segments + segment) * v.lines;
}
ISOBIT_FN u32 *row_words_of(const ThinValues &v, u32 level, u32 segment) {
    return line_words_of(v, 2, 0) + ((u64)level * v.segments + segment) * v.rows;
}
ISOBIT_FN u32 *flags_of(const ThinValues &v, u32 segment) {
    return row_words_of(v, 2, 0) + (u64)segment * groups_of(v.lines);
}
ISOBIT_FN ThinValues thin_values(const BlockThin &p, u8 *values, u32 batch) {
    return {(float *)(values + batch * p.values), p.lines.lines, p.rows.lines, p.lines.segments};
}

} // namespace isobit
