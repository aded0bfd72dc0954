// What the kernels of sorting share: the host's description of a sort, where elements lie, and the
// integers that elements are sorted by. One set of kernels for each size of element serves every
// dtype: what its bits mean is a parameter.
#pragma once

#include "device_lib/index.cuh"
#include "device_lib/limits.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// The host's `Kind` and `Output` in sort/mod.rs.
ISOBIT_CONST u32 SORT_UNSIGNED = 0, SORT_SIGNED = 1;
ISOBIT_CONST u32 SORT_POSITIONS = 0, SORT_VALUES = 1;

// The host's `Order`.
struct Order {
    // Unsigned, signed, or a float.
    u32 kind;
    // Nonzero: from the largest to the smallest.
    u32 descending;
    // A float's bits of which the magnitude is beyond every value's, its NaNs' excepted.
    u64 largest;
};

// As in ops/sort/rows.rs.
static_assert(sizeof(Order) == 16);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Order, largest) == 8);

// The unsigned integer that sorts as the element does. Zeros of both signs have one, and all NaNs.
template <typename U>
ISOBIT_FN U key_of(U bits, const Order &order) {
    constexpr U SIGN = (U)((U)1 << (8 * sizeof(U) - 1));
    U key = bits;
    if (order.kind == SORT_SIGNED) {
        key = (U)(bits ^ SIGN);
    } else if (order.kind != SORT_UNSIGNED) {
        const U magnitude = (U)(bits & (U)~SIGN);
        key = bits & SIGN ? (U)~bits : (U)(bits ^ SIGN);
        key = magnitude == 0 ? SIGN : magnitude > (U)order.largest ? (U)~(U)0 : key;
    }
    return order.descending != 0 ? (U)~key : key;
}

// An element's key and its position in the row, of which the key counts more: no two of a row are
// equal, so sorting them in any way gives the stable order of the elements. `LOW` bits are the
// position's, in one word where the key leaves room.
template <typename U>
struct Record {
    static constexpr u32 LOW = 64 - 8 * sizeof(U);
    u64 word;
    ISOBIT_FN Record of(U key, u64 position) { return Record{(u64)key << LOW | position}; }
    ISOBIT_FN bool before(const Record &a, const Record &b) { return a.word < b.word; }
    // A choice between structures would take them through memory.
    ISOBIT_FN Record pick(bool first, const Record &a, const Record &b) { return Record{first ? a.word : b.word}; }
    ISOBIT_FN u64 position(const Record &r) { return r.word & (~(u64)0 >> (8 * sizeof(U))); }
};
template <>
struct alignas(16) Record<u64> {
    u64 key;
    u64 at;
    ISOBIT_FN Record of(u64 key, u64 position) { return Record{key, position}; }
    ISOBIT_FN bool before(const Record &a, const Record &b) { return a.key < b.key || (a.key == b.key && a.at < b.at); }
    ISOBIT_FN Record pick(bool first, const Record &a, const Record &b) {
        return Record{first ? a.key : b.key, first ? a.at : b.at};
    }
    ISOBIT_FN u64 position(const Record &r) { return r.at; }
};

// The host's `Rows`: the rows of one launch.
struct SortRows {
    Order order;
    // Where each row begins in source and destination, and how far it is from one element to the
    // next.
    Index<2> rows;
    u64 src_step;
    u64 dst_step;
    // Elements of a row, and how many of the sorted ones are asked for.
    u64 length;
    u64 keep;
    u32 count;
    u32 output;
};

// As in ops/sort/rows.rs.
static_assert(sizeof(SortRows) == 288);
ISOBIT_LAYOUT(ISOBIT_OFFSET(SortRows, rows) == 16 && ISOBIT_OFFSET(SortRows, src_step) == 248);
ISOBIT_LAYOUT(ISOBIT_OFFSET(SortRows, count) == 280);

ISOBIT_FN u64 row_place(const SortRows &s, u32 row, int operand) {
    return s.rows.rank <= 1 ? row * s.rows.stride[operand][0] : offsets_of(s.rows, row).at[operand];
}

// Writes result `i` of the row that begins at `to`: a position, or the element there.
template <typename U>
ISOBIT_FN void write_result(void *dst, const SortRows &s, u64 to, u64 i, u64 position, U element) {
    const u64 at = to + i * s.dst_step;
    if (s.output == SORT_POSITIONS)
        ((u32 *)dst)[at] = (u32)position;
    else
        ((U *)dst)[at] = element;
}

} // namespace isobit
