// How blocks compute the values of segments of a block product with at most eight rows. A block
// makes integers of a segment of 32 lines of the long operand, four threads a line, and multiplies
// them by those of the thin operand, its *rows*, which are in shared memory. Digits would cost more
// than they save here: the whole integers are multiplied, and their products added in 64 bits,
// which is one instruction for each. As in thin.cu, the values of segments are added by a second
// kernel.
//
// Lines L describe a segment of the long operand:
// - L::PLANES: digits of the integers;
// - L::k_of(member, i): where the i-th element of a member is in the segment; four of them from a
//   multiple of 4 on are neighbours;
// - L::PITCH, L::word_of(k): the length of a row in shared memory, and where its element k is
//   there;
// - L::IN_TEAMS: whether the eight lines of a group are those of a team, which then does not wait
//   for others;
// - are_along_k(lines): whether neighbours among threads have neighbouring elements of a line;
// - read_member(lines, line, member, left): a member's part of a line of which `left` elements are
//   there, the others 0, as an L::Part. take_elements(x, part) are its elements, largest_of_part()
//   the largest bits of one. If Part::HAS_LEVELS, the sums of products may cost less: if
//   are_exact(part, scale), sums_of(sums, rows, part, member, scale) adds those of the elements
//   times the scale, which are integers, with ROWS rows, and size_of(part, scale) is about the sum
//   of their sizes. keep_row(rows, row, integers) has kept four integers of a row from each thread
//   of a team in Part::Rows;
// - add_nothing(lines, nothing): adds a number that is 0, which a compiler does not know.
// Of the same segment of the thin operand, element_of(rows, row, k) is an element.
#pragma once

#include "ops/matmul/block/thin.cuh"

