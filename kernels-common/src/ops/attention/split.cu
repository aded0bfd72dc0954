// Attention of a tile of queries to one block of 128 keys: the sums of weighted values, to be added
// by combine.cu in the order of blocks. A block of threads makes its integers itself, so nothing is
// packed before. It is for few queries, and for devices without the large tiles of flash.cu.
#include "ops/attention/masked.cuh"

namespace isobit {

ISOBIT_CONST u32 SPLIT_BLOCK = PACK_BLOCK, SPLIT_TEAMS = SPLIT_BLOCK / DIGIT_TEAM;
// Keys, later columns of values, whose integers are in shared memory together.
ISOBIT_CONST u32 STRIP = PACK_LINES, STRIPS = ATTENTION_KEYS / STRIP;
// Scores of a row, with a gap so that rows begin in different banks.
ISOBIT_CONST u32 SCORES = ATTENTION_KEYS + 4;

// A tile of 16 M rows of a dtype.
template <typename T, u32 M>
struct SplitShape {
    static constexpr u32 PLANES = Digits<T>::COUNT, ROWS = 16 * M;
    // Bytes of eight lines of a strip: their integers, or the elements before that.
    static constexpr u32 PART = PART_BYTES<PLANES>, STAGED = PACK_ELEMENTS<T> * sizeof(T);
    static constexpr u32 GROUP = STAGED > PART ? STAGED : PART;
    static constexpr u32 STRIP_BYTES = STRIP / CHUNK_LINES * GROUP, SCORE_BYTES = ROWS * SCORES * 4;
    // Queries, later weights; then a strip, or scores.
    static constexpr u32 LINES = ROWS / CHUNK_LINES * PART;
    static constexpr u32 BYTES = LINES + (STRIP_BYTES > SCORE_BYTES ? STRIP_BYTES : SCORE_BYTES);
    // 16 x 16 results of a strip that a team has, and threads of a row.
    static constexpr u32 TILES = (M * STRIP / 16 + SPLIT_TEAMS - 1) / SPLIT_TEAMS;
    static constexpr u32 ROW_THREADS = SPLIT_BLOCK / ROWS;
};

template <u32 ROWS>
struct SplitShared {
    alignas(16) u32 told[SPLIT_BLOCK];
    float row_scale[ROWS], line_scale[STRIP];
    // Whether queries, keys and columns of a strip are special.
    u32 row_special[ROWS], key_special[ATTENTION_KEYS], line_special[STRIP];
    // Which keys a row sees, four in a byte.
    u8 visible[ROWS][ROW_QUADS];
};

// Where a block of threads is.
struct SplitPlace {
    u32 batch, kv_head, block, row0, length;
    // Of its rows among all.
    u64 number;
};

// Calls `use(tile, rows, columns)` for the 16 x 16 results of a strip that a team has.
template <typename S, typename Use>
ISOBIT_FN void each_tile(const Use &use) {
    const u32 team = thread_x() / DIGIT_TEAM;
#pragma unroll
    for (u32 t = 0; t < S::TILES; t++) {
        const u32 tile = team + t * SPLIT_TEAMS;
        if (tile < S::ROWS / 16 * (STRIP / 16))
            use(t, tile / (STRIP / 16), tile % (STRIP / 16));
    }
}

// The products of 16 lines with 16 of a strip.
template <typename S>
ISOBIT_FN void multiply_strip(DigitSums (&sum)[1][DIGIT_PARTS<1>][WEIGHTS<S::PLANES>], const u8 *lines,
                              const u8 *strip, u32 row, u32 column) {
    const u8 *a = lines + row * 2 * S::PART, *b = strip + column * 2 * S::GROUP;
    multiply_digits<S::PLANES, true, 1, 1, S::PART, PLANE_BYTES, S::GROUP>(sum, a, b, thread_x());
#pragma unroll 1
    for (u32 at = STEP_K; at < BLOCK_SEGMENT; at += STEP_K)
        multiply_digits<S::PLANES, false, 1, 1, S::PART, PLANE_BYTES, S::GROUP>(sum, a + at * CHUNK_LINES,
                                                                               b + at * CHUNK_LINES, thread_x());
}

// Makes integers of a segment of the queries, and tells their scales.
template <typename S, typename T>
ISOBIT_FN void stage_queries(const T *query, const Attention &p, const SplitPlace &at, u32 segment, u8 *lines,
                             SplitShared<S::ROWS> &shared) {
    const u32 line = line_of_thread(), row = at.row0 + line;
    if (line >= S::ROWS)
        return;
    const bool exists = row < p.rows;
    const AttentionRow place = attention_row(p, exists ? row : 0);
    query += row_offset(p.query, p, at.batch, at.kv_head, place) + segment * BLOCK_SEGMENT * p.query[3];
    float x[PACK_EACH];
    read_line(x, query, p.query[3], p.d - segment * BLOCK_SEGMENT, exists, (p.vectors & 1) != 0);
    const auto integers = integers_of<S::PLANES, LINE_LIMIT>(x, shared.told);
    store_digits<S::PLANES>(lines + line / CHUNK_LINES * S::PART, integers.words);
    if (member_of_thread() == 0) {
        shared.row_scale[line] = power_of_two(integers.step);
        shared.row_special[line] = (integers.special ? 1u : 0u) | (segment > 0 ? shared.row_special[line] : 0u);
    }
}

// The same of a strip of keys.
template <typename S, typename T>
ISOBIT_FN void stage_keys(const T *key, const Attention &p, const SplitPlace &at, u32 segment, u32 first, u8 *strip,
                          SplitShared<S::ROWS> &shared) {
    const u32 line = line_of_thread(), number = at.block * ATTENTION_KEYS + first + line;
    key += number * p.key[2] + segment * BLOCK_SEGMENT * p.key[3];
    float x[PACK_EACH];
    read_line(x, key, p.key[3], p.d - segment * BLOCK_SEGMENT, number < at.length, (p.vectors & 2) != 0);
    const auto integers = integers_of<S::PLANES, LINE_LIMIT>(x, shared.told);
    store_digits<S::PLANES>(strip + line / CHUNK_LINES * S::GROUP, integers.words);
    if (member_of_thread() == 0) {
        u32 &special = shared.key_special[first + line];
        shared.line_scale[line] = p.factor * power_of_two(integers.step);
        special = (integers.special ? 1u : 0u) | (segment > 0 ? special : 0u);
    }
}

// The same of a strip of columns of values.
template <typename S, typename T>
ISOBIT_FN void stage_values(const T *value, const Attention &p, const SplitPlace &at, u32 first, u8 *strip,
                            SplitShared<S::ROWS> &shared) {
    const u32 line = line_of_thread(), group = line / CHUNK_LINES, column = first + group * CHUNK_LINES;
    if (column >= p.d)
        return;
    u8 *part = strip + group * S::GROUP;
    const auto integers =
        integers_of_columns<S::PLANES>(value, p, at.block * ATTENTION_KEYS, at.length, column, (T *)part, shared.told);
    store_digits<S::PLANES>(part, integers.words);
    if (member_of_thread() == 0) {
        shared.line_scale[line] = power_of_two(integers.step - WEIGHT_ONE<S::PLANES>);
        shared.line_special[line] = integers.special ? 1 : 0;
    }
}

// Scores of the tile, in shared memory.
template <typename S, typename T>
ISOBIT_FN void make_scores(const T *query, const T *key, const Attention &p, const SplitPlace &at, u8 *lines, u8 *strip,
                           SplitShared<S::ROWS> &shared) {
    float score[STRIPS][S::TILES][DIGIT_PARTS<1>][OWN_RESULTS] = {};
    const u32 own_row = digit_row(thread_x()), own_column = digit_column(thread_x());
#pragma unroll 1
    for (u32 segment = 0; segment * BLOCK_SEGMENT < p.d; segment++) {
        if (segment > 0)
            barrier();
        stage_queries<S>(query, p, at, segment, lines, shared);
#pragma unroll
        for (u32 s = 0; s < STRIPS; s++) {
            if (s > 0)
                barrier();
            stage_keys<S>(key, p, at, segment, s * STRIP, strip, shared);
            barrier();
            each_tile<S>([&](u32 t, u32 row, u32 column) {
                DigitSums sum[1][DIGIT_PARTS<1>][WEIGHTS<S::PLANES>];
                multiply_strip<S>(sum, lines, strip, row, column);
                const float *rows = shared.row_scale + row * 16 + own_row;
                const float *columns = shared.line_scale + column * 16 + own_column;
#pragma unroll
                for (u32 j = 0; j < DIGIT_PARTS<1>; j++)
#pragma unroll
                    for (u32 own = 0; own < OWN_RESULTS; own++) {
                        const float x = value_of<S::PLANES>(weights_of<S::PLANES>(sum[0][j], own).of) * rows[own / OWN_COLUMNS * ROW_STEP];
                        float &to = score[s][t][j][own];
                        to = fma(x, columns[j * DIGIT_COLUMNS + own % OWN_COLUMNS], to);
                    }
            });
        }
    }
    barrier();
    float *scores = (float *)strip;
#pragma unroll
    for (u32 s = 0; s < STRIPS; s++)
        each_tile<S>([&](u32 t, u32 row, u32 column) {
            float *to = scores + (row * 16 + own_row) * SCORES + s * STRIP + column * 16 + own_column;
#pragma unroll
            for (u32 j = 0; j < DIGIT_PARTS<1>; j++)
#pragma unroll
                for (u32 own = 0; own < OWN_RESULTS; own++)
                    to[own / OWN_COLUMNS * ROW_STEP * SCORES + j * DIGIT_COLUMNS + own % OWN_COLUMNS] =
                        score[s][t][j][own];
        });
    barrier();
}

// Makes weights of the scores, as integers in `lines`, and stores the top and the sum of each row.
template <typename S, typename T>
ISOBIT_FN void make_weights(const T *mask, const Attention &p, const SplitPlace &at, u8 *lines, float *scores,
                            float *tops, SplitShared<S::ROWS> &shared) {
    const u32 row = thread_x() / S::ROW_THREADS, member = thread_x() % S::ROW_THREADS;
    const i32 key0 = (i32)(at.block * ATTENTION_KEYS);
    const MaskedRow<T> own = masked_row(p, mask, at.batch, at.kv_head, at.row0 + row, at.length);
    const bool exists = at.row0 + row < p.rows;
    float top = negative_infinity();
#pragma unroll 1
    for (u32 quad = member; exists && quad < ROW_QUADS; quad += S::ROW_THREADS) {
        float *from = scores + row * SCORES + quad * 4;
        Pack<4, float> four = load<4>(from);
        u32 visible = 0;
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            const float capped_score = p.cap != 0 ? capped(four.v[e], p) : four.v[e];
            const float score = masked(capped_score, p, own, key0 + (i32)(quad * 4 + e));
            const bool is_visible = score != negative_infinity();
            four.v[e] = score;
            visible |= (is_visible ? 1u : 0u) << e;
            top = score > top ? score : top;
            if (is_visible && (shared.key_special[quad * 4 + e] | shared.row_special[row]) != 0)
                top = math::f32::inf();
        }
        store(from, four);
        shared.visible[row][quad] = (u8)visible;
    }
    shared.told[thread_x()] = to_bits(top);
    barrier();
#pragma unroll
    for (u32 i = 0; i < S::ROW_THREADS; i++) {
        const float other = from_bits(shared.told[row * S::ROW_THREADS + i]);
        top = other > top ? other : top;
    }
    top = ceil(top);
    barrier();
    i32 sum = 0;
#pragma unroll 1
    for (u32 quad = member; exists && quad < ROW_QUADS; quad += S::ROW_THREADS) {
        const Pack<4, float> four = load<4>(scores + row * SCORES + quad * 4);
        u32 biased[4];
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            biased[e] = biased_integer<S::PLANES>(weight_of<S::PLANES>(four.v[e], top));
            sum += (i32)(biased[e] - biased_integer<S::PLANES>(0.0f));
        }
        const auto words = four_digits<S::PLANES>(biased);
        u8 *to = lines + row / CHUNK_LINES * S::PART + quad / 4 * CHUNK_BYTES + row % CHUNK_LINES * CHUNK_K + quad % 4 * 4;
#pragma unroll
        for (u32 plane = 0; plane < S::PLANES; plane++)
            *(u32 *)(to + plane * PLANE_BYTES) = words.of[plane];
    }
    shared.told[thread_x()] = (u32)sum;
    barrier();
    if (member != 0 || !exists)
        return;
