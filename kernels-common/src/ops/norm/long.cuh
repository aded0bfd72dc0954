// Rows that are too long for registers: one pass over segments for each value that a row needs, and
// one pass that writes. A block has LONG_THREADS threads with two lanes each.
#pragma once

#include "ops/norm/norm.cuh"

namespace isobit {

ISOBIT_CONST u32 LONG_LANES = 2, LONG_THREADS = NORM_LANES / LONG_LANES;
// Vectors that a thread has in flight.
ISOBIT_CONST u32 LONG_DEPTH = 8;
// Elements of a part that a block writes.
ISOBIT_CONST u32 LONG_PART = 4096;

// A contiguous part of a row.
struct Span {
    u32 row;
    u64 start;
    u32 length;
};

// The part of this block, if every row is divided into parts of `size` elements.
ISOBIT_FN Span span_of(const Norm &p, u32 size) {
    Span s;
    s.row = divide(block_x(), p.parts);
    s.start = (u64)(block_x() - s.row * p.parts.size) * size;
    const u64 left = p.n - s.start;
    s.length = left < size ? (u32)left : size;
    return s;
}

// Folds the results of `Value` for the elements of a segment, in the order of sums. `Value` may
// depend on what an earlier pass found for each row.
template <typename Value, bool VECTORS, typename T>
ISOBIT_FN void fold_segment(compute_t<T> *shared, const T *src, const compute_t<T> *of_rows, compute_t<T> *segments,
                            const Norm &p) {
    using C = compute_t<T>;
    using F = typename Value::Fold;
    constexpr u32 V = LONG_LANES;
    const auto t = Team<V, true, VECTORS>::of(p);
    const Span s = span_of(p, NORM_SEGMENT);
    const C of_row = Value::of_row(of_rows, s.row, p);
    src += offsets_of(p.places, s.row).at[0] + s.start;

    C lanes[V];
#pragma unroll
    for (u32 v = 0; v < V; v++)
        lanes[v] = F::template none<C>();
    u32 done = 0;
    if (VECTORS)
#pragma unroll 1
        for (; done + LONG_DEPTH * NORM_LANES <= s.length; done += LONG_DEPTH * NORM_LANES) {
            Pack<V, T> x[LONG_DEPTH];
#pragma unroll
            for (u32 u = 0; u < LONG_DEPTH; u++)
                x[u] = load<V>(src + done + u * NORM_LANES + t.first);
#pragma unroll
            for (u32 u = 0; u < LONG_DEPTH; u++)
#pragma unroll
                for (u32 v = 0; v < V; v++)
                    lanes[v] = F::combine(lanes[v], Value::of(to_compute(x[u].v[v]), of_row));
        }
#pragma unroll 4
    for (; done < s.length; done += NORM_LANES)
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (done + lane(t, v) < s.length)
                lanes[v] = F::combine(lanes[v], Value::of(to_compute(src[done + lane(t, v)]), of_row));
    const C value = fold_lanes<F>(lanes, shared, t);
    if (thread_x() == 0)
        segments[block_x()] = value;
}

// Writes the results of `f` for the elements of a part. `f` also gets each element's index in the
// row.
template <bool VECTORS, typename T, typename F>
ISOBIT_FN void write_part(const T *src, T *dst, const Span &s, const Norm &p, const F &f) {
    constexpr u32 V = LONG_LANES;
    const auto t = Team<V, true, VECTORS>::of(p);
    const Offsets<3> at = offsets_of(p.places, s.row);
    src += at.at[0] + s.start;
    dst += at.at[1] + s.start;
#pragma unroll 1
    for (u32 done = 0; done < s.length; done += LONG_DEPTH * NORM_LANES) {
        Row<T, V, LONG_DEPTH> row;
        load_row(row, src + done, s.length - done, t);
#pragma unroll
        for (u32 u = 0; u < LONG_DEPTH; u++) {
            compute_t<T> y[V];
#pragma unroll
            for (u32 v = 0; v < V; v++) {
                const u32 i = u * NORM_LANES + lane(t, v);
                y[v] = f(row.x[u][v], s.start + done + (done + i < s.length ? i : 0));
            }
            store_lanes(dst + done, u, y, s.length - done, t);
        }
    }
}

template <typename T, typename F>
ISOBIT_FN void write_part(const T *src, T *dst, const Span &s, const Norm &p, const F &f) {
    if (p.vectors != 0)
        write_part<true>(src, dst, s, p, f);
    else
        write_part<false>(src, dst, s, p, f);
}

} // namespace isobit

#define ISOBIT_NORM_SEGMENTS(NAME, VALUE, T)                                                                           \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(LONG_THREADS)                                                                                        \
    NAME(const T *src, const compute_t<T> *of_rows, compute_t<T> *segments, const Norm p) {                            \
        ISOBIT_NORM_SHARED compute_t<T> shared[NORM_LANES];                                                            \
        if (p.vectors != 0)                                                                                            \
            fold_segment<VALUE<T>, true>(shared, src, of_rows, segments, p);                                           \
        else                                                                                                           \
            fold_segment<VALUE<T>, false>(shared, src, of_rows, segments, p);                                          \
    }                                                                                                                  \
    }
