// Shared code of the sort kernels: the host's description of a sort, the offsets of elements, and
// the integers by which elements are sorted. One set of kernels per element size serves every
// dtype, because the meaning of the bits is a parameter.
#pragma once

#include "device_lib/index.cuh"
#include "device_lib/limits.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// Must match `Order::new` and `Output` in sort/rows.rs.
ISOBIT_CONST u32 SORT_UNSIGNED = 0, SORT_SIGNED = 1;
ISOBIT_CONST u32 SORT_POSITIONS = 0, SORT_VALUES = 1;

// The host's `Order`.
struct Order {
    // Unsigned, signed, or a float.
    u32 kind;
    // Nonzero: sorts from the largest to the smallest.
    u32 descending;
    // For a float, the bits of the largest magnitude that is not NaN.
    u64 largest;
};

// Must match ops/sort/rows.rs.
static_assert(sizeof(Order) == 16);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Order, largest) == 8);

// The unsigned integer that sorts like the element. Zeros of both signs have the same key, and so
// do all NaNs.
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

// An element's key and its position in the row; the key is more significant. No two records of a
// row are equal, so any sort of them gives the stable order of the elements. The position has the
// `LOW` low bits, in one word if the key leaves room.
template <typename U>
struct Record {
    static constexpr u32 LOW = 64 - 8 * sizeof(U);
    u64 word;
    ISOBIT_FN Record of(U key, u64 position) { return Record{(u64)key << LOW | position}; }
    ISOBIT_FN bool before(const Record &a, const Record &b) { return a.word < b.word; }
    // A select between structs would go through memory.
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

// The rows of one launch; the host's `Rows`.
struct SortRows {
    Order order;
    // The offset of each row in source and destination, and the step from one element to the next.
    Index<2> rows;
    u64 src_step;
    u64 dst_step;
    // Elements per row, and how many of the sorted elements are wanted.
    u64 length;
    u64 keep;
    u32 count;
    u32 output;
};

// Must match ops/sort/rows.rs.
static_assert(sizeof(SortRows) == 288);
ISOBIT_LAYOUT(ISOBIT_OFFSET(SortRows, rows) == 16 && ISOBIT_OFFSET(SortRows, src_step) == 248);
ISOBIT_LAYOUT(ISOBIT_OFFSET(SortRows, count) == 280);

ISOBIT_FN u64 row_place(const SortRows &s, u32 row, int operand) {
    return s.rows.rank <= 1 ? row * s.rows.stride[operand][0] : offsets_of(s.rows, row).at[operand];
}

// Writes result `i` of the row that begins at `to`: a position, or the element at that position.
template <typename U>
ISOBIT_FN void write_result(void *dst, const SortRows &s, u64 to, u64 i, u64 position, U element) {
    const u64 at = to + i * s.dst_step;
    if (s.output == SORT_POSITIONS)
        ((u32 *)dst)[at] = (u32)position;
    else
        ((U *)dst)[at] = element;
}

} // namespace isobit
