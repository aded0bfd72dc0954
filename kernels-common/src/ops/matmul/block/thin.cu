// Block products with few rows or few columns. Packing the long operand would take as long as
// reading it three times, so it is not packed: a block makes integers of a segment of 64 of its
// lines in registers, and multiplies them by all lines of the thin operand, which is packed. The
// values of segments, one float for each result, are added in order by a second kernel.
#include "device_lib/index.cuh"
#include "ops/matmul/block/chain.cuh"
#include "ops/matmul/block/quantize.cuh"

namespace isobit {

// The host's `Thin` in matmul/block/thin.rs.
struct BlockThin {
    // The long operand.
    BlockLines lines;
    // Lines of the thin operand, and whether it is the right one.
    u32 rows, is_right;
    // Blocks of 64 lines, and of results.
    Divisor line_blocks, all_segments, sum_blocks;
    // Of the thin operand, and of results.
    u64 row_stride, row_k_stride;
    u64 result_row, result_line;
    // Bytes of a packed thin matrix, and of the values of a matrix.
    u64 packed, values;
    // Of the thin operand, the long one and the results, and the numbers of packed matrices.
    Index<4> batch;
};

// Must match ops/matmul/block/thin.rs.
static_assert(sizeof(BlockThin) == 496);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BlockThin, rows) == 40 && ISOBIT_OFFSET(BlockThin, line_blocks) == 48 &&
              ISOBIT_OFFSET(BlockThin, row_stride) == 88 && ISOBIT_OFFSET(BlockThin, batch) == 136);

// Which levels are multiplied: of the thin and of the long operand.
ISOBIT_CONST u32 THIN_PASSES = 3, PASS_FIRST = 0, PASS_ROWS = 1, PASS_LINES = 2;

// The values of a matrix: of each pass and segment all rows, lines next to each other; then the
// steps of all lines of each segment for both levels; then a word for each segment of 64 lines:
// whether one is wide.
struct ThinValues {
    float *at;
    u32 lines, rows, segments, line_blocks;
};
ISOBIT_FN float *values_of(const ThinValues &v, u32 pass, u32 segment) {
    return v.at + ((u64)pass * v.segments + segment) * v.rows * v.lines;
}
ISOBIT_FN i32 *line_steps_of(const ThinValues &v, u32 level, u32 segment) {
    return (i32 *)values_of(v, THIN_PASSES, 0) + ((u64)level * v.segments + segment) * v.lines;
}
ISOBIT_FN u32 *wide_of(const ThinValues &v, u32 segment) {
    return (u32 *)line_steps_of(v, 2, 0) + (u64)segment * v.line_blocks;
}
ISOBIT_FN ThinValues thin_values(const BlockThin &p, u8 *values, u32 batch) {
    return {(float *)(values + batch * p.values), p.lines.lines, p.rows, p.lines.segments, p.line_blocks.size};
}

// Rows whose sums are added across threads at once.
ISOBIT_CONST u32 ROWS_TOGETHER = PACK_BLOCK / PACK_LINES;