#pragma unroll
    for (u32 i = 1; i < S::ROW_THREADS; i++)
        sum += (i32)shared.told[thread_x() + i];
    const bool is_number = top != math::f32::inf();
    const float scaled_sum = is_number ? (float)sum * weight_unit<S::PLANES>() : math::f32::nan();
    store(tops + (at.number + row) * p.blocks * 2, Pack<2, float>{top, scaled_sum});
}

// Multiplies weights and values, and stores the sums.
template <typename S, typename T>
ISOBIT_FN void add_values(const T *value, const Attention &p, const SplitPlace &at, const u8 *lines, u8 *strip,
                          float *sums, SplitShared<S::ROWS> &shared) {
    const u32 own_row = digit_row(thread_x()), own_column = digit_column(thread_x());
#pragma unroll 1
    for (u32 first = 0; first < p.d; first += STRIP) {
        // After scores, or the strip before, have been read.
        barrier();
        stage_values<S>(value, p, at, first, strip, shared);
        barrier();
        each_tile<S>([&](u32, u32 tile_row, u32 tile_column) {
            if (first + tile_column * 16 >= p.d)
                return;
            DigitSums sum[1][DIGIT_PARTS<1>][WEIGHTS<S::PLANES>];
            multiply_strip<S>(sum, lines, strip, tile_row, tile_column);
#pragma unroll
            for (u32 j = 0; j < DIGIT_PARTS<1>; j++)
#pragma unroll
                for (u32 own = 0; own < OWN_RESULTS; own++) {
                    const u32 row = tile_row * 16 + own_row + own / OWN_COLUMNS * ROW_STEP;
                    const u32 line = tile_column * 16 + own_column + j * DIGIT_COLUMNS + own % OWN_COLUMNS;
                    if (at.row0 + row >= p.rows || first + line >= p.d)
                        continue;
                    float result = value_of<S::PLANES>(weights_of<S::PLANES>(sum[0][j], own).of) * shared.line_scale[line];
                    if (shared.line_special[line] != 0 &&
                        sees_special(value, p, at.block * ATTENTION_KEYS, at.length, shared.visible[row], first + line))
                        result = math::f32::nan();
                    sums[(at.number + row) * p.blocks * p.d + first + line] = result;
                }
        });
    }
}

