// The second kernel of block products with few rows or columns: it adds the values of segments.
#pragma once

#include "ops/matmul/block/chain.cuh"
#include "ops/matmul/block/thin.cuh"

namespace isobit {

// Few threads per block, because there are few results. Each loads what it needs of so many
// segments at once: additions in between would wait for every load.
ISOBIT_CONST u32 SUM_BLOCK = 64, SUM_DEPTH = 16;

// The sum of a result's values of all segments if there are no flags. `flags` become those that
// there are.
ISOBIT_FN float sum_of_scaled(u32 &flags, const ThinValues &from, u64 number, u32 line) {
    const u64 value_step = (u64)from.rows * from.lines, flags_step = groups_of(from.lines);
    const float *value_at = values_of(from, PASS_FIRST, 0) + number;
    const u32 *flags_at = flags_of(from, 0) + line / CHUNK_LINES;
    float result = 0;
#pragma unroll 1
    for (u32 first = 0; first < from.segments; first += SUM_DEPTH) {
        float added[SUM_DEPTH];
        u32 some[SUM_DEPTH];
#pragma unroll
        for (u32 i = 0; i < SUM_DEPTH; i++) {
            const bool exists = first + i < from.segments;
            added[i] = exists ? *value_at : 0;
            some[i] = exists ? *flags_at : 0;
            value_at += value_step;
            flags_at += flags_step;
        }
#pragma unroll
        for (u32 i = 0; i < SUM_DEPTH; i++) {
            result = result + added[i];
            flags |= some[i];
        }
    }
    return result;
}
// The same with flags. `special` tells whether there is an infinity or a NaN.
ISOBIT_FN float sum_of_levels(bool &special, const ThinValues &from, u64 number, u32 row, u32 line, bool is_right) {
    float result = 0;
    special = false;
#pragma unroll 1
    for (u32 next = 0; next < THIN_PASSES; next++) {
        // The second level of the left operand comes first.
        const u32 pass = next == 0 ? PASS_FIRST : (next == 1) == is_right ? PASS_LINES : PASS_ROWS;
#pragma unroll 1
        for (u32 segment = 0; segment < from.segments; segment++) {
            u32 row_word = row_words_of(from, 0, segment)[row], word = line_words_of(from, 0, segment)[line];
            special |= step_of_word(row_word) == SPECIAL_STEP || step_of_word(word) == SPECIAL_STEP;
            if (pass != PASS_FIRST && ((pass == PASS_ROWS ? row_word : word) & THIN_WIDE) == 0)
                continue;
            if (pass == PASS_ROWS)
                row_word = row_words_of(from, 1, segment)[row];
            if (pass == PASS_LINES)
                word = line_words_of(from, 1, segment)[line];
            const bool scaled = pass == PASS_FIRST && (flags_of(from, segment)[line / CHUNK_LINES] & THIN_APART) == 0;
            const i32 step = scaled ? 0 : step_of_word(row_word) + step_of_word(word);
            result = add_scaled(result, values_of(from, pass, segment)[number], step);
        }
    }
    return result;
}

// The result of a thread: its row, its line and its matrix in the batch.
struct ThinResult {
    bool exists;
    u32 batch, row, line;
};
ISOBIT_FN ThinResult thin_result(const BlockThin &p) {
    const u32 batch = divide(block_x(), p.sum_blocks);
    const u64 number = (u64)(block_x() - batch * p.sum_blocks.size) * SUM_BLOCK + thread_x();
    const u32 row = (u32)(number / p.lines.lines), line = (u32)(number - (u64)row * p.lines.lines);
    return {row < p.rows.lines, batch, row, line};
}

// Adds the values of all segments to a result, in the order of the definition. `chained()` returns
// its chain, which it is if its row or its line has an infinity or a NaN.
template <typename Chained>
ISOBIT_FN float thin_sum(const ThinResult &at, u8 *values, const BlockThin &p, const Chained &chained) {
    const ThinValues from = thin_values(p, values, at.batch);
    const u64 number = (u64)at.row * p.lines.lines + at.line;
    u32 flags = 0;
    bool special = false;
    float result = sum_of_scaled(flags, from, number, at.line);
    if (flags != 0)
        result = sum_of_levels(special, from, number, at.row, at.line, p.is_right != 0);
    // A sum of nothing is +0, whichever passes there were.
    return special ? chained() : result + 0.0f;
}

} // namespace isobit
