// What the kernels of attention share: the parameters, the integers of a segment of one level,
// which keys a query sees, and weights. The definition: docs/numerics/attention.md.
#pragma once

#include "device_lib/index.cuh"
#include "device_lib/math/f32_core.cuh"
#include "ops/matmul/block/quantize.cuh"

namespace isobit {

// Keys per block, whose weights have one unit.
ISOBIT_CONST u32 ATTENTION_KEYS = BLOCK_SEGMENT, ROW_QUADS = ATTENTION_KEYS / 4;
// The bits of 2^80, from which on the elements of queries and keys are special, and of 2^120, from
// which on those of values are.
ISOBIT_CONST u32 LINE_LIMIT = 0x67800000u, VALUE_LIMIT = 0x7b800000u;
ISOBIT_CONST i32 LEAST_STEP = -100;

// The host's `Parameters` in attention/mod.rs. A row is a query of one of the heads that share
// keys: `m` queries of the first head, then those of the next.
struct Attention {
    // Of the rows of a head, a launch has those from `row0` to `rows`.
    u32 m, n, d, row0, rows;
    // Blocks of keys.
    u32 blocks;
    // The window of a query: how many keys before and after its own.
    i32 left, right;
    // What scores are multiplied by, and the soft-cap times log2 e, or 0.
    float factor, cap;
    // Bit 0: there is a mask; bit 1: there are lengths.
    u32 inputs;
    // Whether 16 bytes can be loaded at once: of queries and keys along d (bits 0 and 1), of values
    // along d (bit 2).
    u32 vectors;
    u32 group, unused;
    Divisor m_of, rows_of, kv_heads, row_tiles, blocks_of, d_of;
    // By batch, head (of keys for keys and values), query or key, and d; of masks, key.
    u64 query[4], key[4], value[4], mask[4], to[4];
    u64 length;
};

// Must match ops/attention/mod.rs.
static_assert(sizeof(Attention) == 296);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Attention, m_of) == 56 && ISOBIT_OFFSET(Attention, query) == 128);

// A row's head among those that share keys, and its query.
struct AttentionRow {
    u32 head, query;
};
ISOBIT_FN AttentionRow attention_row(const Attention &p, u32 row) {
    const u32 head = divide(row, p.m_of);
    return {head, row - head * p.m};
}

// Where a head of the keys begins, and where a row does, in a tensor with these strides.
ISOBIT_FN u64 kv_offset(const u64 (&stride)[4], u32 batch, u32 kv_head) { return batch * stride[0] + kv_head * stride[1]; }
ISOBIT_FN u64 row_offset(const u64 (&stride)[4], const Attention &p, u32 batch, u32 kv_head, const AttentionRow &row) {
    return batch * stride[0] + (kv_head * p.group + row.head) * stride[1] + row.query * stride[2];
}

// The number of keys of a batch entry.
ISOBIT_FN u32 length_of(const Attention &p, const u32 *lengths, u32 batch) {
    const u32 length = (p.inputs & 2) != 0 ? lengths[batch * p.length] : p.n;
    return length < p.n ? length : p.n;
}

// The first key that a query sees, and the one after the last.
struct Window {
    i32 first, end;
};
ISOBIT_FN Window window_of(const Attention &p, u32 query, u32 length) {
    const i64 own = (i64)query + length - p.m, first = own - p.left, end = own + p.right + 1;
    return {(i32)(first < 0 ? 0 : first > length ? length : first), (i32)(end < 0 ? 0 : end > length ? length : end)};
}

ISOBIT_FN float negative_infinity() { return -math::f32::inf(); }

// A segment of a line as integers of one level.
template <u32 PLANES>
struct Integers {
    DigitWords<PLANES> words;
    i32 step;
    bool special;
};
// Elements whose bits reach LIMIT count as 0. All threads of the team must call it together.
template <u32 PLANES, u32 LIMIT>
ISOBIT_FN Integers<PLANES> integers_of(float (&x)[PACK_EACH], u32 (&shared)[PACK_BLOCK]) {
    u32 largest = largest_of(x), special = 0;
    if (largest >= LIMIT) {
        special = 0x80000000u;
#pragma unroll
        for (u32 i = 0; i < PACK_EACH; i++)
            if ((to_bits(x[i]) & 0x7fffffffu) >= LIMIT)
                x[i] = 0;
        largest = largest_of(x);
    }
    // After the line before has been read.
    team_barrier();
    shared[place_of_thread()] = largest | special;
    team_barrier();
    const Pack<4, u32> all = told_by_line(shared);
#pragma unroll
    for (u32 i = 0; i < PACK_TEAM; i++) {
        const u32 bits = all.v[i] & 0x7fffffffu;
        largest = bits > largest ? bits : largest;
        special |= all.v[i];
    }
    const i32 nearest = step_of<PLANES>(largest).step, step = nearest < LEAST_STEP ? LEAST_STEP : nearest;
    u32 biased[PACK_EACH];
    const float scale = power_of_two(-step);
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i++)
        biased[i] = biased_product<PLANES>(x[i], scale);
    return {digits_of<PLANES>(biased), step, (special & 0x80000000u) != 0};
}