template <typename T, u32 M>
ISOBIT_FN void attention_split(const T *query, const T *key, const T *value, const T *mask, const u32 *lengths,
                               float *sums, float *tops, const Attention &p) {
    using S = SplitShape<T, M>;
    extern __shared__ vector_detail::words4 shared_words[];
    __shared__ SplitShared<S::ROWS> shared;
    u8 *lines = (u8 *)shared_words, *strip = lines + S::LINES;
    const u32 above = divide(block_x(), p.row_tiles), tile = block_x() - above * p.row_tiles.size;
    const u32 head = divide(above, p.blocks_of), batch = divide(head, p.kv_heads), row0 = p.row0 + tile * S::ROWS;
    const SplitPlace at = {batch, head - batch * p.kv_heads.size, above - head * p.blocks, row0,
                           length_of(p, lengths, batch), (u64)head * p.rows_of.size + tile * S::ROWS};
    key += kv_offset(p.key, at.batch, at.kv_head);
    value += kv_offset(p.value, at.batch, at.kv_head);
    sums += at.block * p.d;
    tops += at.block * 2;
    const TileKeys seen = keys_of_tile(p, row0, S::ROWS, at.length);
    const i32 key0 = (i32)(at.block * ATTENTION_KEYS);
    if (seen.end <= key0 || seen.first >= key0 + (i32)ATTENTION_KEYS || seen.first >= seen.end) {
        if (thread_x() < S::ROWS && row0 + thread_x() < p.rows)
            store(tops + (at.number + thread_x()) * p.blocks * 2, Pack<2, float>{negative_infinity(), 0});
        return;
    }
    make_scores<S>(query, key, p, at, lines, strip, shared);
    make_weights<S>(mask, p, at, lines, (float *)strip, tops, shared);
    add_values<S>(value, p, at, lines, strip, sums, shared);
}

// Must match ops/attention/split.rs.
static_assert(SplitShape<bf16, 4>::BYTES == 50176 && SplitShape<f16, 4>::BYTES == 58368);
static_assert(SplitShape<float, 4>::BYTES == 59392 && SplitShape<float, 1>::BYTES == 40960);
static_assert(SplitShape<bf16, 1>::BYTES == 21504 && SplitShape<f16, 1>::BYTES == 30720);

} // namespace isobit

// BLOCKS that fit on a multiprocessor together. Loading elements while those before are used takes
// registers for one of two, and is slower.
#define ISOBIT_ATTENTION_SPLIT(NAME, T, M, BLOCKS)                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS)                                                                                \
    NAME(const T *query, const T *key, const T *value, const T *mask, const u32 *lengths, float *sums, float *tops,    \
         const Attention p) {                                                                                          \
        attention_split<T, M>(query, key, value, mask, lengths, sums, tops, p);                                        \
    }                                                                                                                  \
    }
