// Attention of a tile of queries to all blocks of keys, one after the other: integers of keys and
// values come from flash_pack.cu, and weights never leave the multiprocessor. For NVIDIA's cards
// with matrix units and room for a block of keys and of values in shared memory.
//
// Of a block the keys are read first, then the values; each is copied while the other is used.
#include "ops/attention/flash.cuh"

namespace isobit {

#if defined(ISOBIT_INT_MMA)
ISOBIT_CONST bool HAS_FLASH = true;
#else
ISOBIT_CONST bool HAS_FLASH = false;
#endif

// Of each 16 M rows and 16 keys: rows 16 apart, the first and last two of four keys, and in these
// row by row. In other arrays rows 16 apart, and 8.
template <typename S>
using FlashScores = float[S::KEY_CHUNKS][S::M][2][4];
template <typename S>
using OfRows = float[S::M][2];

// The score of a row, 8 `r` after the first of 16, and of a key among four.
template <typename S>
ISOBIT_FN float &score_at(FlashScores<S> &score, u32 c, u32 i, u32 r, u32 key) {
    return score[c][i][key / 2][r * 2 + key % 2];
}

template <typename S>
ISOBIT_FN void make_scores(FlashScores<S> &score, const FlashThread &own, const u8 *queries, const u8 *keys,
                           const float *key_scales, const OfRows<S> &query_scale) {
    using P = typename S::P;
#pragma unroll
    for (u32 c = 0; c < S::KEY_CHUNKS; c++) {
        DigitSums sums[S::M][2][WEIGHTS<S::PLANES>];
        multiply_lines<S, S::D, P::KEY_GROUP, P::KEY_PLANE>(
            sums, queries + own.group * 2 * S::M * P::KEY_GROUP,
            keys + (own.side * S::KEY_CHUNKS + c) * 2 * P::KEY_GROUP);
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            const Pack<2, float> scale =
                load<2>(key_scales + (own.side * S::KEY_CHUNKS + c) * CHUNK_K + j * CHUNK_LINES + own.quad * 2);
#pragma unroll
            for (u32 i = 0; i < S::M; i++)
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    const auto row = RowScale<S::PLANES>::of(query_scale[i][e / 2]);
                    score[c][i][j][e] =
                        scaled_value<S::PLANES>(weights_of<S::PLANES>(sums[i][j], e).of, row) * scale.v[e % 2];
                }
        }
    }
}

// Applies the mask and the window.
template <typename S, typename T>
ISOBIT_FN void hide_keys(FlashScores<S> &score, const FlashThread &own, const Attention &p, const MaskedRow<T> *rows,
                         i32 key0) {
#pragma unroll
    for (u32 i = 0; i < S::M; i++)
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const MaskedRow<T> row = rows[own.row + i * 16 + r * 8];
#pragma unroll
            for (u32 c = 0; c < S::KEY_CHUNKS; c++)
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    float &x = score_at<S>(score, c, i, r, e);
                    const i32 key = key0 + (i32)((own.side * S::KEY_CHUNKS + c) * CHUNK_K + own.quad * 4 + e);
                    x = S::MASKED ? masked(x, p, row, key) : in_window(x, row.window, key);
                }
        }
}

// Tells which keys each row sees, four in a byte.
template <typename S>
ISOBIT_FN void tell_visible(FlashScores<S> &score, const FlashThread &own, u8 *visible) {
#pragma unroll
    for (u32 i = 0; i < S::M; i++)
#pragma unroll
        for (u32 r = 0; r < 2; r++)
#pragma unroll
            for (u32 c = 0; c < S::KEY_CHUNKS; c++) {
                u32 four = 0;
#pragma unroll
                for (u32 e = 0; e < 4; e++)
                    four |= (score_at<S>(score, c, i, r, e) != negative_infinity() ? 1u : 0u) << e;
                const u32 quad = (own.side * S::KEY_CHUNKS + c) * 4 + own.quad;
                visible[(own.row + i * 16 + r * 8) * ROW_QUADS + quad] = (u8)four;
            }
}

