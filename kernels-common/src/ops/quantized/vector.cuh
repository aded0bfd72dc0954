// Products with few rows of activations, one per thread block. A thread takes a row of `w` and a
// segment of k, and the values of the segments are added in order. The bytes of `w` pass through
// shared memory, because with blocks of 18 to 292 bytes the loads of neighbouring threads would be
// scattered.
#pragma once

#include "device_lib/async_copy.cuh"
#include "device_lib/ids.cuh"
#include "ops/quantized/product.cuh"

namespace isobit {

ISOBIT_CONST u32 Q_VECTOR_BLOCK = 128;

// The position of a thread block in the product: threads run along segments, SEGMENTS at a time,
// and then along rows of `w`.
struct VectorPlace {
    u32 segment, row, n0, m;
    // Rows of `w` that the thread block has.
    u32 n_left;
};

template <u32 SEGMENTS>
ISOBIT_FN VectorPlace vector_place(const QProduct &p) {
    VectorPlace at;
    at.m = divide(block_x(), p.n_tiles);
    at.segment = thread_x() % SEGMENTS;
    at.row = thread_x() / SEGMENTS;
    at.n0 = (block_x() - at.m * p.n_tiles.size) * (Q_VECTOR_BLOCK / SEGMENTS);
    at.n_left = p.n - at.n0;
    return at;
}

// Starts loading a chunk of SEGMENTS segments of a row into shared memory. The threads of the row
// share the work. If k ends within the last segment, the rest is filled with zeros.
template <typename F, u32 SEGMENTS>
ISOBIT_FN void start_chunk(u8 *to, const u8 *from, u32 lane, u32 blocks) {
    constexpr u32 WHOLE = SEGMENTS * Q_SEGMENT / F::BLOCK;
    const u32 has = blocks / (F::BLOCK / Q_BLOCK);
    const u32 bytes = (has < WHOLE ? has : WHOLE) * F::BYTES;
    u32 at = 0;
    if ((u64)from % 16 == 0) {
#pragma unroll 4
        for (u32 i = lane * 16; i + 16 <= bytes; i += SEGMENTS * 16)
            copy16_start(to + i, from + i);
        at = bytes / 16 * 16;
    }
    constexpr u32 SIZE = F::BYTES % 2 == 0 ? 2 : 1;
    using Part = typename vector_detail::bits_of_size<SIZE>::type;
#pragma unroll 4
    for (u32 i = at + lane * SIZE; i < bytes; i += SEGMENTS * SIZE)
        *(Part *)(to + i) = *(const Part *)(from + i);
    const u32 end = (bytes + Q_SEGMENT_BYTES<F> - 1) / Q_SEGMENT_BYTES<F> * Q_SEGMENT_BYTES<F>;
    for (u32 i = bytes + lane * SIZE; i < end; i += SEGMENTS * SIZE)
        *(Part *)(to + i) = 0;
}

// Adds the segments of a chunk, which threads left in `values`, to the result so far, which each
// row's thread of the first ones has.
template <u32 SEGMENTS>
ISOBIT_FN float add_chunk(const float *values, float total, const VectorPlace &at, u32 segments) {
    if (thread_x() < Q_VECTOR_BLOCK / SEGMENTS && thread_x() < at.n_left) {
        const float *from = values + thread_x() * (SEGMENTS + 1);
        for (u32 s = 0; s < SEGMENTS && s < segments; s++)
            total = total + from[s];
    }
    return total;
}

template <u32 SEGMENTS>
ISOBIT_FN void put_results(const QProduct &p, const VectorPlace &at, void *y, float total) {
    if (thread_x() < Q_VECTOR_BLOCK / SEGMENTS && thread_x() < at.n_left)
        put_value(y, at.m * p.y_row + at.n0 + thread_x(), p.dtype, total);
}

// The matrix that an id selects for a row of the result: null if the id selects none. An invalid id
// that does not mark padding is reported in `fault`; the launch begins with row `first_row` of all.
ISOBIT_FN const u8 *chosen_matrix(const QProduct &p, const u8 *w, const u32 *ids, u32 row, u64 *fault,
                                  u32 first_row) {
    if (ids == nullptr)
        return w;
    const u32 id = ids[row];
    u64 at;
    bool outside = false;
    const bool inside = is_inside(id, p.matrices, 0, at, outside);
    if (outside && thread_x() == 0)
        report_fault(fault, (u64)first_row + row, id);
    return inside ? w + id * p.w_matrix : nullptr;
}

} // namespace isobit