// A thread's elements of a segment of a line that is read by itself: of `length` elements, `stride`
// apart; those that do not exist are 0. If `vectors`, 16 bytes can be loaded at once.
template <typename T>
ISOBIT_FN void read_line(float (&x)[PACK_EACH], const T *line, u64 stride, u32 length, bool exists, bool vectors) {
#pragma unroll
    for (u32 c = 0; c < PACK_CHUNKS; c++)
#pragma unroll
        for (u32 i = 0; i < CHUNK_K; i += PACK_VECTOR<T>) {
            const u32 k = (c * PACK_TEAM + member_of_thread()) * CHUNK_K + i;
            Pack<(int)PACK_VECTOR<T>, T> some{};
            if (vectors && exists && k + PACK_VECTOR<T> <= length) {
                some = load<(int)PACK_VECTOR<T>>(line + k);
            } else {
#pragma unroll
                for (u32 e = 0; e < PACK_VECTOR<T>; e++)
                    if (exists && k + e < length)
                        some.v[e] = line[(k + e) * stride];
            }
#pragma unroll
            for (u32 e = 0; e < PACK_VECTOR<T>; e++)
                x[c * CHUNK_K + i + e] = to_compute(some.v[e]);
        }
}

// Integers of eight columns of the values of a block of keys, from key `key0` of `length` on, by a
// team. Elements that do not exist are 0. `rows` has room for the elements.
template <u32 PLANES, typename T>
ISOBIT_FN Integers<PLANES> integers_of_columns(const T *value, const Attention &p, u32 key0, u32 length, u32 column,
                                               T *rows, u32 (&shared)[PACK_BLOCK]) {
    const BlockLines lines = {p.d, 1, p.n, p.value[3], p.value[2], (p.vectors & 4) != 0 ? 1u : 0u};
    const u32 columns = column < p.d ? p.d - column : 0, keys = key0 < length ? length - key0 : 0;
    copy_lines(rows, value + key0 * p.value[2] + column * p.value[3], lines, columns, keys);
    team_barrier();
    float x[PACK_EACH];
    take_rows(x, rows);
    return integers_of<PLANES, VALUE_LIMIT>(x, shared);
}

// The exponent of a weight of 1.
template <u32 PLANES>
ISOBIT_CONST i32 WEIGHT_ONE = PLANES == 2 ? 14 : 22;
// What an integer weight counts by one.
template <u32 PLANES>
ISOBIT_FN float weight_unit() {
    return power_of_two(-WEIGHT_ONE<PLANES>);
}

// 2^(score - top) in units of weights, before it is rounded to an integer. The polynomial is the
// one of least relative error with the value 1 at 0.
template <u32 PLANES>
ISOBIT_FN float weight_of(float score, float top) {
    const float difference = score - top, power = difference > -40.0f ? difference : -40.0f;
    const float whole = power + math::f32::ROUNDER, part = power - (whole - math::f32::ROUNDER);
    float p;
    if constexpr (PLANES == 2) {
        p = fma(0x1.39f3a6p-7f, part, 0x1.c9fb52p-5f);
        p = fma(p, part, 0x1.ec03b6p-3f);
        p = fma(p, part, 0x1.62e132p-1f);
    } else {
        p = fma(0x1.36b544p-13f, part, 0x1.5e427cp-10f);
        p = fma(p, part, 0x1.3b3306p-7f);
        p = fma(p, part, 0x1.c6b082p-5f);
        p = fma(p, part, 0x1.ebfbep-3f);
        p = fma(p, part, 0x1.62e43p-1f);
    }
    p = fma(p, part, 1.0f);
    return from_bits(to_bits(p) + (to_bits(whole) << 23) + ((u32)WEIGHT_ONE<PLANES> << 23));
}

// How much sums with one top count beside sums with another that is not smaller.
ISOBIT_FN float before_of(float top, float next) {
    const float difference = top - next;
    return power_of_two((i32)(difference > -126.0f ? difference : -126.0f));
}
ISOBIT_FN float added_of(float top, float next) {
    const float difference = top - next;
    return power_of_two((i32)(difference > -100.0f ? difference : -100.0f));
}

} // namespace isobit
