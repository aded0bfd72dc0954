// What the steps of a reduction need of the row that they are in: its number, or what follows from
// the number at a cost, which a table in shared memory then has once for the whole block.
#pragma once

#include "device_lib/thread.cuh"
#include "ops/reduce/ops.cuh"

namespace isobit {

// Whether a reduction's steps take `Row`, which `row_of(row)` returns, instead of the number.
template <typename Op>
constexpr bool has_rows = false;

template <typename Op, bool TABLE = has_rows<Op>>
struct Rows {};
template <typename Op>
struct Rows<Op, true> {
    const typename Op::Row *table;
};

template <typename Op>
ISOBIT_FN u32 row_at(const Rows<Op, false> &, u32 row) {
    return row;
}
template <typename Op>
ISOBIT_FN const typename Op::Row &row_at(const Rows<Op, true> &rows, u32 row) {
    return rows.table[row];
}

// The rows of segments of at most `n` elements. The whole block must call it.
template <typename Op>
ISOBIT_FN Rows<Op> rows_of(u64 n) {
    if constexpr (has_rows<Op>) {
        __shared__ typename Op::Row table[REDUCE_SEGMENT / REDUCE_LANES];
        const u32 length = n < REDUCE_SEGMENT ? (u32)n : REDUCE_SEGMENT;
        const u32 rows = (length + REDUCE_LANES - 1) / REDUCE_LANES;
#pragma unroll 1
        for (u32 row = thread_x(); row < rows; row += block_dim_x())
            table[row] = Op::row_of(row);
        barrier();
        return Rows<Op>{table};
    } else {
        return Rows<Op>{};
    }
}

} // namespace isobit
