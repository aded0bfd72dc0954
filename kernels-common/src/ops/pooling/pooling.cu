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
    ISOBIT_METHOD T finish(C count, u32 = 0) const { return arith::quotient<T>(sum, count); }
};

// The identity of a maximum.
template <typename T>
ISOBIT_FN compute_t<T> lowest() {
    if constexpr (is_float<T>)
        return (compute_t<T>)from_bits(0xff800000u);
    else
        return limits<T>::MIN;
}

template <typename T, bool FLOAT = is_float<T>>
struct Maximum {
    T value = lowest<T>();
    ISOBIT_METHOD void add(T x, u32, T = 0) { value = x > value ? x : value; }
    ISOBIT_METHOD T finish(T, u32 = 0) const { return value; }
};

// The norm of order 1.
template <typename T>
struct AbsoluteSum {
    using C = compute_t<T>;
    C sum = 0;
    ISOBIT_METHOD void add(T x, u32, C = 0) { sum = sum + isobit::abs(to_compute(x)); }
    ISOBIT_METHOD T finish(C, u32) const { return from_compute<T>(sum); }
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
    ISOBIT_METHOD T finish(C, u32) const { return from_compute<T>(isobit::sqrt(sum)); }
};

template <typename Op>
constexpr int several = SEVERAL;

// The norm of any other order, in modules with a recipe for powers.
#ifdef ISOBIT_RECIPE_2
template <typename T>
struct PowerNorm {
    using C = compute_t<T>;
    C sum = 0;
    ISOBIT_METHOD void add(T x, u32, C order) { sum = sum + ISOBIT_RECIPE_2(pow, isobit::abs(to_compute(x)), order); }
    ISOBIT_METHOD T finish(C order, u32) const { return from_compute<T>(ISOBIT_RECIPE_2(pow, sum, (C)1 / order)); }
};
// The norm of order 3, whose powers are products.
template <typename T>
struct CubicNorm : PowerNorm<T> {
    using C = compute_t<T>;
    ISOBIT_METHOD void add(T x, u32, C) {
        const C magnitude = isobit::abs(to_compute(x));
        this->sum = this->sum + magnitude * (magnitude * magnitude);
    }
};
// Powers take longer than loads, and their code is long.
template <typename T>
constexpr int several<PowerNorm<T>> = 1;
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
    C value = lowest<T>();
    ISOBIT_METHOD void add(T x, u32, C = 0) { value = larger(value, to_compute(x)); }
    ISOBIT_METHOD T finish(C, u32 = 0) const { return from_compute<T>(value); }
};

// The position of the last NaN if there is one, else of the first of the largest elements.
template <typename T>
struct ArgMaximum {
    using C = compute_t<T>;
    static constexpr u32 NONE = ~0u;
    C value = lowest<T>();
    u32 found = NONE;
    ISOBIT_METHOD void add(T x, u32 place, C = 0) {
        const C c = to_compute(x);
        bool takes = c > value;
        if constexpr (is_float<T>)
            takes = takes || is_nan(c);
        value = takes ? c : value;
        found = takes ? place : found;
    }
    // No element is larger than the lowest number: all are equal.
    ISOBIT_METHOD u32 finish(C, u32 first) const { return found == NONE ? first : found; }
};

// The elements of a window, in the source and as a position in the plane or volume.
struct Taps {
    u64 count[3];
    u64 step[3];
    u32 first;
    u32 places[3];
    // The divisor of an average, or the order of a norm.
    double divisor;
};

// The windows of a position, in several channels.
template <typename Op, typename T, typename R>
struct Pools {
    const T *src;
    R *dst;
    const Channels &channels;
    const Taps &taps;

    template <int CHANNELS>
    ISOBIT_METHOD void run(u64 c) const {
        using C = compute_t<T>;
        // A single channel has several elements on their way instead.
        constexpr int AHEAD = CHANNELS < several<Op> ? 4 : 1;
        const u64 away = channels.from[0];
        const T *slice = src + c * away;
        u32 slice_place = taps.first;
        Op ops[CHANNELS];
#pragma unroll 1
        for (u64 z = 0; z < taps.count[0]; z++, slice += taps.step[0], slice_place += taps.places[0]) {
            const T *row = slice;
            u32 row_place = slice_place;
#pragma unroll 1
            for (u64 y = 0; y < taps.count[1]; y++, row += taps.step[1], row_place += taps.places[1]) {
                const T *x = row;
                u32 place = row_place;
#pragma unroll AHEAD
                for (u64 j = 0; j < taps.count[2]; j++, x += taps.step[2], place += taps.places[2]) {
                    T values[CHANNELS];
#pragma unroll
                    for (int i = 0; i < CHANNELS; i++)
                        values[i] = x[i * away];
#pragma unroll
                    for (int i = 0; i < CHANNELS; i++)
                        ops[i].add(values[i], place, (C)taps.divisor);
                }
            }
        }
        R *to = dst + c * channels.to;
#pragma unroll
        for (int i = 0; i < CHANNELS; i++)
            to[i * channels.to] = ops[i].finish((C)taps.divisor, taps.first);
    }
};

