// Block products with few rows or few columns, of which gemv.cu does not take the fewest. Packing
// the long operand would take as long as reading it three times, so a block makes integers of a
// segment of its lines, 64 at a time, in registers, unless they are packed already, and multiplies
// them by the same segment of all lines of the thin operand, its *rows*, whose integers are in
// shared memory. Teams do not wait for each other. The values of segments, one float for each
// result, are added in order by a second kernel.
#include "ops/matmul/block/thin_sum.cuh"

namespace isobit {

// A level of the rows of a segment. There are fewer than 16.
ISOBIT_CONST u32 ROW_GROUPS = 2;
template <u32 PLANES>
struct ThinRows {
    alignas(16) u8 parts[ROW_GROUPS * PART_BYTES<PLANES>];
    i32 steps[ROW_GROUPS * CHUNK_LINES];
    // Of the groups of rows, and of all lines that a team has had.
    u32 flags[ROW_GROUPS], of_lines[PACK_BLOCK / TILE_TEAM];
};

// The integers of a segment of a line that a thread has, and the flags of the lines of its team.
template <u32 PLANES>
struct ThinLine {
    DigitWords<PLANES> words;
    i32 step;
    u32 flags;
};
// All threads of the team must call these together.
ISOBIT_FN u32 flags_of_lines(PackShared &shared, i32 step, bool wide) {
    if (member_of_thread() == 0)
        shared.flags[line_of_thread()] = (wide ? THIN_WIDE : 0) | (is_apart(step) ? THIN_APART : 0);
    team_barrier();
    return flags_of_team(shared);
}
template <u32 PLANES>
ISOBIT_FN ThinLine<PLANES> packed_line(PackShared &shared, const PackedMatrix &lines, u32 level, u32 segment,
                                       u32 line) {
    const u64 part = part_of(lines, line / CHUNK_LINES, segment);
    ThinLine<PLANES> own;
    own.words = load_digits<PLANES>(parts_of<PLANES>(lines, level) + part * PART_BYTES<PLANES>);
    own.step = steps_of<PLANES>(lines, level)[part * CHUNK_LINES + line % CHUNK_LINES];
    own.flags = flags_of_lines(shared, own.step, (flags_of<PLANES>(lines)[part] & PART_WIDE) != 0);
    return own;
}
// The same of elements.
template <u32 PLANES>
ISOBIT_FN ThinLine<PLANES> quantize_line(float (&x)[PACK_EACH], PackShared &shared, u32 level) {
    const Quantized<PLANES> first = quantize<PLANES>(x, shared);
    const i32 step = first.special ? SPECIAL_STEP : first.step.step;
    const u32 flags = flags_of_lines(shared, step, first.wide);
    if (level == 0)
        return {first.words, step, flags};
    Step second;
    const DigitWords<PLANES> words = quantize_rests<PLANES>(second, x, shared, first);
    return {words, second.step, flags};
}

// Copies a segment of all rows to shared memory, where elements that do not exist are 0.
template <typename T>
ISOBIT_FN void copy_rows(T *to, const T *from, const BlockLines &p, u64 length) {
    const u32 k = thread_x() % BLOCK_SEGMENT, first = thread_x() / BLOCK_SEGMENT;
    constexpr u32 AT_ONCE = PACK_BLOCK / BLOCK_SEGMENT;
    from += k * p.k_stride + first * p.line_stride;
#pragma unroll
    for (u32 row = 0; row < ROW_GROUPS * CHUNK_LINES; row += AT_ONCE) {
        to[(row + first) * BLOCK_SEGMENT + k] = row + first < p.lines && k < length ? *from : T{};
        from += AT_ONCE * p.line_stride;
    }
}

// Brings a level of the rows to shared memory, by one team for each group, from elements there or
// from their packed form. If `to` is there, their words go there.
template <typename T, u32 PLANES>
ISOBIT_FN void prepare_rows(ThinRows<PLANES> &rows, PackShared &shared, u32 level, const T *elements,
                            const PackedMatrix &packed, const BlockThin &p, u32 segment, u32 *to) {
    const u32 row = line_of_thread(), group = thread_x() / TILE_TEAM;
    if (group * CHUNK_LINES >= p.rows.lines)
        return;
    ThinLine<PLANES> own;
    if (p.packed_rows != 0) {
        // Of the second level only wide parts exist.
        const bool second = level != 0 && (rows.flags[group] & THIN_WIDE) != 0;
        own = packed_line<PLANES>(shared, packed, second ? 1 : 0, segment, row);
    } else {
        float x[PACK_EACH];
#pragma unroll
        for (u32 i = 0; i < PACK_EACH; i++)
            x[i] = to_compute(elements[row * BLOCK_SEGMENT + (i / CHUNK_K * PACK_TEAM + member_of_thread()) * CHUNK_K +
                                       i % CHUNK_K]);
        own = quantize_line<PLANES>(x, shared, level);
    }
    store_digits<PLANES>(rows.parts + group * PART_BYTES<PLANES>, own.words);
    if (thread_x() % TILE_TEAM == 0)
        rows.flags[group] = own.flags;
    if (member_of_thread() == 0)
        rows.steps[row] = own.step;
    if (to != nullptr && member_of_thread() == 0 && row < p.rows.lines)
        to[row] = line_word(own.step, own.flags);
}
template <u32 PLANES>
ISOBIT_FN u32 flags_of_rows(const ThinRows<PLANES> &rows) {
    return rows.flags[0] | rows.flags[1];
}

// Rows whose sums are added across threads at once, and what a team needs of shared memory for
// them.
ISOBIT_CONST u32 ROWS_TOGETHER = PACK_TEAM;
template <u32 PLANES>
using ThinSums = i32[ROWS_TOGETHER][WEIGHTS<PLANES>][TILE_TEAM];

// Multiplies all rows by the digits that the team holds, and stores the values, `scaled` by
// 2^step or not. `line` is that of the thread in the matrix. Of the second level of rows
// only wide groups have values.
template <u32 PLANES>
ISOBIT_FN void multiply_rows(float *to, ThinSums<PLANES> &sums, const ThinLine<PLANES> &own,
                             const ThinRows<PLANES> &rows, bool only_wide, bool scaled, u32 count, u32 lines,
                             u32 line) {
#pragma unroll 1
    for (u32 row0 = 0; row0 < count; row0 += ROWS_TOGETHER) {
        const u32 group = row0 / CHUNK_LINES;
        if (only_wide && (rows.flags[group] & THIN_WIDE) == 0)
            continue;
        team_barrier();
#pragma unroll 1
        for (u32 r = 0; r < ROWS_TOGETHER && row0 + r < count; r++) {
            const u8 *part = rows.parts + group * PART_BYTES<PLANES> + (row0 + r) % CHUNK_LINES * CHUNK_K;
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
                            sum[p + q] = dot4(sum[p + q], factors.v[l], own.words.of[c][q].v[l]);
                }
#pragma unroll
            for (u32 w = 0; w < WEIGHTS<PLANES>; w++)
                sums[r][w][place_of_thread() % TILE_TEAM] = sum[w];
        }
        team_barrier();
        // Each member of a line takes one of these rows.
        const u32 r = member_of_thread();
        if (row0 + r >= count || line >= lines)
            continue;
        i32 all[WEIGHTS<PLANES>];
#pragma unroll
        for (u32 w = 0; w < WEIGHTS<PLANES>; w++) {
            const Pack<4, i32> of_members = load<4>(sums[r][w] + line_of_thread() % CHUNK_LINES * PACK_TEAM);
            all[w] = of_members.v[0] + of_members.v[1] + of_members.v[2] + of_members.v[3];
        }
        const float value = value_of<PLANES>(all);
        to[(u64)(row0 + r) * lines + line] = scaled ? value * power_of_two(rows.steps[row0 + r] + own.step) : value;
    }
}