namespace isobit {

ISOBIT_CONST u32 GEMV_BLOCK = 128, GEMV_LINES = 32, GEMV_ROWS = 8;
// Threads of a line, and elements of each.
ISOBIT_CONST u32 GEMV_MEMBERS = 4, GEMV_EACH = BLOCK_SEGMENT / GEMV_MEMBERS;
// Teams, which prepare the rows, and elements of a row that a thread of theirs has.
ISOBIT_CONST u32 GEMV_TEAMS = GEMV_BLOCK / TILE_TEAM, ROW_EACH = BLOCK_SEGMENT / TILE_TEAM;
static_assert(GEMV_BLOCK == GEMV_LINES * GEMV_MEMBERS);

template <typename L>
struct GemvShared {
    // The rows' integers of both levels, and their steps; the flags are of the first one.
    alignas(16) i32 rows[2][GEMV_ROWS][L::PITCH];
    i32 row_steps[2][GEMV_ROWS];
    u32 row_flags[GEMV_ROWS];
    // What the threads of a team tell each other of a row.
    alignas(16) u32 row_largest[GEMV_TEAMS][TILE_TEAM], row_sizes[GEMV_TEAMS][TILE_TEAM],
        row_counts[GEMV_TEAMS][TILE_TEAM];
    // What the members of a line tell each other.
    u32 largest[GEMV_MEMBERS][GEMV_LINES], sizes[GEMV_MEMBERS][GEMV_LINES], counts[GEMV_MEMBERS][GEMV_LINES];
    i64 sums[GEMV_ROWS][GEMV_MEMBERS][GEMV_LINES];
    // The rows' first level as the lines' levels need it.
    alignas(16) typename L::Part::Rows kept;
    // What a line tells the others.
    alignas(16) u32 line_flags[GEMV_LINES];
    u32 nothing;
};

// Neighbours among threads have neighbouring elements, along k or along lines.
struct GemvPlace {
    u32 line, member;
};
ISOBIT_FN GemvPlace gemv_place(bool along_k) {
    const u32 thread = thread_x();
    return along_k ? GemvPlace{thread / GEMV_MEMBERS, thread % GEMV_MEMBERS}
                   : GemvPlace{thread % GEMV_LINES, thread / GEMV_LINES};
}
// What all threads of a team tell, as the largest or as the sum.
template <bool SUM>
ISOBIT_FN u32 all_of_team(const u32 (&told)[TILE_TEAM]) {
    u32 all = 0;
#pragma unroll
    for (u32 i = 0; i < TILE_TEAM; i += 4) {
        const Pack<4, u32> some = load<4>(told + i);
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            all = SUM ? all + some.v[e] : some.v[e] > all ? some.v[e] : all;
    }
    return all;
}
// The largest bits of a row.
ISOBIT_FN u32 largest_of_row(u32 (&told)[TILE_TEAM], const float (&x)[ROW_EACH]) {
    told[thread_x() % TILE_TEAM] = largest_of(x);
    team_barrier();
    return all_of_team<false>(told);
}
// Stores integers of a level of a row.
template <typename L>
ISOBIT_FN void store_row(GemvShared<L> &shared, u32 level, u32 row, const float (&x)[ROW_EACH], float scale, i32 step) {
    const u32 lane = thread_x() % TILE_TEAM;
    Pack<ROW_EACH, i32> integers;
#pragma unroll
    for (u32 i = 0; i < ROW_EACH; i++)
        integers.v[i] = nearest_integer<L::PLANES>(x[i] * scale);
    if constexpr (L::Part::HAS_LEVELS)
        if (level == 0)
            keep_row(shared.kept, row, integers.v);
    store(shared.rows[level][row] + L::word_of(lane * ROW_EACH), integers);
    if (lane == 0)
        shared.row_steps[level][row] = step;
}
// Makes integers of a row, by a team. Of `count` rows there are no more, others have zeros.
template <typename L, typename Rows>
ISOBIT_FN void prepare_row(GemvShared<L> &shared, u32 row, const Rows &rows, u32 count, u32 left) {
    constexpr u32 PLANES = L::PLANES;
    const u32 lane = thread_x() % TILE_TEAM, team = thread_x() / TILE_TEAM;
    float x[ROW_EACH];
#pragma unroll
    for (u32 i = 0; i < ROW_EACH; i++) {
        const u32 k = lane * ROW_EACH + i;
        x[i] = row < count && k < left ? element_of(rows, row, k) : 0;
    }
    const u32 largest = largest_of_row(shared.row_largest[team], x);
    const bool special = largest >= 0x7f800000u;
    const Step step = step_of<PLANES>(special ? 0 : largest);
    const i32 row_step = special ? SPECIAL_STEP : step.step;
    const float scale = scale_of(x, step);
    store_row(shared, 0, row, x, scale, row_step);
    const WideSums sums = special ? WideSums{} : wide_sums(x, scale);
    shared.row_sizes[team][lane] = sums.size;
    shared.row_counts[team][lane] = sums.count;
    team_barrier();
    const bool wide = !special && are_wide<PLANES>({all_of_team<true>(shared.row_sizes[team]),
                                                    all_of_team<true>(shared.row_counts[team])});
    if (wide) {
        take_rests(x, scale, true);
        const Step second = step_of<PLANES>(largest_of_row(shared.row_largest[team], x));
        store_row(shared, 1, row, x, scale_of(x, second), row_step + second.step);
    } else {
        store(shared.rows[1][row] + L::word_of(lane * ROW_EACH), Pack<ROW_EACH, i32>{});
        if (lane == 0)
            shared.row_steps[1][row] = 0;
    }
    if (lane == 0)
        shared.row_flags[row] = (wide ? THIN_WIDE : 0) | (is_apart(row_step) ? THIN_APART : 0);
    // The next row is told at the same places.
    team_barrier();
}

// Waits for the members of a line and the others of its group.
template <typename L>
ISOBIT_FN void group_barrier() {
    if constexpr (L::IN_TEAMS)
        team_barrier();
    else
        barrier();
}
// What the members of a line have told before a barrier.
ISOBIT_FN u32 sum_of_members(const u32 (&told)[GEMV_MEMBERS][GEMV_LINES], u32 line) {
    return told[0][line] + told[1][line] + told[2][line] + told[3][line];
}
// The largest that they tell. All threads that wait for each other must call it together.
template <typename L>
ISOBIT_FN u32 largest_of_members(GemvShared<L> &shared, const GemvPlace &at, u32 largest) {
    shared.largest[at.member][at.line] = largest;
    group_barrier<L>();
#pragma unroll
    for (u32 i = 0; i < GEMV_MEMBERS; i++)
        largest = shared.largest[i][at.line] > largest ? shared.largest[i][at.line] : largest;
    return largest;
}

// A member's part of a line, and its elements with the factor that takes them to integers.
template <typename L>
struct GemvLine {
    typename L::Part part;
    Step step;
    bool special;
};
struct GemvElements {
    float x[GEMV_EACH];
    float scale;
};
template <typename L>
ISOBIT_FN void elements_of(GemvElements &elements, const GemvLine<L> &line) {
    take_elements(elements.x, line.part);
    elements.scale = scale_of(elements.x, line.step);
}
template <typename L>
ISOBIT_FN i32 step_of(const GemvLine<L> &line) {
    return line.special ? SPECIAL_STEP : line.step.step;
}

// Adds the products of a member's elements, as integers, with ROWS rows of a level, and returns
// about the sum of their sizes.
template <u32 ROWS, typename L>
ISOBIT_FN float add_products(i64 (&sums)[ROWS], const GemvShared<L> &shared, const GemvPlace &at,
                             const GemvElements &line, u32 level) {
    float size = 0;
#pragma unroll
    for (u32 i = 0; i < GEMV_EACH; i += 4) {
        i32 own[4];
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            const float scaled = line.x[i + e] * line.scale;
            own[e] = nearest_integer<L::PLANES>(scaled);
            size += abs(scaled);
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const Pack<4, i32> factors = load<4>(shared.rows[level][r] + L::word_of(L::k_of(at.member, i)));
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                sums[r] += (i64)own[e] * factors.v[e];
        }
    }
    return size;
}
// The same of a line's first level.
template <u32 ROWS, typename L>
ISOBIT_FN float add_products(i64 (&sums)[ROWS], const GemvShared<L> &shared, const GemvPlace &at,
                             const GemvLine<L> &line, u32 level) {
    if constexpr (L::Part::HAS_LEVELS) {
        const float scale = line.step.first * line.step.second;
        if (are_exact(line.part, scale)) {
            sums_of(sums, shared.kept, line.part, at.member, scale);
            return size_of(line.part, scale);
        }
    }
    GemvElements elements;
    elements_of(elements, line);
    return add_products(sums, shared, at, elements, level);
}
template <u32 ROWS, typename L, typename Line>
ISOBIT_FN float multiply_rows(GemvShared<L> &shared, const GemvPlace &at, const Line &line, u32 level) {
    i64 sums[ROWS] = {};
    const float size = add_products(sums, shared, at, line, level);
#pragma unroll
    for (u32 r = 0; r < ROWS; r++)
        shared.sums[r][at.member][at.line] = sums[r];
    return size;
}
// All rows of a level, at once.
template <typename L, typename Line>
ISOBIT_FN float multiply_all(GemvShared<L> &shared, const GemvPlace &at, const Line &line, u32 level, u32 count) {
    if (count <= 1)
        return multiply_rows<1>(shared, at, line, level);
    if (count <= 2)
        return multiply_rows<2>(shared, at, line, level);
    if (count <= 4)
        return multiply_rows<4>(shared, at, line, level);
    return multiply_rows<8>(shared, at, line, level);
}