// Multiplies all rows of a segment on one level by the digits that the block holds, and stores the
// values.
template <u32 PLANES>
ISOBIT_FN void multiply_rows(float *to, i32 (&sums)[ROWS_TOGETHER][WEIGHTS<PLANES>][PACK_BLOCK],
                             const DigitWords<PLANES> &digits, const PackedMatrix &rows, u32 level, u32 segment,
                             u32 count, u32 lines, u32 line0) {
#pragma unroll 1
    for (u32 row0 = 0; row0 < count; row0 += ROWS_TOGETHER) {
        // Of the second level only wide parts exist.
        const u64 group = part_of(rows, row0 / CHUNK_LINES, segment);
        if (level != 0 && (flags_of<PLANES>(rows)[group] & PART_WIDE) == 0)
            continue;
        barrier();
#pragma unroll 1
        for (u32 r = 0; r < ROWS_TOGETHER && row0 + r < count; r++) {
            const u32 row = row0 + r;
            const u8 *part = parts_of<PLANES>(rows, level) + group * PART_BYTES<PLANES> + row % CHUNK_LINES * CHUNK_K;
            i32 sum[WEIGHTS<PLANES>] = {};
#pragma unroll
            for (u32 c = 0; c < PACK_CHUNKS; c++)
#pragma unroll
                for (u32 p = 0; p < PLANES; p++) {
                    const Pack<4, u32> factors = load<4>((const u32 *)(part + p * PLANE_BYTES + chunk_place(c)));
#pragma unroll
                    for (u32 q = 0; q < PLANES; q++)
#pragma unroll
                        for (u32 l = 0; l < 4; l++)
                            sum[p + q] = dot4(sum[p + q], factors.v[l], digits.of[c][q].v[l]);
                }
#pragma unroll
            for (u32 w = 0; w < WEIGHTS<PLANES>; w++)
                sums[r][w][thread_x()] = sum[w];
        }
        barrier();
        // Each thread takes one result of these rows.
        const u32 r = thread_x() / PACK_LINES, line = thread_x() % PACK_LINES;
        if (row0 + r >= count || line0 + line >= lines)
            continue;
        i32 all[WEIGHTS<PLANES>] = {};
#pragma unroll
        for (u32 w = 0; w < WEIGHTS<PLANES>; w++)
#pragma unroll
            for (u32 i = 0; i < PACK_TEAM; i++)
                all[w] += sums[r][w][line / CHUNK_LINES * TILE_TEAM + line % CHUNK_LINES + i * CHUNK_LINES];
        to[(u64)(row0 + r) * lines + line0 + line] = value_of<PLANES>(all);
    }
}

template <typename T>
ISOBIT_FN void thin_values_of(const T *from, u8 *packed, u8 *values, const BlockThin &p) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    // Elements of lines, then sums.
    using Sums = i32[ROWS_TOGETHER][WEIGHTS<PLANES>][PACK_BLOCK];
    constexpr u32 ROW_BYTES = PACK_ROWS<T> * sizeof(T), BYTES = ROW_BYTES > sizeof(Sums) ? ROW_BYTES : sizeof(Sums);
    __shared__ vector_detail::words4 shared_words[BYTES / 16];
    __shared__ PackShared shared;
    Sums &sums = *(Sums *)shared_words;
    const u32 above = divide(block_x(), p.line_blocks), line_block = block_x() - above * p.line_blocks.size;
    const u32 batch = divide(above, p.all_segments), segment = above - batch * p.all_segments.size;
    const Offsets<4> at = offsets_of(p.batch, batch);
    const PackedMatrix rows{packed + at.at[3] * p.packed, (p.rows + CHUNK_LINES - 1) / CHUNK_LINES, p.lines.segments};
    const ThinValues to = thin_values(p, values, batch);
    const u64 k0 = (u64)segment * BLOCK_SEGMENT;
    const u32 line0 = line_block * PACK_LINES, line = line_of_thread();
    from += at.at[1] + line0 * p.lines.line_stride + k0 * p.lines.k_stride;
    float x[PACK_EACH];
    const auto first =
        quantize_lines<PLANES>(x, shared, (T *)shared_words, from, p.lines, p.lines.lines - line0, p.lines.k - k0);
    const bool leads = thread_x() / CHUNK_LINES % PACK_TEAM == 0 && line0 + line < p.lines.lines;
    if (leads)
        line_steps_of(to, 0, segment)[line0 + line] = first.special ? SPECIAL_STEP : first.step.step;
    if (thread_x() / CHUNK_LINES % PACK_TEAM == 0)
        shared.flags[line] = first.wide ? 1 : 0;
    const auto multiply = [&](u32 pass, const DigitWords<PLANES> &digits) {
        multiply_rows<PLANES>(values_of(to, pass, segment), sums, digits, rows, pass == PASS_ROWS ? 1 : 0, segment,
                              p.rows, p.lines.lines, line0);
    };
    multiply(PASS_FIRST, first.words);
    multiply(PASS_ROWS, first.words);
    u32 wide = 0;
#pragma unroll 8
    for (u32 i = 0; i < PACK_LINES; i++)
        wide |= shared.flags[i];
    if (thread_x() == 0)
        wide_of(to, segment)[line_block] = wide;
    if (wide == 0)
        return;
    Step step;
    const auto second = quantize_rests<PLANES>(step, x, shared, first);
    if (leads)
        line_steps_of(to, 1, segment)[line0 + line] = step.step;
    multiply(PASS_LINES, second);
}

