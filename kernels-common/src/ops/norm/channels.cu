// Norms of [n, c, ..] that need no sums over a row: batch_norm with given statistics, and
// local_response_norm.
#include "device_lib/elementwise.cuh"
#include "device_lib/index.cuh"
#include "device_lib/math/f32_pow.cuh"
#include "device_lib/math/f64_pow.cuh"

namespace isobit {

// A walk over units of V elements along the innermost dimension; the host's `Channels` in
// norm/channels.rs. The offsets are those of source, destination and channel.
struct Channels {
    u32 units;
    // The channels from one element of a unit to the next: 0 or 1.
    u32 lane_step;
    Index<3> places;
};

// Must match ops/norm/channels.rs.
static_assert(sizeof(Channels) == 304);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Channels, lane_step) == 4 && ISOBIT_OFFSET(Channels, places) == 8);

// The parameters of local_response_norm; the host's `Window`.
struct Window {
    // Rounded to the compute type.
    double factor, k, power;
    // The channel of the walk's first element, and how many there are.
    u64 first, channels;
    // Channels that count before and after an element, and elements of the source from one to the
    // next.
    u64 before, after, step;
};

// Must match ops/norm/channels.rs.
static_assert(sizeof(Window) == 64);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Window, first) == 24 && ISOBIT_OFFSET(Window, before) == 40);

// Calls `f` with the offsets of a thread's first element.
template <typename F>
ISOBIT_FN void for_unit(const Channels &p, const F &f) {
    const u32 unit = block_x() * ELEMENTWISE_BLOCK + thread_x();
    if (unit < p.units)
        f(offsets_of(p.places, unit));
}

// What one channel's elements are computed with.
template <typename C>
struct OfChannel {
    C mean, scale, weight, bias;
    ISOBIT_METHOD C operator()(C x) const { return fma((x - mean) * scale, weight, bias); }
};

// Weight and bias may be null.
template <u32 V, typename T>
ISOBIT_FN void batch_norm(const T *src, T *dst, const compute_t<T> *mean, const compute_t<T> *variance, const T *weight,
                          const T *bias, double eps, const Channels &p) {
    using C = compute_t<T>;
    for_unit(p, [&](const Offsets<3> &at) {
        const Pack<V, T> x = load<V>(src + at.at[0]);
        const auto of_channel = [&](u64 channel) {
            const C w = weight != nullptr ? to_compute(weight[channel]) : (C)1;
            const C b = bias != nullptr ? to_compute(bias[channel]) : (C)0;
            return OfChannel<C>{mean[channel], (C)1 / sqrt(variance[channel] + (C)eps), w, b};
        };
        OfChannel<C> f = of_channel(at.at[2]);
        Pack<V, T> y;
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            if (v > 0 && p.lane_step != 0)
                f = of_channel(at.at[2] + v);
            y.v[v] = from_compute<T>(f(to_compute(x.v[v])));
        }
        store<V>(dst + at.at[1], y);
    });
}

template <u32 V, typename T>
ISOBIT_FN void local_response_norm(const T *src, T *dst, const Window &w, const Channels &p) {
    using C = compute_t<T>;
    for_unit(p, [&](const Offsets<3> &at) {
        const u64 channel = w.first + at.at[2], rest = w.channels - 1 - channel;
        const u64 low = channel < w.before ? channel : w.before;
        const u64 count = low + 1 + (rest < w.after ? rest : w.after);
        const T *from = src + at.at[0] - low * w.step;
        C squares[V];
#pragma unroll
        for (u32 v = 0; v < V; v++)
            squares[v] = 0;
#pragma unroll 4
        for (u64 i = 0; i < count; i++) {
            const Pack<V, T> x = load<V>(from + i * w.step);
#pragma unroll
            for (u32 v = 0; v < V; v++)
                squares[v] = squares[v] + to_compute(x.v[v]) * to_compute(x.v[v]);
        }
        Pack<V, T> y = load<V>(src + at.at[0]);
#pragma unroll
        for (u32 v = 0; v < V; v++)
            y.v[v] = from_compute<T>(to_compute(y.v[v]) * math::pow(fma(squares[v], (C)w.factor, (C)w.k), (C)w.power));
        store<V>(dst + at.at[1], y);
    });
}

} // namespace isobit

#define ISOBIT_BATCH_NORM(NAME, T, V)                                                                                  \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(ELEMENTWISE_BLOCK)                                                                                   \
    NAME(const T *src, T *dst, const compute_t<T> *mean, const compute_t<T> *variance, const T *weight, const T *bias, \
         double eps, const Channels p) {                                                                               \
        batch_norm<V>(src, dst, mean, variance, weight, bias, eps, p);                                                 \
    }                                                                                                                  \
    }
#define ISOBIT_LOCAL_RESPONSE_NORM(NAME, T, V)                                                                         \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(ELEMENTWISE_BLOCK)                                                                                   \
    NAME(const T *src, T *dst, const Window w, const Channels p) {                                                     \
        local_response_norm<V>(src, dst, w, p);                                                                        \
    }                                                                                                                  \
    }