// The value of an exact sum: its nearest multiple of 2^24 and the rest, rounded once each.
ISOBIT_FN float value_of_sum(i64 sum) {
    const i32 high = (i32)((sum + 0x800000) >> 24);
    return fma((float)high, 16777216.0f, (float)(i32)(sum - ((i64)high << 24)));
}
// Stores the values of a segment, of which each member has every fourth row, `scaled` by 2^step or
// not.
template <typename L>
ISOBIT_FN void store_values(float *to, const GemvShared<L> &shared, const GemvPlace &at, u32 rows, u32 lines, i32 step,
                            bool scaled) {
    for (u32 row = at.member; row < rows; row += GEMV_MEMBERS) {
        i64 sum = 0;
#pragma unroll
        for (u32 i = 0; i < GEMV_MEMBERS; i++)
            sum += shared.sums[row][i][at.line];
        const float value = value_of_sum(sum);
        to[(u64)row * lines] = scaled ? value * power_of_two(shared.row_steps[0][row] + step) : value;
    }
}

// The flags of COUNT lines from `first` on.
template <u32 COUNT, typename L>
ISOBIT_FN u32 flags_from(const GemvShared<L> &shared, u32 first) {
    u32 flags = 0;
#pragma unroll
    for (u32 i = 0; i < COUNT; i += 4) {
        const Pack<4, u32> some = load<4>(shared.line_flags + first + i);
        flags |= some.v[0] | some.v[1] | some.v[2] | some.v[3];
    }
    return flags;
}

