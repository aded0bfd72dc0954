// Pooling: averages, maxima and their positions, and norms of windows over rows and columns, or
// over slices of them. Elements are taken in row-major order.
#include "device_lib/arith.cuh"
#include "device_lib/extreme.cuh"
#include "ops/element_walk.cuh"
#include "ops/pooling/windows.cuh"

namespace isobit {

template <typename T>
struct Average {
    using C = compute_t<T>;
    C sum = 0;
    ISOBIT_METHOD void add(T x, u32, C = 0) { sum = sum + to_compute(x); }
    ISOBIT_METHOD T finish(C count) const { return arith::quotient<T>(sum, count); }
};

template <typename T, bool FLOAT = is_float<T>>
struct Maximum {
    T value = limits<T>::MIN;
    ISOBIT_METHOD void add(T x, u32, T = 0) { value = x > value ? x : value; }
    ISOBIT_METHOD T finish(T) const { return value; }
};

// The norm of order 1.
template <typename T>
struct AbsoluteSum {
    using C = compute_t<T>;
    C sum = 0;
    ISOBIT_METHOD void add(T x, u32, C = 0) { sum = sum + isobit::abs(to_compute(x)); }
    ISOBIT_METHOD T finish(C) const { return from_compute<T>(sum); }
};

// The norm of order 2.
template <typename T>
struct Euclidean {
    using C = compute_t<T>;
    C sum = 0;
    ISOBIT_METHOD void add(T x, u32, C = 0) {
        const C c = to_compute(x);
        sum = fma(c, c, sum);
    }
    ISOBIT_METHOD T finish(C) const { return from_compute<T>(isobit::sqrt(sum)); }
};

// The norm of any other order, in modules with a recipe for powers.
#ifdef ISOBIT_RECIPE_2
template <typename T>
struct PowerNorm {
    using C = compute_t<T>;
    C sum = 0;
    ISOBIT_METHOD void add(T x, u32, C order) { sum = sum + ISOBIT_RECIPE_2(pow, isobit::abs(to_compute(x)), order); }
    ISOBIT_METHOD T finish(C order) const { return from_compute<T>(ISOBIT_RECIPE_2(pow, sum, (C)1 / order)); }
};
#endif

#if ISOBIT_MAXIMUM
ISOBIT_FN float larger(float a, float b) { return machine_maximum(a, b); }
ISOBIT_FN double larger(double a, double b) { return arith::larger(a, b); }
#else
using arith::larger;
#endif

template <typename T>
struct Maximum<T, true> {
    using C = compute_t<T>;
    C value = (C)from_bits(0xff800000u);
    ISOBIT_METHOD void add(T x, u32, C = 0) { value = larger(value, to_compute(x)); }
    ISOBIT_METHOD T finish(C) const { return from_compute<T>(value); }
};

// The position of the last NaN if there is one, else of the first of the largest elements.
template <typename T>
struct ArgMaximum {
    using C = compute_t<T>;
    static constexpr u32 NONE = ~0u;
    C value = 0;
    u32 found = NONE;
    ISOBIT_METHOD void add(T x, u32 place, C = 0) {
        const C c = to_compute(x);
        bool takes = found == NONE || c > value;
        if constexpr (is_float<T>)
            takes = takes || is_nan(c);
        value = takes ? c : value;
        found = takes ? place : found;
    }
    ISOBIT_METHOD u32 finish(C) const { return found; }
};

// Windows over rows and columns of neighbours, or (VOLUME) over slices, with any dilation, with
// elements beyond the padding, or of an adaptive pool.
template <typename Op, bool VOLUME, typename T, typename R>
ISOBIT_FN void pool(const T *src, R *dst, const ElementWalk &walk, const Windows &w) {
    for_each_element(walk, [&](const Element &e) {
        const u64 slice = VOLUME && w.rows != 0 ? e.row / w.rows : 0;
        const Covered slices = VOLUME ? covered<VOLUME>(w, 0, slice) : Covered{0, 1, 1};
        const Covered rows = covered<VOLUME>(w, 1, e.row - slice * w.rows);
        const Covered columns = covered<VOLUME>(w, 2, e.column);
        const u64 row_step = VOLUME ? w.step[1] * w.dilation[1] : w.step[1];
        const u64 column_step = VOLUME ? w.step[2] * w.dilation[2] : w.step[2];
        using C = compute_t<T>;
        Op op;
#pragma unroll 1
        for (u64 z = 0; z < slices.count; z++) {
            const u64 depth = VOLUME ? (slices.start + z * w.dilation[0]) * w.step[0] : 0;
            const T *from = src + e.src + depth + rows.start * w.step[1] + columns.start * w.step[2];
            const u32 width = (u32)(w.end[2] - w.begin[2]), height = (u32)(w.end[1] - w.begin[1]);
            const u32 row = VOLUME ? (u32)(slices.start + z * w.dilation[0]) * height : 0;
            const u32 line_places = VOLUME ? (u32)w.dilation[1] * width : width;
            const u32 column_places = VOLUME ? (u32)w.dilation[2] : 1;
            u32 line = (row + (u32)rows.start) * width + (u32)columns.start;
#pragma unroll 1
            for (u64 y = 0; y < rows.count; y++, from += row_step, line += line_places) {
                const T *x = from;
                u32 place = line;
#pragma unroll 4
                for (u64 j = 0; j < columns.count; j++, x += column_step, place += column_places)
                    op.add(*x, place, (C)w.count);
            }
        }
        const u64 counted = slices.counted * rows.counted * columns.counted;
        dst[e.dst] = op.finish(w.count != 0 ? (C)w.count : (C)counted);
    });
}

// Adjacent windows of two rows and columns without padding, `V` of them in a row: 16 bytes of each
// row of the source.
template <typename Op, int V, typename T>
ISOBIT_FN void pool_twos(const T *src, T *dst, const ElementWalk &walk, u64 row_step) {
    for_each_element(walk, [&](const Element &e) {
        const T *from = src + e.src;
        const Pack<2 * V, T> upper = load<2 * V>(from), lower = load<2 * V>(from + row_step);
        Pack<V, T> result;
#pragma unroll
        for (int v = 0; v < V; v++) {
            Op op;
            op.add(upper.v[2 * v], 0);
            op.add(upper.v[2 * v + 1], 0);
            op.add(lower.v[2 * v], 0);
            op.add(lower.v[2 * v + 1], 0);
            result.v[v] = op.finish(4);
        }
        store(dst + e.dst, result);
    });
}

} // namespace isobit

#define ISOBIT_POOL(NAME, OP, T, VOLUME, R)                                                                            \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::R *dst, const isobit::ElementWalk walk, const isobit::Windows windows) {        \
        isobit::pool<isobit::OP<isobit::T>, VOLUME>(src, dst, walk, windows);                                          \
    }
#define ISOBIT_POOL_TWOS(NAME, OP, T, V)                                                                               \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::ElementWalk walk, isobit::u64 row_step) {                 \
        isobit::pool_twos<isobit::OP<isobit::T>, V>(src, dst, walk, row_step);                                         \
    }