// Tells the largest score of each row.
template <typename S>
ISOBIT_FN void tell_most(FlashScores<S> &score, const FlashThread &own, float *told) {
#pragma unroll
    for (u32 i = 0; i < S::M; i++)
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            float most = negative_infinity();
#pragma unroll
            for (u32 c = 0; c < S::KEY_CHUNKS; c++)
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    const float x = score_at<S>(score, c, i, r, e);
                    most = x > most ? x : most;
                }
            told[told_place(own, own.row + i * 16 + r * 8)] = most;
        }
}

// Makes weights of the scores, and tells their sums.
template <typename S>
ISOBIT_FN void make_weights(FlashScores<S> &score, const FlashThread &own, const OfRows<S> &most, u8 *weights,
                            u32 *told_sums) {
#pragma unroll
    for (u32 i = 0; i < S::M; i++)
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            u32 all = 0;
            u8 *group = weights + ((own.group * S::M + i) * 2 + r) * S::P::VALUE_GROUP +
                        tile_row(thread_x()) * CHUNK_K + own.quad * 4;
#pragma unroll
            for (u32 c = 0; c < S::KEY_CHUNKS; c++) {
                u32 biased[4];
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    const float weight = weight_of<S::PLANES>(score_at<S>(score, c, i, r, e), most[i][r]);
                    biased[e] = biased_integer<S::PLANES>(weight);
                    all += biased[e];
                }
                const auto words = four_digits<S::PLANES>(biased);
#pragma unroll
                for (u32 plane = 0; plane < S::PLANES; plane++)
                    *(u32 *)(group + plane * PLANE_BYTES + (own.side * S::KEY_CHUNKS + c) * CHUNK_BYTES) =
                        words.of[plane];
            }
            told_sums[told_place(own, own.row + i * 16 + r * 8)] =
                all - S::KEY_CHUNKS * 4 * biased_integer<S::PLANES>(0.0f);
        }
}

// Adds products of weights and values. `added` is what the weights count.
template <typename S>
ISOBIT_FN void add_values(float (&result)[S::M][2 * S::COLUMN_CHUNKS][4], const FlashThread &own, const u8 *weights,
                          const u8 *values, const float *value_scales, const OfRows<S> &added) {
    using P = typename S::P;
#pragma unroll
    for (u32 c = 0; c < S::COLUMN_CHUNKS; c++) {
        const u32 chunk = own.side * S::COLUMN_CHUNKS + c;
        DigitSums sums[S::M][2][WEIGHTS<S::PLANES>];
        multiply_lines<S, ATTENTION_KEYS, P::VALUE_GROUP, PLANE_BYTES>(
            sums, weights + own.group * 2 * S::M * P::VALUE_GROUP, values + chunk * 2 * P::VALUE_GROUP);
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            const Pack<2, float> scale = load<2>(value_scales + chunk * CHUNK_K + j * CHUNK_LINES + own.quad * 2);
#pragma unroll
            for (u32 i = 0; i < S::M; i++)
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    const auto row = RowScale<S::PLANES>::of(added[i][e / 2] * weight_unit<S::PLANES>());
                    float &to = result[i][c * 2 + j][e];
                    to = add_near<S::PLANES>(to, weights_of<S::PLANES>(sums[i][j], e).of, row, scale.v[e % 2]);
                }
        }
    }
}