template <typename L>
ISOBIT_FN u32 flags_of_group(const GemvShared<L> &shared, const GemvPlace &at) {
    return flags_from<CHUNK_LINES>(shared, at.line / CHUNK_LINES * CHUNK_LINES);
}

// A block's part of the problem.
template <typename L>
struct GemvPart {
    L lines;
    ThinValues to;
    u32 rows, segment, left, row_flags;
};

// Reads a member's part of a line.
template <typename L>
ISOBIT_FN void read_line(GemvLine<L> &own, GemvShared<L> &shared, const GemvPlace &at, const GemvPart<L> &p, u32 line) {
    own.part = read_member(p.lines, line, at.member, line < p.to.lines ? p.left : 0);
    const u32 largest = largest_of_members(shared, at, largest_of_part(own.part));
    own.special = largest >= 0x7f800000u;
    own.step = step_of<L::PLANES>(own.special ? 0 : largest);
}

// Tells the flags of a line, and returns those of all lines whose threads wait for each other.
template <typename L>
ISOBIT_FN u32 tell_flags(GemvShared<L> &shared, const GemvPlace &at, u32 flags) {
    if (at.member == 0)
        shared.line_flags[at.line] = flags;
    group_barrier<L>();
    if constexpr (L::IN_TEAMS)
        return flags_of_group(shared, at);
    return flags_from<GEMV_LINES>(shared, 0);
}

// Multiplies the first levels. Returns the flags of lines, of which some may be wide.
template <typename L>
ISOBIT_FN u32 multiply_first(GemvShared<L> &shared, const GemvPlace &at, const GemvPart<L> &p, u32 line) {
    GemvLine<L> own;
    read_line(own, shared, at, p, line);
    shared.sizes[at.member][at.line] = to_bits(multiply_all(shared, at, own, 0, p.rows));
    group_barrier<L>();
    float size = 0;
#pragma unroll
    for (u32 i = 0; i < GEMV_MEMBERS; i++)
        size += from_bits(shared.sizes[i][at.line]);
    const bool may = !own.special && size != 0 && may_be_wide<L::PLANES>(size);
    const i32 step = step_of(own);
    const u32 flags = (is_apart(step) ? THIN_APART : 0) | (may ? THIN_WIDE : 0);
    const u32 all = tell_flags(shared, at, flags);
    if (line < p.to.lines) {
        const u32 near = flags_of_group(shared, at) | p.row_flags;
        if (at.member == 0)
            line_words_of(p.to, 0, p.segment)[line] = line_word(step, 0);
        if (at.member == 0 && line % CHUNK_LINES == 0)
            flags_of(p.to, p.segment)[line / CHUNK_LINES] = near;
        store_values(values_of(p.to, PASS_FIRST, p.segment) + line, shared, at, p.rows, p.to.lines, step,
                     (near & THIN_APART) == 0);
    }
    return all;
}

