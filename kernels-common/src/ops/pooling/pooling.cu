// Pooling: averages and maxima of windows over rows and columns. Elements are taken in row-major
// order.
#include "device_lib/arith.cuh"
#include "device_lib/extreme.cuh"
#include "ops/element_walk.cuh"

namespace isobit {

// The size of the source plane and the windows; the host's `Windows` in pooling/mod.rs.
struct Windows {
    // Rows first, then columns, in every array.
    u64 size[2];
    u64 step[2];
    u64 kernel[2];
    u64 stride[2];
    u64 padding[2];
    // The divisor of an average; 0 if it is the number of elements that the window covers in the
    // source.
    double count;
};

// Must match ops/pooling/mod.rs.
static_assert(sizeof(Windows) == 88);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Windows, count) == 80);

template <typename T>
struct Average {
    using C = compute_t<T>;
    C sum = 0;
    ISOBIT_METHOD void add(T x) { sum = sum + to_compute(x); }
    ISOBIT_METHOD T finish(C count) const { return arith::quotient<T>(sum, count); }
};

template <typename T, bool FLOAT = is_float<T>>
struct Maximum {
    T value = limits<T>::MIN;
    ISOBIT_METHOD void add(T x) { value = x > value ? x : value; }
    ISOBIT_METHOD T finish(T) const { return value; }
};

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
    ISOBIT_METHOD void add(T x) { value = larger(value, to_compute(x)); }
    ISOBIT_METHOD T finish(C) const { return from_compute<T>(value); }
};

// The elements that a window covers along a dimension of the source.
struct Covered {
    u64 start;
    u64 end;
};
ISOBIT_FN Covered covered(const Windows &w, int d, u64 index) {
    const u64 start = index * w.stride[d], end = start + w.kernel[d] - w.padding[d];
    return Covered{start > w.padding[d] ? start - w.padding[d] : 0, end < w.size[d] ? end : w.size[d]};
}

template <typename Op, typename T>
ISOBIT_FN void pool(const T *src, T *dst, const ElementWalk &walk, const Windows &w) {
    for_each_element(walk, [&](const Element &e) {
        const Covered rows = covered(w, 0, e.row), columns = covered(w, 1, e.column);
        const u64 width = columns.end - columns.start;
        const T *from = src + e.src + rows.start * w.step[0] + columns.start * w.step[1];
        Op op;
#pragma unroll 1
        for (u64 y = rows.start; y < rows.end; y++, from += w.step[0]) {
            const T *x = from;
#pragma unroll 4
            for (u64 j = 0; j < width; j++, x += w.step[1])
                op.add(*x);
        }
        using C = compute_t<T>;
        dst[e.dst] = op.finish(w.count != 0 ? (C)w.count : (C)((rows.end - rows.start) * width));
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
            op.add(upper.v[2 * v]);
            op.add(upper.v[2 * v + 1]);
            op.add(lower.v[2 * v]);
            op.add(lower.v[2 * v + 1]);
            result.v[v] = op.finish(4);
        }
        store(dst + e.dst, result);
    });
}

} // namespace isobit

#define ISOBIT_POOL(NAME, OP, T)                                                                                       \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::ElementWalk walk, const isobit::Windows windows) {        \
        isobit::pool<isobit::OP<isobit::T>>(src, dst, walk, windows);                                                  \
    }
#define ISOBIT_POOL_TWOS(NAME, OP, T, V)                                                                               \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::ElementWalk walk, isobit::u64 row_step) {                 \
        isobit::pool_twos<isobit::OP<isobit::T>, V>(src, dst, walk, row_step);                                         \
    }