template <typename S, typename T>
ISOBIT_FN void attention_flash(const T *query, const T *value, const T *mask, const u32 *lengths, const u8 *packed,
                               T *to, const Attention &p) {
    using P = typename S::P;
    constexpr u32 M = S::M;
    extern __shared__ vector_detail::words4 shared_words[];
    __shared__ u32 shared[PACK_BLOCK];
    u8 *all = (u8 *)shared_words;
    u8 *queries = all, *weights = all + S::WEIGHTS_AT, *keys = all + S::KEYS_AT, *values = all + S::VALUES_AT;
    float *told = (float *)(all + S::TOLD_AT);
    u32 *told_sums = (u32 *)(all + S::TOLD_AT + S::TOLD), *marks = (u32 *)(all + S::MARKS_AT);
    auto *rows = (MaskedRow<T> *)(all + S::OWN_ROWS_AT);

    // Later queries, which see more keys of causal attention, begin first.
    const u32 head = divide(block_x(), p.row_tiles), tile = p.row_tiles.size - 1 - (block_x() - head * p.row_tiles.size);
    const u32 batch = divide(head, p.kv_heads), kv_head = head - batch * p.kv_heads.size;
    const u32 row0 = p.row0 + tile * S::ROWS, length = length_of(p, lengths, batch);
    const TileKeys seen = keys_of_tile(p, row0, S::ROWS, length);
    const u32 first_block = (u32)seen.first / ATTENTION_KEYS;
    const u32 end_block = seen.end > seen.first ? ((u32)seen.end + ATTENTION_KEYS - 1) / ATTENTION_KEYS : first_block;
    packed += (u64)head * p.blocks * P::BYTES;
    value += kv_offset(p.value, batch, kv_head);

    const auto start_keys = [&](u32 block) {
        const u8 *from = packed + (u64)block * P::BYTES;
        start_copy<P::VALUES>(keys, from + P::KEYS);
        start_copy<S::BESIDE>(all + S::BESIDE_AT + block % 2 * S::BESIDE, from + P::KEY_SCALES);
        copies_commit();
    };
    if (first_block < end_block)
        start_keys(first_block);
    for (u32 at = thread_x(); at < S::ROWS * S::MARKS; at += FLASH_BLOCK)
        marks[at] = 0;
    if (thread_x() < S::ROWS)
        rows[thread_x()] = masked_row(p, mask, batch, kv_head, row0 + thread_x(), length);
    load_queries<S>(query, p, batch, kv_head, row0, queries, told, shared);
    barrier();
    const FlashThread own = flash_thread<S>();
    // Of the eight threads of each row, the first have the sum of one of their rows each.
    const u32 sum_of = own.side * 4 + own.quad;
    float result[M][2 * S::COLUMN_CHUNKS][4], sum = 0;
    OfRows<S> top, query_scale;
#pragma unroll
    for (u32 i = 0; i < M; i++)
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const u32 row = own.row + i * 16 + r * 8;
            top[i][r] = negative_infinity();
            query_scale[i][r] = told[row * 2];
            if (sum_of == i * 2 + r)
                sum = told[row * 2 + 1];
        }
#pragma unroll
    for (u32 i = 0; i < M; i++)
#pragma unroll
        for (u32 j = 0; j < 2 * S::COLUMN_CHUNKS; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                result[i][j][e] = 0;

#pragma unroll 1
    for (u32 block = first_block; block < end_block; block++) {
        copies_wait();
        barrier();
        start_copy<P::VALUES>(values, packed + (u64)block * P::BYTES + P::VALUES);
        copies_commit();
        const float *key_scales = (const float *)(all + S::BESIDE_AT + block % 2 * S::BESIDE);
        const float *value_scales = key_scales + ATTENTION_KEYS;
        const u32 *special = (const u32 *)(value_scales + S::D);
        const i32 key0 = (i32)(block * ATTENTION_KEYS);

        FlashScores<S> score;
        make_scores<S>(score, own, queries, keys, key_scales, query_scale);
        if constexpr (S::MASKED) {
            if (p.cap != 0) {
#pragma unroll
                for (u32 c = 0; c < S::KEY_CHUNKS; c++)
#pragma unroll
                    for (u32 i = 0; i < M; i++)
#pragma unroll
                        for (u32 e = 0; e < 8; e++)
                            score[c][i][e / 4][e % 4] = capped(score[c][i][e / 4][e % 4], p);
            }
        }
        // Only at the edge of windows, and with a mask, are keys hidden.
        if (S::MASKED || key0 < seen.inner_first || key0 + (i32)ATTENTION_KEYS > seen.inner_end)
            hide_keys<S>(score, own, p, rows, key0);
        const bool is_special = (special[0] | special[1] | special[2] | special[3] | special[VALUES_SPECIAL]) != 0;
        // Where weights will be.
        if (is_special)
            tell_visible<S>(score, own, weights);
        tell_most<S>(score, own, told);
        barrier();
        if (is_special) {
            mark_special<S>(marks, value, p, (u32)key0, length, weights, special);
            barrier();
        }
        // Of the next block, into the memory of the keys that all have read.
        if (block + 1 < end_block)
            start_keys(block + 1);
        else
            copies_commit();

        OfRows<S> most, before, added;
        bool is_same = true;
#pragma unroll
        for (u32 i = 0; i < M; i++)
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                most[i][r] = ceil(most_told(told + (own.row + i * 16 + r * 8) * 8));
                const float next = most[i][r] > top[i][r] ? most[i][r] : top[i][r];
                before[i][r] = before_of(top[i][r], next);
                added[i][r] = added_of(most[i][r], next);
                is_same &= before[i][r] == 1;
                top[i][r] = next;
            }
        make_weights<S>(score, own, most, weights, told_sums);
        if (!is_same) {
#pragma unroll
            for (u32 i = 0; i < M; i++)
#pragma unroll
                for (u32 j = 0; j < 2 * S::COLUMN_CHUNKS; j++)
#pragma unroll
                    for (u32 e = 0; e < 4; e++)
                        result[i][j][e] *= before[i][e / 2];
        }
        copies_wait_but<1>();
        barrier();
#pragma unroll
        for (u32 i = 0; i < M; i++)
#pragma unroll
            for (u32 r = 0; r < 2; r++)
                if (sum_of == i * 2 + r) {
                    const i32 integer = (i32)sum_told(told_sums + (own.row + i * 16 + r * 8) * 8);
                    sum = fma((float)integer * weight_unit<S::PLANES>(), added[i][r], sum * before[i][r]);
                    if (most[i][r] == math::f32::inf())
                        sum = math::f32::nan();
                }
        add_values<S>(result, own, weights, values, value_scales, added);
    }
    // What each row is divided by.
    barrier();
    if (sum_of < 2 * M)
        told[own.row + sum_of / 2 * 16 + sum_of % 2 * 8] = sum;
    barrier();