template <typename T>
ISOBIT_FN void thin_values_of(const T *thin, const T *from, u8 *packed_rows, u8 *packed_lines, u8 *values,
                              const BlockThin &p) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    // Elements of rows; then for each team those of lines, and in their place sums.
    constexpr u32 LINE_BYTES = PACK_ELEMENTS<T> * sizeof(T), SUM_BYTES = sizeof(ThinSums<PLANES>);
    constexpr u32 WORDS = (LINE_BYTES > SUM_BYTES ? LINE_BYTES : SUM_BYTES) / 16;
    __shared__ vector_detail::words4 shared_words[PACK_BLOCK / TILE_TEAM][WORDS];
    __shared__ PackShared shared;
    __shared__ ThinRows<PLANES> rows;
    static_assert(sizeof(shared_words) >= ROW_GROUPS * CHUNK_LINES * BLOCK_SEGMENT * sizeof(T));
    const u32 team = thread_x() / TILE_TEAM;
    ThinSums<PLANES> &sums = *(ThinSums<PLANES> *)shared_words[team];
    const u32 above = divide(block_x(), p.pieces), piece = block_x() - above * p.pieces.size;
    const u32 batch = divide(above, p.all_segments), segment = above - batch * p.all_segments.size;
    const Offsets<5> at = offsets_of(p.batch, batch);
    const PackedMatrix of_rows = packed_matrix(packed_rows + at.at[3] * p.packed_rows, p.rows.lines, p.rows.segments);
    const PackedMatrix lines = packed_matrix(packed_lines + at.at[4] * p.packed_lines, p.lines.lines, p.lines.segments);
    const ThinValues to = thin_values(p, values, batch);
    const u64 k0 = (u64)segment * BLOCK_SEGMENT;
    thin += at.at[0] + k0 * p.rows.k_stride;
    from += at.at[1] + k0 * p.lines.k_stride;
    if (thread_x() % TILE_TEAM == 0) {
        rows.of_lines[team] = 0;
        if (team < ROW_GROUPS)
            rows.flags[team] = 0;
    }