template <typename Op, typename T, typename R>
ISOBIT_FN void pool(const T *src, R *dst, const ElementWalk &walk, const Windows &w, const Channels &channels) {
    for_each_element(walk, [&](const Element &e) {
        const u64 slice = slice_of(w, e.row);
        u64 windows[3] = {slice, e.row - slice * w.rows, e.column};
        Taps taps{};
        const T *from = src + e.src;
        u32 whole = 1;
        u64 counted = 1;
        // The last dimension comes first, and moves on when another one comes: the code is there
        // once, and every index that is not a constant is one of the parameters.
#pragma unroll 1
        for (int d = 3; d-- > 0;) {
            const Covered of = covered(w, d, windows[2]);
            from += of.start * w.step[d];
            push_front(taps.count, of.count);
            push_front(taps.step, w.dilation[d] * w.step[d]);
            push_front(taps.places, (u32)w.dilation[d] * whole);
            push_front(windows, (u64)0);
            taps.first += (u32)of.start * whole;
            whole *= (u32)(w.end[d] - w.begin[d]);
            counted *= of.counted;
        }
        // A count is rounded once, to the compute type.
        taps.divisor = w.count != 0 ? w.count : (double)(compute_t<T>)counted;
        for_channels<several<Op>>(channels, Pools<Op, T, R>{from, dst + e.dst, channels, taps});
    });
}

// Tiles of neighbouring windows of a plane; the host's `Tiles` in pooling/mod.rs. Rows come first.
struct Tiles {
    u64 counts[2];
    u64 result_step[2];
    // A tile's windows, and the elements from the first to the last that they have.
    u32 windows[2];
    u32 elements[2];
    Divisor window_columns;
    Divisor element_columns;
};

// Must match ops/pooling/mod.rs.
static_assert(sizeof(Tiles) == 72);

// The most elements of a tile; must match ops/pooling/mod.rs.
ISOBIT_CONST int TILE_ELEMENTS = 4096;

#ifdef ISOBIT_RECIPE_2
// Norms of windows that overlap: the power of an element is computed once for all windows of a
// tile. Padding has powers of 0, which change no sum.
template <typename T, typename C>
ISOBIT_FN void power_tiles(const T *src, T *dst, const ElementWalk &walk, const Windows &w, const Tiles &t, C *powers) {
    const C order = (C)w.count;
    for (u64 unit = block_x(); unit < walk.units; unit += grid_dim_x()) {
        const Offsets<4> at = offsets_of(walk.index, (u32)unit);
        const T *plane = src + at.at[0];
        const u64 row = (walk.row + at.at[2]) * t.windows[0], column = (walk.column + at.at[3]) * t.windows[1];
        for (u32 i = thread_x(); i < t.elements[0] * t.elements[1]; i += ELEMENTWISE_BLOCK) {
            const u32 line = divide(i, t.element_columns);
            const u64 y = row * w.stride[1] + line, x = column * w.stride[2] + (i - line * t.elements[1]);
            C power = 0;
            if (y >= w.begin[1] && y < w.end[1] && x >= w.begin[2] && x < w.end[2]) {
                const T element = plane[(y - w.begin[1]) * w.step[1] + (x - w.begin[2]) * w.step[2]];
                power = ISOBIT_RECIPE_2(pow, isobit::abs(to_compute(element)), order);
            }
            powers[i] = power;
        }
        barrier();
        for (u32 i = thread_x(); i < t.windows[0] * t.windows[1]; i += ELEMENTWISE_BLOCK) {
            const u32 line = divide(i, t.window_columns), place = i - line * t.windows[1];
            if (row + line >= t.counts[0] || column + place >= t.counts[1])
                continue;
            const C *from = powers + line * (u32)w.stride[1] * t.elements[1] + place * (u32)w.stride[2];
            C sum = 0;
#pragma unroll 1
            for (u32 y = 0; y < (u32)w.kernel[1]; y++, from += (u32)w.dilation[1] * t.elements[1])
#pragma unroll 1
                for (u32 x = 0; x < (u32)w.kernel[2]; x++)
                    sum = sum + from[x * (u32)w.dilation[2]];
            dst[at.at[1] + line * t.result_step[0] + place * t.result_step[1]] =
                from_compute<T>(ISOBIT_RECIPE_2(pow, sum, (C)1 / order));
        }
        barrier();
    }
}
#endif

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

#define ISOBIT_POOL(NAME, OP, T, R)                                                                                    \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::R *dst, const isobit::ElementWalk walk, const isobit::Windows windows,          \
         const isobit::Channels channels) {                                                                            \
        isobit::pool<isobit::OP<isobit::T>>(src, dst, walk, windows, channels);                                        \
    }
#define ISOBIT_POOL_TWOS(NAME, OP, T, V)                                                                               \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::ElementWalk walk, isobit::u64 row_step) {                 \
        isobit::pool_twos<isobit::OP<isobit::T>, V>(src, dst, walk, row_step);                                         \
    }
#define ISOBIT_POWER_POOL_TILES(NAME, T)                                                                               \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::ElementWalk walk, const isobit::Windows windows,          \
         const isobit::Tiles tiles) {                                                                                  \
        __shared__ isobit::compute_t<isobit::T> powers[isobit::TILE_ELEMENTS];                                         \
        isobit::power_tiles(src, dst, walk, windows, tiles, powers);                                                   \
    }
