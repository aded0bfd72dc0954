// What a row sees: windows, masks, the soft-cap, and special values.
#pragma once

#include "device_lib/math/f32_hyperbolic.cuh"
#include "ops/attention/attention.cuh"

namespace isobit {

// The keys that any row of a tile may see, and those that all rows see, if no mask hides them. Rows
// that do not exist do not count.
struct TileKeys {
    i32 first, end, inner_first, inner_end;
};
ISOBIT_FN TileKeys keys_of_tile(const Attention &p, u32 row0, u32 rows, u32 length) {
    const u32 last = row0 + rows < p.rows ? row0 + rows - 1 : p.rows - 1;
    const AttentionRow from = attention_row(p, row0), to = attention_row(p, last);
    const bool is_one = from.head == to.head;
    const Window top = window_of(p, is_one ? from.query : 0, length);
    const Window bottom = window_of(p, is_one ? to.query : p.m - 1, length);
    return {top.first, bottom.end, bottom.first, top.end};
}

// A row's window, and its line of the mask.
template <typename T>
struct MaskedRow {
    Window window;
    const T *mask;
};
// Rows that do not exist see nothing.
template <typename T>
ISOBIT_FN MaskedRow<T> masked_row(const Attention &p, const T *mask, u32 batch, u32 kv_head, u32 row, u32 length) {
    if (row >= p.rows)
        return {{0, 0}, mask};
    const AttentionRow place = attention_row(p, row);
    return {window_of(p, place.query, length), mask + row_offset(p.mask, p, batch, kv_head, place)};
}

// A score, or minus infinity if the key is not in the window.
ISOBIT_FN float in_window(float score, const Window &window, i32 key) {
    return key >= window.first && key < window.end ? score : negative_infinity();
}
ISOBIT_FN float capped(float score, const Attention &p) { return p.cap * math::tanh(score); }

// A score with the mask; minus infinity if the key is hidden, infinity if there is no number.
template <typename T>
ISOBIT_FN float masked(float score, const Attention &p, const MaskedRow<T> &row, i32 key) {
    if (key < row.window.first || key >= row.window.end)
        return negative_infinity();
    if ((p.inputs & 1) != 0) {
        const float added = to_compute(row.mask[key * p.mask[3]]);
        score = added == negative_infinity() ? added : fma(added, math::f32::LOG2_E, score);
    }
    return is_nan(score) ? math::f32::inf() : score;
}

// Whether a row sees a key of the block from `key0` on whose element in a column of values is
// special. `visible` has four keys in each byte.
template <typename T>
ISOBIT_FN bool sees_special(const T *value, const Attention &p, u32 key0, u32 length, const u8 *visible, u32 column) {
    value += key0 * p.value[2] + column * p.value[3];
    bool sees = false;
#pragma unroll 1
    for (u32 key = 0; key < ATTENTION_KEYS && key0 + key < length; key++) {
        const u32 bits = to_bits(to_compute(value[key * p.value[2]])) & 0x7fffffffu;
        sees |= bits >= VALUE_LIMIT && (visible[key / 4] >> key % 4 & 1) != 0;
    }
    return sees;
}

} // namespace isobit