#pragma unroll 1
    for (u32 pass = 0; pass < THIN_PASSES; pass++) {
        if (pass != PASS_FIRST) {
            barrier();
            u32 flags = 0;
#pragma unroll
            for (u32 i = 0; i < PACK_BLOCK / TILE_TEAM; i++)
                flags |= rows.of_lines[i];
            if (pass == PASS_ROWS)
                flags = flags_of_rows(rows);
            if ((flags & THIN_WIDE) == 0)
                continue;
        }
        if (p.packed_rows == 0)
            copy_rows((T *)shared_words, thin, p.rows, p.rows.k - k0);
        barrier();
        const u32 row_level = pass == PASS_ROWS ? 1 : 0, level = pass == PASS_LINES ? 1 : 0;
        prepare_rows<T, PLANES>(rows, shared, row_level, (const T *)shared_words, of_rows, p, segment,
                                piece == 0 ? row_words_of(to, row_level, segment) : nullptr);
        barrier();
#pragma unroll 1
        for (u32 time = 0; time < p.times; time++) {
            const u32 group = (piece * p.times + time) * (PACK_LINES / CHUNK_LINES) + team;
            const u32 line = group * CHUNK_LINES + line_of_thread() % CHUNK_LINES;
            if (group >= lines.groups)
                break;
            ThinLine<PLANES> own;
            if (p.packed_lines != 0) {
                // Of the second level only wide parts exist.
                if (level != 0 && (flags_of<PLANES>(lines)[part_of(lines, group, segment)] & PART_WIDE) == 0)
                    continue;
                own = packed_line<PLANES>(shared, lines, level, segment, line);
            } else {
                const u32 line0 = group * CHUNK_LINES;
                float x[PACK_EACH];
                read_lines(x, (T *)shared_words[team], from + line0 * p.lines.line_stride, p.lines,
                           p.lines.lines - line0, p.lines.k - k0);
                own = quantize_line<PLANES>(x, shared, level);
                if (level != 0 && (own.flags & THIN_WIDE) == 0)
                    continue;
            }
            const u32 flags = own.flags | flags_of_rows(rows);
            if (pass != PASS_ROWS && member_of_thread() == 0 && line < p.lines.lines)
                line_words_of(to, level, segment)[line] = line_word(own.step, own.flags);
            if (pass == PASS_FIRST && thread_x() % TILE_TEAM == 0) {
                rows.of_lines[team] |= own.flags;
                flags_of(to, segment)[group] = flags;
            }
            const bool scaled = (flags & THIN_APART) == 0;
            multiply_rows<PLANES>(values_of(to, pass, segment), sums, own, rows, pass == PASS_ROWS,
                                  pass == PASS_FIRST && scaled, p.rows.lines, p.lines.lines, line);
        }
    }
}

// Adds the values of all segments of matrices of elements.
template <typename T>
ISOBIT_FN void thin_sum_of(const T *thin, const T *lines, T *results, u8 *values, const BlockThin &p) {
    const ThinResult own = thin_result(p);
    if (!own.exists)
        return;
    const Offsets<5> at = offsets_of(p.batch, own.batch);
    const float result = thin_sum(own, values, p, [&] {
        return chain(thin + at.at[0] + own.row * p.rows.line_stride, p.rows.k_stride,
                     lines + at.at[1] + own.line * p.lines.line_stride, p.lines.k_stride, p.lines.k);
    });
    results[at.at[2] + own.row * p.result_row + own.line * p.result_line] = from_compute<T>(result);
}

} // namespace isobit

#define ISOBIT_MATMUL_THIN_VALUES(NAME, T, BLOCKS)                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS)                                                                                \
    NAME(const T *thin, const T *from, u8 *packed_rows, u8 *packed_lines, u8 *values, const BlockThin p) {             \
        thin_values_of(thin, from, packed_rows, packed_lines, values, p);                                              \
    }                                                                                                                  \
    }
#define ISOBIT_MATMUL_THIN_SUM(NAME, T)                                                                                \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(64) NAME(const T *thin, const T *lines, T *results, u8 *values, const BlockThin p) {                 \
        thin_sum_of(thin, lines, results, values, p);                                                                     \
    }                                                                                                                  \
    }