#pragma unroll
    for (u32 i = 0; i < M; i++)
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const u32 line = own.row + i * 16 + r * 8;
            if (row0 + line >= p.rows)
                continue;
            T *row = to + row_offset(p.to, p, batch, kv_head, attention_row(p, row0 + line));
            const float divisor = top[i][r] == negative_infinity() ? 1.0f
                                  : marks[line * S::MARKS] != 0    ? math::f32::nan()
                                                                   : told[line];
#pragma unroll
            for (u32 j = 0; j < 2 * S::COLUMN_CHUNKS; j++)
#pragma unroll
                for (u32 e = 0; e < 2; e++) {
                    const u32 column = own.side * (S::D / 2) + j * 8 + own.quad * 2 + e;
                    const u32 of_columns = marks[line * S::MARKS + 1 + column / WORD_BITS];
                    const float x = (result[i][j][r * 2 + e] + 0.0f) / divisor;
                    if (column < p.d)
                        row[column * p.to[3]] =
                            from_compute<T>((of_columns >> column % WORD_BITS & 1) != 0 ? math::f32::nan() : x);
                }
        }
}

// Where there are no such units, the kernel is never launched.
template <typename T, u32 D, bool MASKED>
ISOBIT_FN void attention_flash_any(const T *query, const T *value, const T *mask, const u32 *lengths, const u8 *packed,
                                   T *to, const Attention &p) {
    if constexpr (HAS_FLASH)
        attention_flash<FlashShape<Digits<T>::COUNT, D, MASKED>>(query, value, mask, lengths, packed, to, p);
}

// Must match ops/attention/flash.rs.
static_assert(FlashShape<2, 128, false>::BYTES == 145984 && FlashShape<3, 128, false>::BYTES == 155968);
static_assert(FlashShape<2, 64, false>::BYTES == 95296 && FlashShape<3, 64, false>::BYTES == 93504);

} // namespace isobit

#define ISOBIT_ATTENTION_FLASH(NAME, T, D, MASKED)                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, 1)                                                                                     \
    NAME(const T *query, const T *value, const T *mask, const u32 *lengths, const u8 *packed, T *to,                   \
         const Attention p) {                                                                                          \
        attention_flash_any<T, D, MASKED>(query, value, mask, lengths, packed, to, p);                                 \
    }                                                                                                                  \
    }