// Few threads per block, because there are few results.
ISOBIT_CONST u32 SUM_BLOCK = 64;

// Adds the values of all segments to each result, in the order of the definition.
template <typename T>
ISOBIT_FN void thin_sum(const T *thin, const T *lines, T *results, u8 *packed, u8 *values, const BlockThin &p) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    const u32 batch = divide(block_x(), p.sum_blocks);
    const u64 number = (u64)(block_x() - batch * p.sum_blocks.size) * SUM_BLOCK + thread_x();
    if (number >= (u64)p.rows * p.lines.lines)
        return;
    const u32 row = (u32)(number / p.lines.lines), line = (u32)(number - (u64)row * p.lines.lines);
    const Offsets<4> at = offsets_of(p.batch, batch);
    const PackedMatrix rows{packed + at.at[3] * p.packed, (p.rows + CHUNK_LINES - 1) / CHUNK_LINES, p.lines.segments};
    const ThinValues from = thin_values(p, values, batch);
    const u64 row_lines = (u64)rows.groups * CHUNK_LINES;
    const u32 *row_flags = flags_of<PLANES>(rows) + row / CHUNK_LINES;
    const u32 *line_wide = wide_of(from, 0) + line / PACK_LINES;
    float result = 0;
    bool special = false;
    // Whether a segment has the pass, and whether any has: most matrices have none.
    u32 some_rows = 0, some_lines = 0;
#pragma unroll 8
    for (u32 segment = 0; segment < p.lines.segments; segment++) {
        const i32 row_step = steps_of<PLANES>(rows, 0)[segment * row_lines + row];
        const i32 line_step = line_steps_of(from, 0, segment)[line];
        special |= row_step == SPECIAL_STEP || line_step == SPECIAL_STEP;
        some_rows |= row_flags[(u64)segment * rows.groups] & PART_WIDE;
        some_lines |= line_wide[(u64)segment * from.line_blocks];
        result = add_scaled(result, values_of(from, PASS_FIRST, segment)[number], row_step + line_step);
    }
#pragma unroll 1
    for (u32 next = 0; next < 2; next++) {
        // The second level of the left operand comes first.
        const u32 pass = (next == 0) == (p.is_right == 0) ? PASS_ROWS : PASS_LINES;
        if ((pass == PASS_ROWS ? some_rows : some_lines) == 0)
            continue;
#pragma unroll 1
        for (u32 segment = 0; segment < p.lines.segments; segment++) {
            const bool there = pass == PASS_ROWS ? (row_flags[(u64)segment * rows.groups] & PART_WIDE) != 0
                                                 : line_wide[(u64)segment * from.line_blocks] != 0;
            if (!there)
                continue;
            const i32 row_step = steps_of<PLANES>(rows, pass == PASS_ROWS ? 1 : 0)[segment * row_lines + row];
            const i32 line_step = line_steps_of(from, pass == PASS_LINES ? 1 : 0, segment)[line];
            result = add_scaled(result, values_of(from, pass, segment)[number], row_step + line_step);
        }
    }
    // A sum of nothing is +0, whichever passes there were.
    result = result + 0.0f;
    if (special)
        result = chain(thin + at.at[0] + row * p.row_stride, p.row_k_stride,
                       lines + at.at[1] + line * p.lines.line_stride, p.lines.k_stride, p.lines.k);
    results[at.at[2] + row * p.result_row + line * p.result_line] = from_compute<T>(result);
}

} // namespace isobit

#define ISOBIT_MATMUL_THIN_VALUES(NAME, T, BLOCKS)                                                                             \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS) NAME(const T *from, u8 *packed, u8 *values, const BlockThin p) {               \
        thin_values_of(from, packed, values, p);                                                                       \
    }                                                                                                                  \
    }
#define ISOBIT_MATMUL_THIN_SUM(NAME, T)                                                                                \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(64)                                                                                                  \
    NAME(const T *thin, const T *lines, T *results, u8 *packed, u8 *values, const BlockThin p) {                       \
        thin_sum(thin, lines, results, packed, values, p);                                                             \
    }                                                                                                                  \
    }
