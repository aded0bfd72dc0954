// The parts of flash.cu that do not have to do with the order of its steps: what lies where, the
// integers of queries, products, and results that are no numbers.
#pragma once

#include "device_lib/async_copy.cuh"
#include "ops/attention/masked.cuh"
#include "ops/attention/packed.cuh"

namespace isobit {

ISOBIT_CONST u32 FLASH_BLOCK = 256;

// Eight teams: four groups of 16 M rows, each with one team for each half of the keys and, later,
// of the columns. Two digits leave registers for 32 rows of a team, three for 16. Products of 32
// keys or columns instead of 16, which read less of shared memory, are 5 % slower for heads of 128,
// and two blocks of threads with half as many rows 22 %.
template <u32 PLANES_, u32 D_, bool MASKED_>
struct FlashShape {
    // Whether there may be a mask or a soft-cap: their code costs registers.
    static constexpr bool MASKED = MASKED_;
    static constexpr u32 PLANES = PLANES_, D = D_, M = PLANES == 2 ? 2 : 1, ROWS = 64 * M;
    using P = PackedKeys<PLANES, D>;
    // Chunks of 16 keys and of 16 columns that a team has.
    static constexpr u32 KEY_CHUNKS = ATTENTION_KEYS / 2 / CHUNK_K, COLUMN_CHUNKS = D / 2 / CHUNK_K;
    // Words of marks of a row, of which the first is the row's.
    static constexpr u32 MARKS = 1 + D / WORD_BITS;
    // Where queries, weights, keys, values, what blocks have beside their integers, what the
    // threads of a row tell each other, marks, and what rows see lie.
    static constexpr u32 WEIGHTS_AT = ROWS / CHUNK_LINES * P::KEY_GROUP;
    static constexpr u32 KEYS_AT = WEIGHTS_AT + ROWS / CHUNK_LINES * P::VALUE_GROUP;
    static constexpr u32 VALUES_AT = KEYS_AT + P::VALUES, BESIDE_AT = VALUES_AT + P::VALUES;
    static constexpr u32 BESIDE = P::BYTES - P::KEY_SCALES;
    static constexpr u32 TOLD_AT = BESIDE_AT + 2 * BESIDE, TOLD = ROWS * 8 * 4, MARKS_AT = TOLD_AT + 2 * TOLD;
    static constexpr u32 OWN_ROWS_AT = MARKS_AT + (ROWS * MARKS * 4 + 15) / 16 * 16;
    static constexpr u32 BYTES = OWN_ROWS_AT + ROWS * 16;
};

// What a thread has of 16 M rows of the tile: rows `row`, 8 further, and so on, of the keys or
// columns of its side; of each 16 keys the four from 4 `quad` on.
struct FlashThread {
    u32 group, side, row, quad;
};
template <typename S>
ISOBIT_FN FlashThread flash_thread() {
    const u32 team = thread_x() / TILE_TEAM, group = team / 2;
    return {group, team % 2, group * 16 * S::M + tile_row(thread_x()), tile_column(thread_x()) / 2};
}
// The place of what the thread tells about one of its rows, among those of eight threads.
ISOBIT_FN u32 told_place(const FlashThread &own, u32 row) { return row * 8 + own.side * 4 + own.quad; }

template <u32 BYTES>
ISOBIT_FN void start_copy(u8 *to, const u8 *from) {
#pragma unroll
    for (u32 at = thread_x() * 16; at < BYTES; at += FLASH_BLOCK * 16)
        copy16_start(to + at, from + at);
}

// Makes integers of the queries of a tile. For each, `scales` gets what the integers count, and
// what the sum of its weights begins with, which is no number if the query is special.
template <typename S, typename T>
ISOBIT_FN void load_queries(const T *query, const Attention &p, u32 batch, u32 kv_head, u32 row0, u8 *lines,
                            float *scales, u32 (&shared)[PACK_BLOCK]) {
    const u32 member = member_of_thread();
#pragma unroll 1
    for (u32 first = 0; first < S::ROWS; first += PACK_LINES) {
        const u32 line = first + line_of_thread(), row = row0 + line;
        const bool exists = row < p.rows;
        const AttentionRow place = attention_row(p, exists ? row : 0);
        const T *from = query + row_offset(p.query, p, batch, kv_head, place);
        float x[PACK_EACH];
        read_line(x, from, p.query[3], p.d, exists, (p.vectors & 1) != 0);
        const auto integers = integers_of<S::PLANES, LINE_LIMIT>(x, shared);
        store_key<S::PLANES, S::D>(lines, line, integers.words);
        if (member == 0) {
            scales[line * 2] = power_of_two(integers.step);
            scales[line * 2 + 1] = integers.special ? math::f32::nan() : 0.0f;
        }
    }
}

// The sums of products of the rows of a team with 16 lines. A loop that is not unrolled, because
// all loads would come first and take registers: unrolled it is 28 % slower for heads of 128.
template <typename S, u32 DEPTH, u32 GROUP, u32 PLANE>
ISOBIT_FN void multiply_lines(DigitSums (&sum)[S::M][2][WEIGHTS<S::PLANES>], const u8 *rows, const u8 *lines) {
    multiply_digits<S::PLANES, true, S::M, 1, GROUP, PLANE>(sum, rows, lines, thread_x());
#pragma unroll 1
    for (u32 at = STEP_K; at < DEPTH; at += STEP_K)
        multiply_digits<S::PLANES, false, S::M, 1, GROUP, PLANE>(sum, rows + at * CHUNK_LINES, lines + at * CHUNK_LINES,
                                                                 thread_x());
}

// The largest of what the eight threads of a row have told, and the sum.
ISOBIT_FN float most_told(const float *told) {
    const Pack<4, float> a = load<4>(told), b = load<4>(told + 4);
    float most = a.v[0];
#pragma unroll
    for (u32 e = 0; e < 4; e++) {
        most = a.v[e] > most ? a.v[e] : most;
        most = b.v[e] > most ? b.v[e] : most;
    }
    return most;
}
ISOBIT_FN u32 sum_told(const u32 *told) {
    const Pack<4, u32> a = load<4>(told), b = load<4>(told + 4);
    return a.v[0] + a.v[1] + a.v[2] + a.v[3] + b.v[0] + b.v[1] + b.v[2] + b.v[3];
}

// Marks results that are no numbers: rows that see a special key, in the first word of a row, and
// those that see a special value in a column, in the others. `visible` has four keys in each byte.
template <typename S, typename T>
ISOBIT_FN void mark_special(u32 *marks, const T *value, const Attention &p, u32 key0, u32 length, const u8 *visible,
                            const u32 *special) {
#pragma unroll 1
    for (u32 at = thread_x(); at < S::ROWS * S::MARKS; at += FLASH_BLOCK) {
        const u32 word = at % S::MARKS;
        const u8 *of_row = visible + at / S::MARKS * ROW_QUADS;
        u32 marked = marks[at];
        if (word == 0) {
#pragma unroll 1
            for (u32 key = 0; key < ATTENTION_KEYS; key++)
                marked |= special[key / WORD_BITS] >> key % WORD_BITS & of_row[key / 4] >> key % 4 & 1;
        } else if (special[VALUES_SPECIAL] != 0) {
            const u32 first = (word - 1) * WORD_BITS;
#pragma unroll 1
            for (u32 column = first; column < first + WORD_BITS && column < p.d; column++)
                marked |= (sees_special(value, p, key0, length, of_row, column) ? 1u : 0u) << (column - first);
        }
        marks[at] = marked;
    }
}

} // namespace isobit
