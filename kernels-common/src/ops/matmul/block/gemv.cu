// Block products with at most eight rows or columns, of operands that are not packed. A block makes
// integers of a segment of 32 lines of the long operand, four threads a line, and multiplies them
// by those of the thin operand, its *rows*, which are in shared memory. Digits would cost more than
// they save here: the whole integers are multiplied, and their products added in 64 bits, which is
// one instruction for each. As in thin.cu, the values of segments are added by a second kernel.
#include "ops/matmul/block/thin.cuh"

namespace isobit {

ISOBIT_CONST u32 GEMV_BLOCK = 128, GEMV_LINES = 32, GEMV_ROWS = 8;
// Threads of a line, and elements of each.
ISOBIT_CONST u32 GEMV_MEMBERS = 4, GEMV_EACH = BLOCK_SEGMENT / GEMV_MEMBERS;
// Teams, which prepare the rows, and elements of a row that a thread of theirs has.
ISOBIT_CONST u32 GEMV_TEAMS = GEMV_BLOCK / TILE_TEAM, ROW_EACH = BLOCK_SEGMENT / TILE_TEAM;
static_assert(GEMV_BLOCK == GEMV_LINES * GEMV_MEMBERS);

struct GemvShared {
    // The rows' integers of both levels, and their steps; the flags are of the first one.
    alignas(16) i32 rows[2][GEMV_ROWS][BLOCK_SEGMENT];
    i32 row_steps[2][GEMV_ROWS];
    u32 row_flags[GEMV_ROWS];
    // What the threads of a team tell each other of a row.
    alignas(16) u32 row_largest[GEMV_TEAMS][TILE_TEAM], row_sizes[GEMV_TEAMS][TILE_TEAM],
        row_counts[GEMV_TEAMS][TILE_TEAM];
    // What the members of a line tell each other.
    u32 largest[GEMV_MEMBERS][GEMV_LINES], sizes[GEMV_MEMBERS][GEMV_LINES], counts[GEMV_MEMBERS][GEMV_LINES];
    i64 sums[GEMV_ROWS][GEMV_MEMBERS][GEMV_LINES];
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
// Where the i-th element of a member is in the segment: members take turns of 16 bytes.
template <typename T>
ISOBIT_FN u32 gemv_k(u32 member, u32 i) {
    return (i / PACK_VECTOR<T> * GEMV_MEMBERS + member) * PACK_VECTOR<T> + i % PACK_VECTOR<T>;
}

// Reads a member's elements of a line, one by one. All are under way before any is converted.
template <bool WHOLE, typename T>
ISOBIT_FN void read_each(float (&x)[GEMV_EACH], const T *from, u64 k_stride, u32 member, u32 left) {
    constexpr u32 VECTOR = PACK_VECTOR<T>;
    const u8 *at = (const u8 *)from;
    const u64 step = k_stride * sizeof(T), turn = step * ((GEMV_MEMBERS - 1) * VECTOR + 1);
    T some[GEMV_EACH];
#pragma unroll
    for (u32 i = 0; i < GEMV_EACH; i++) {
        some[i] = WHOLE || gemv_k<T>(member, i) < left ? *(const T *)at : T{};
        at += i % VECTOR == VECTOR - 1 ? turn : step;
    }
#pragma unroll
    for (u32 i = 0; i < GEMV_EACH; i++)
        x[i] = to_compute(some[i]);
}
// The same of a line that has `left` elements from `from` on.
template <typename T>
ISOBIT_FN void read_member(float (&x)[GEMV_EACH], const T *from, u64 k_stride, bool along_k, bool vectors, u32 member,
                           u32 left) {
    constexpr u32 VECTOR = PACK_VECTOR<T>;
    from += member * VECTOR * k_stride;
    if (left != BLOCK_SEGMENT)
        return read_each<false>(x, from, k_stride, member, left);
    if (!along_k || !vectors)
        return read_each<true>(x, from, k_stride, member, left);
#pragma unroll
    for (u32 i = 0; i < GEMV_EACH; i += VECTOR) {
        const Pack<(int)VECTOR, T> some = load<(int)VECTOR>(from + i * GEMV_MEMBERS);
#pragma unroll
        for (u32 e = 0; e < VECTOR; e++)
            x[i + e] = to_compute(some.v[e]);
    }
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
template <u32 PLANES>
ISOBIT_FN void store_row(GemvShared &shared, u32 level, u32 row, const float (&x)[ROW_EACH], float scale, i32 step) {
    const u32 lane = thread_x() % TILE_TEAM;
    Pack<ROW_EACH, i32> integers;
#pragma unroll
    for (u32 i = 0; i < ROW_EACH; i++)
        integers.v[i] = nearest_integer<PLANES>(x[i] * scale);
    store(shared.rows[level][row] + lane * ROW_EACH, integers);
    if (lane == 0)
        shared.row_steps[level][row] = step;
}
// Makes integers of a row, by a team. A row that does not exist has zeros.
template <typename T>
ISOBIT_FN void prepare_row(GemvShared &shared, u32 row, const T *from, const BlockLines &p, u32 left) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    const u32 lane = thread_x() % TILE_TEAM, team = thread_x() / TILE_TEAM;
    float x[ROW_EACH];
#pragma unroll
    for (u32 i = 0; i < ROW_EACH; i++) {
        const u32 k = lane * ROW_EACH + i;
        x[i] = row < p.lines && k < left ? to_compute(from[row * p.line_stride + k * p.k_stride]) : 0;
    }
    const u32 largest = largest_of_row(shared.row_largest[team], x);
    const bool special = largest >= 0x7f800000u;
    const Step step = step_of<PLANES>(special ? 0 : largest);
    const i32 row_step = special ? SPECIAL_STEP : step.step;
    const float scale = scale_of(x, step);
    store_row<PLANES>(shared, 0, row, x, scale, row_step);
    const WideSums sums = special ? WideSums{} : wide_sums(x, scale);
    shared.row_sizes[team][lane] = sums.size;
    shared.row_counts[team][lane] = sums.count;
    team_barrier();
    const bool wide = !special && are_wide<PLANES>({all_of_team<true>(shared.row_sizes[team]),
                                                    all_of_team<true>(shared.row_counts[team])});
    if (wide) {
        take_rests(x, scale, true);
        const Step second = step_of<PLANES>(largest_of_row(shared.row_largest[team], x));
        store_row<PLANES>(shared, 1, row, x, scale_of(x, second), row_step + second.step);
    } else {
        store(shared.rows[1][row] + lane * ROW_EACH, Pack<ROW_EACH, i32>{});
        if (lane == 0)
            shared.row_steps[1][row] = 0;
    }
    if (lane == 0)
        shared.row_flags[row] = (wide ? THIN_WIDE : 0) | (is_apart(row_step) ? THIN_APART : 0);
    // The next row is told at the same places.
    team_barrier();
}

// What the members of a line have told before a barrier.
ISOBIT_FN u32 sum_of_members(const u32 (&told)[GEMV_MEMBERS][GEMV_LINES], u32 line) {
    return told[0][line] + told[1][line] + told[2][line] + told[3][line];
}
// The largest that they tell. All threads of the block must call it together.
ISOBIT_FN u32 largest_of_members(GemvShared &shared, const GemvPlace &at, const float (&x)[GEMV_EACH]) {
    shared.largest[at.member][at.line] = largest_of(x);
    barrier();
    u32 largest = 0;
#pragma unroll
    for (u32 i = 0; i < GEMV_MEMBERS; i++)
        largest = shared.largest[i][at.line] > largest ? shared.largest[i][at.line] : largest;
    return largest;
}

// Multiplies a member's elements, as integers, by ROWS rows of a level, and returns about the sum
// of their sizes.
template <typename T, u32 ROWS>
ISOBIT_FN float multiply_rows(GemvShared &shared, const GemvPlace &at, const float (&x)[GEMV_EACH], float scale,
                              u32 level) {
    i64 sums[ROWS] = {};
    float size = 0;
#pragma unroll
    for (u32 i = 0; i < GEMV_EACH; i += 4) {
        i32 own[4];
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            const float scaled = x[i + e] * scale;
            own[e] = nearest_integer<Digits<T>::COUNT>(scaled);
            size += abs(scaled);
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const Pack<4, i32> factors = load<4>(shared.rows[level][r] + gemv_k<T>(at.member, i));
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                sums[r] += (i64)own[e] * factors.v[e];
        }
    }
#pragma unroll
    for (u32 r = 0; r < ROWS; r++)
        shared.sums[r][at.member][at.line] = sums[r];
    return size;
}
// All rows of a level, at once.
template <typename T>
ISOBIT_FN float multiply_all(GemvShared &shared, const GemvPlace &at, const float (&x)[GEMV_EACH], float scale,
                             u32 level, u32 count) {
    if (count <= 1)
        return multiply_rows<T, 1>(shared, at, x, scale, level);
    if (count <= 2)
        return multiply_rows<T, 2>(shared, at, x, scale, level);
    if (count <= 4)
        return multiply_rows<T, 4>(shared, at, x, scale, level);
    return multiply_rows<T, 8>(shared, at, x, scale, level);
}

// The value of an exact sum: its nearest multiple of 2^24 and the rest, rounded once each.
ISOBIT_FN float value_of_sum(i64 sum) {
    const i32 high = (i32)((sum + 0x800000) >> 24);
    return fma((float)high, 16777216.0f, (float)(i32)(sum - ((i64)high << 24)));
}
// Stores the values of a segment, of which each member has every fourth row, `scaled` by 2^step or
// not.
ISOBIT_FN void store_values(float *to, const GemvShared &shared, const GemvPlace &at, u32 rows, u32 lines, i32 step,
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
template <u32 COUNT>
ISOBIT_FN u32 flags_from(const GemvShared &shared, u32 first) {
    u32 flags = 0;
#pragma unroll
    for (u32 i = 0; i < COUNT; i += 4) {
        const Pack<4, u32> some = load<4>(shared.line_flags + first + i);
        flags |= some.v[0] | some.v[1] | some.v[2] | some.v[3];
    }
    return flags;
}

// A block's part of the problem.
template <typename T>
struct GemvLines {
    const T *from;
    u64 line_stride, k_stride;
    ThinValues to;
    u32 segment, left, row_flags;
    bool along_k, vectors;
};

// Reads and quantizes a member's part of a line.
struct GemvStep {
    float scale;
    i32 step;
    bool special;
};
template <typename T>
ISOBIT_FN GemvStep read_line(float (&x)[GEMV_EACH], GemvShared &shared, const GemvPlace &at, const GemvLines<T> &p,
                             u32 line) {
    const u32 left = line < p.to.lines ? p.left : 0;
    read_member(x, p.from + line * p.line_stride, p.k_stride, p.along_k, p.vectors, at.member, left);
    const u32 largest = largest_of_members(shared, at, x);
    const bool special = largest >= 0x7f800000u;
    const Step step = step_of<Digits<T>::COUNT>(special ? 0 : largest);
    return {scale_of(x, step), special ? SPECIAL_STEP : step.step, special};
}

// Tells the flags of a line, and returns all.
ISOBIT_FN u32 tell_flags(GemvShared &shared, const GemvPlace &at, u32 flags) {
    if (at.member == 0)
        shared.line_flags[at.line] = flags;
    barrier();
    return flags_from<GEMV_LINES>(shared, 0);
}

// Multiplies the first levels. Returns the flags of all lines, of which some may be wide.
template <typename T>
ISOBIT_FN u32 multiply_first(GemvShared &shared, const GemvPlace &at, const GemvLines<T> &p, u32 line) {
    float x[GEMV_EACH];
    const GemvStep own = read_line(x, shared, at, p, line);
    shared.sizes[at.member][at.line] = to_bits(multiply_all<T>(shared, at, x, own.scale, 0, p.to.rows));
    barrier();
    float size = 0;
#pragma unroll
    for (u32 i = 0; i < GEMV_MEMBERS; i++)
        size += from_bits(shared.sizes[i][at.line]);
    const bool may = !own.special && size != 0 && may_be_wide<Digits<T>::COUNT>(size);
    const u32 flags = (is_apart(own.step) ? THIN_APART : 0) | (may ? THIN_WIDE : 0);
    const u32 all = tell_flags(shared, at, flags);
    if (line < p.to.lines) {
        const u32 near = flags_from<CHUNK_LINES>(shared, at.line / CHUNK_LINES * CHUNK_LINES) | p.row_flags;
        if (at.member == 0)
            line_words_of(p.to, 0, p.segment)[line] = line_word(own.step, 0);
        if (at.member == 0 && line % CHUNK_LINES == 0)
            flags_of(p.to, p.segment)[line / CHUNK_LINES] = near;
        store_values(values_of(p.to, PASS_FIRST, p.segment) + line, shared, at, p.to.rows, p.to.lines, own.step,
                     (near & THIN_APART) == 0);
    }
    return all;
}

// Multiplies the second level of rows or of lines. These passes are seldom and read lines again.
template <typename T>
ISOBIT_FN void multiply_second(GemvShared &shared, const GemvPlace &at, GemvLines<T> p, u32 line, u32 pass) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    float x[GEMV_EACH];
    barrier();
    // A compiler that knows that elements are read again at the same places keeps the addresses.
    p.k_stride += shared.nothing;
    p.left += shared.nothing;
    GemvStep own = read_line(x, shared, at, p, line);
    if (pass == PASS_LINES) {
        const WideSums sums = own.special ? WideSums{} : wide_sums(x, own.scale);
        shared.sizes[at.member][at.line] = sums.size;
        shared.counts[at.member][at.line] = sums.count;
        barrier();
        const bool wide = !own.special && are_wide<PLANES>({sum_of_members(shared.sizes, at.line),
                                                            sum_of_members(shared.counts, at.line)});
        if (wide && at.member == 0 && line < p.to.lines)
            line_words_of(p.to, 0, p.segment)[line] = line_word(own.step, THIN_WIDE);
        take_rests(x, own.scale, wide);
        const Step second = step_of<PLANES>(largest_of_members(shared, at, x));
        own.scale = scale_of(x, second);
        if (at.member == 0 && line < p.to.lines)
            line_words_of(p.to, 1, p.segment)[line] = line_word(own.step + second.step, 0);
    }
    multiply_all<T>(shared, at, x, own.scale, pass == PASS_ROWS ? 1 : 0, p.to.rows);
    barrier();
    if (line < p.to.lines)
        store_values(values_of(p.to, pass, p.segment) + line, shared, at, p.to.rows, p.to.lines, 0, false);
}

template <typename T>
ISOBIT_FN void gemv_values_of(const T *thin, const T *from, u8 *values, const BlockThin &p) {
    __shared__ GemvShared shared;
    const u32 above = divide(block_x(), p.pieces), piece = block_x() - above * p.pieces.size;
    const u32 batch = divide(above, p.all_segments), segment = above - batch * p.all_segments.size;
    const Offsets<5> offsets = offsets_of(p.batch, batch);
    const ThinValues to = thin_values(p, values, batch);
    const u64 k0 = (u64)segment * BLOCK_SEGMENT, rest = p.lines.k - k0;
    const u32 left = rest < BLOCK_SEGMENT ? (u32)rest : BLOCK_SEGMENT, count = to.rows;
    thin += offsets.at[0] + k0 * p.rows.k_stride;
    from += offsets.at[1] + k0 * p.lines.k_stride;
#pragma unroll 1
    for (u32 row = thread_x() / TILE_TEAM; row < (count <= GEMV_TEAMS ? GEMV_TEAMS : GEMV_ROWS); row += GEMV_TEAMS)
        prepare_row(shared, row, thin, p.rows, left);
    if (thread_x() == 0)
        shared.nothing = 0;
    barrier();
    u32 row_flags = 0;
    for (u32 row = 0; row < count; row++)
        row_flags |= shared.row_flags[row];
    if (piece == 0 && thread_x() < count) {
        const u32 row = thread_x();
        for (u32 level = 0; level < 2; level++)
            row_words_of(to, level, segment)[row] = line_word(shared.row_steps[level][row], shared.row_flags[row]);
    }
    const bool along_k = p.lines.k_stride <= p.lines.line_stride, vectors = p.lines.vectors != 0;
    const GemvPlace at = gemv_place(along_k);
    const u64 line_stride = p.lines.line_stride, k_stride = p.lines.k_stride;
    const GemvLines<T> lines = {from, line_stride, k_stride, to, segment, left, row_flags, along_k, vectors};
#pragma unroll 1
    for (u32 time = 0; time < p.times; time++) {
        const u32 line0 = (piece * p.times + time) * GEMV_LINES;
        if (line0 >= to.lines)
            break;
        const u32 flags = multiply_first(shared, at, lines, line0 + at.line);
        if (((row_flags | flags) & THIN_WIDE) == 0)
            continue;
#pragma unroll 1
        for (u32 pass = PASS_ROWS; pass <= PASS_LINES; pass++)
            if (((pass == PASS_ROWS ? row_flags : flags) & THIN_WIDE) != 0)
                multiply_second(shared, at, lines, line0 + at.line, pass);
    }
}

} // namespace isobit

#define ISOBIT_MATMUL_BLOCK_GEMV(NAME, T)                                                                              \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(128, 4)                                                                                     \
    NAME(const T *thin, const T *from, u8 *, u8 *, u8 *values, const BlockThin p) {                                    \
        gemv_values_of(thin, from, values, p);                                                                         \
    }                                                                                                                  \
    }