// Multiplies the second level of rows or of lines. These passes are seldom and read lines again.
template <typename L>
ISOBIT_FN void multiply_second(GemvShared<L> &shared, const GemvPlace &at, GemvPart<L> p, u32 line, u32 pass) {
    constexpr u32 PLANES = L::PLANES;
    GemvLine<L> own;
    group_barrier<L>();
    // A compiler that knows that elements are read again at the same places keeps the addresses.
    add_nothing(p.lines, shared.nothing);
    p.left += shared.nothing;
    read_line(own, shared, at, p, line);
    GemvElements elements;
    elements_of(elements, own);
    if (pass == PASS_LINES) {
        const WideSums sums = own.special ? WideSums{} : wide_sums(elements.x, elements.scale);
        shared.sizes[at.member][at.line] = sums.size;
        shared.counts[at.member][at.line] = sums.count;
        group_barrier<L>();
        const bool wide = !own.special && are_wide<PLANES>({sum_of_members(shared.sizes, at.line),
                                                            sum_of_members(shared.counts, at.line)});
        if (wide && at.member == 0 && line < p.to.lines)
            line_words_of(p.to, 0, p.segment)[line] = line_word(step_of(own), THIN_WIDE);
        take_rests(elements.x, elements.scale, wide);
        const Step second = step_of<PLANES>(largest_of_members(shared, at, largest_of(elements.x)));
        elements.scale = scale_of(elements.x, second);
        if (at.member == 0 && line < p.to.lines)
            line_words_of(p.to, 1, p.segment)[line] = line_word(step_of(own) + second.step, 0);
    }
    multiply_all(shared, at, elements, pass == PASS_ROWS ? 1 : 0, p.rows);
    group_barrier<L>();
    if (line < p.to.lines)
        store_values(values_of(p.to, pass, p.segment) + line, shared, at, p.rows, p.to.lines, 0, false);
}

// Which segment of which matrix a block takes, which piece of its lines, and how many rows.
struct GemvBlock {
    u32 piece, segment, batch, left, rows;
};
ISOBIT_FN GemvBlock gemv_block(const BlockThin &p) {
    const u32 above = divide(block_x(), p.pieces), piece = block_x() - above * p.pieces.size;
    const u32 batch = divide(above, p.all_segments), segment = above - batch * p.all_segments.size;
    const u64 rest = p.lines.k - (u64)segment * BLOCK_SEGMENT;
    return {piece, segment, batch, rest < BLOCK_SEGMENT ? (u32)rest : BLOCK_SEGMENT, p.rows.lines};
}

// Computes the values of all rows and the lines of a block. `rows` and `lines` are its segment.
template <typename L, typename Rows>
ISOBIT_FN void gemv_values(const Rows &rows, const L &lines, u8 *values, const BlockThin &p, const GemvBlock &block) {
    __shared__ GemvShared<L> shared;
    const ThinValues to = thin_values(p, values, block.batch);
    const u32 count = block.rows, segment = block.segment;
#pragma unroll 1
    for (u32 row = thread_x() / TILE_TEAM; row < (count <= GEMV_TEAMS ? GEMV_TEAMS : GEMV_ROWS); row += GEMV_TEAMS)
        prepare_row(shared, row, rows, count, block.left);
    if (thread_x() == 0)
        shared.nothing = 0;
    barrier();
    u32 row_flags = 0;
    for (u32 row = 0; row < count; row++)
        row_flags |= shared.row_flags[row];
    if (block.piece == 0 && thread_x() < count) {
        const u32 row = thread_x();
        for (u32 level = 0; level < 2; level++)
            row_words_of(to, level, segment)[row] = line_word(shared.row_steps[level][row], shared.row_flags[row]);
    }
    const GemvPlace at = gemv_place(are_along_k(lines));
    const GemvPart<L> part = {lines, to, count, segment, block.left, row_flags};
#pragma unroll 1
    for (u32 time = 0; time < p.times; time++) {
        const u32 line0 = (block.piece * p.times + time) * GEMV_LINES;
        if (line0 >= to.lines)
            break;
        const u32 flags = multiply_first(shared, at, part, line0 + at.line);
        if (((row_flags | flags) & THIN_WIDE) == 0)
            continue;
#pragma unroll 1
        for (u32 pass = PASS_ROWS; pass <= PASS_LINES; pass++)
            if (((pass == PASS_ROWS ? row_flags : flags) & THIN_WIDE) != 0)
                multiply_second(shared, at, part, line0 + at.line, pass);
    }
}

} // namespace isobit
