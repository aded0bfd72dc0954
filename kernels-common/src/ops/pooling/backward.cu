// The way back through pools: each element of the input gathers the gradients of the windows that
// have it, in row-major order. No two threads write the same element.
#include "ops/element_walk.cuh"
#include "ops/pooling/windows.cuh"

namespace isobit {

// A thread has so many neighbours in a row, because they share windows: what a window gives is read
// once for all of them. Must match ops/pooling/backward.rs.
ISOBIT_CONST int NEIGHBOURS = 2;

// The windows, whose steps are those of the gradient, and what finds the windows of an element; the
// host's `Gradients` in pooling/backward.rs. Averages have no positions.
struct Gradients {
    Windows windows;
    u64 counts[3];
    // Of the windows that have position p, none begins after (p * factor + ahead) / divisor, and
    // none before (p * factor + ahead - reach) / divisor + 1.
    u64 factor[3];
    u64 ahead[3];
    u64 divisor[3];
    u64 reach[3];
    // The same divisors, and the channels, for numbers below 2^31, if there are no others.
    Divisor narrow_divisor[3];
    Divisor narrow_channels;
    // Steps of the positions of maxima.
    u64 place_step[3];
    // Steps of images and of channels, of which an image has `channels`.
    u64 plane_step[2];
    u64 place_plane_step[2];
    u64 channels;
    // The step of the result's columns.
    u64 column_step;
    // Windows from one that has an element to the next that does.
    u32 period[3];
    // Nonzero: there are only whole groups of neighbours, each of which is one access of memory.
    u32 stores_groups;
};

// Must match ops/pooling/backward.rs.
static_assert(sizeof(Gradients) == 552);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Gradients, place_step) == 464 && ISOBIT_OFFSET(Gradients, channels) == 520);

ISOBIT_FN u64 remainder(const Windows &w, int d, u64 n) {
    return n - quotient(w, n, w.dilation[d], w.narrow_dilation[d]) * w.dilation[d];
}

struct WindowRange {
    u64 first;
    u64 end;
};

// The windows that may have an element, along a dimension.
ISOBIT_FN WindowRange windows_around(const Gradients &g, int d, u64 position) {
    const auto divided = [&](u64 n) { return quotient(g.windows, n, g.divisor[d], g.narrow_divisor[d]); };
    const u64 at = position * g.factor[d] + g.ahead[d], end = divided(at) + 1;
    const u64 room = at + g.divisor[d];
    const u64 first = room > g.reach[d] ? divided(room - g.reach[d]) : 0;
    return WindowRange{first, end < g.counts[d] ? end : g.counts[d]};
}

// The windows around neighbours along a dimension, counted from the first of them. Their number
// fits 32 bits: their elements could not be counted otherwise.
struct Around {
    u64 first;
    u32 count;
    // The next window that has a neighbour, and not a gap there, and the end of those around it.
    u32 next[NEIGHBOURS];
    u32 end[NEIGHBOURS];

    // Whether the next window has the neighbour.
    ISOBIT_METHOD bool passes(const Gradients &g, int d, u32 window, int i) {
        const bool has = window == next[i] && window < end[i];
        next[i] += has ? g.period[d] : 0;
        return has;
    }
};

ISOBIT_FN Around around_neighbours(const Gradients &g, int d, u64 first) {
    const Windows &w = g.windows;
    const u64 left = w.end[d] - w.begin[d] - first, most = d < 2 ? 1 : NEIGHBOURS;
    u64 next[NEIGHBOURS] = {}, end[NEIGHBOURS] = {};
    WindowRange of{};
#pragma unroll 1
    for (u64 i = left < most ? left : most; i-- > 0;) {
        const u64 position = first + i;
        of = windows_around(g, d, position);
        u64 window = of.first, away = position + w.begin[d] - window * w.stride[d];
        // Only windows with gaps, if any, do not have the element.
#pragma unroll 1
        while (w.dilation[d] != 1 && window < of.end && remainder(w, d, away) != 0)
            window++, away -= w.stride[d];
        push_front(next, window);
        push_front(end, of.end);
    }
    Around all{};
    all.first = of.first;
#pragma unroll
    for (int i = 0; i < NEIGHBOURS; i++) {
        all.next[i] = (u32)(next[i] - of.first);
        all.end[i] = end[i] > of.first ? (u32)(end[i] - of.first) : 0;
        all.count = all.end[i] > all.count ? all.end[i] : all.count;
    }
    return all;
}

// By how many an average of a window divides.
ISOBIT_FN u64 counted(const Windows &w, u64 slice, u64 row, u64 column) {
    u64 window[3] = {slice, row, column}, count = 1;
#pragma unroll 1
    for (int d = 3; d-- > 0;) {
        count *= covered(w, d, window[2]).counted;
        push_front(window, (u64)0);
    }
    return count;
}

// What a window gives to its elements: a share of its gradient, one of as many for each window or
// not, or all of it to one of them.
enum class Gives { SHARE, OWN_SHARE, ALL };

// Neighbours in several channels.
template <Gives GIVES, typename T, typename I>
struct Neighbours {
    const T *gradients;
    const I *places;
    T *dst;
    const Channels &channels;
    const Gradients &g;
    u64 position;
    // Columns from the first neighbour on.
    u64 left;
    // The windows around slices, rows and columns.
    const Around (&around)[3];

    template <int CHANNELS>
    ISOBIT_METHOD void run(u64 c) const {
        using C = compute_t<T>;
        constexpr bool MAXIMA = GIVES == Gives::ALL;
        const Windows &w = g.windows;
        C sums[CHANNELS][NEIGHBOURS];
#pragma unroll
        for (int i = 0; i < CHANNELS * NEIGHBOURS; i++)
            sums[i / NEIGHBOURS][i % NEIGHBOURS] = 0;
        const T *slice = gradients + c * channels.from[0];
        const I *slice_place = places + c * channels.from[1];
        Around slices = around[0];
#pragma unroll 1
        for (u32 z = 0; z < around[0].count; z++, slice += w.step[0], slice_place += g.place_step[0]) {
            if (!slices.passes(g, 0, z, 0))
                continue;
            const T *row = slice;
            const I *row_place = slice_place;
            Around rows = around[1];
#pragma unroll 1
            for (u32 y = 0; y < around[1].count; y++, row += w.step[1], row_place += g.place_step[1]) {
                if (!rows.passes(g, 1, y, 0))
                    continue;
                const T *gradient = row;
                const I *place = row_place;
                Around columns = around[2];
#pragma unroll 1
                for (u32 x = 0; x < around[2].count; x++, gradient += w.step[2], place += g.place_step[2]) {
                    C count = (C)w.count;
                    if constexpr (GIVES == Gives::OWN_SHARE)
                        count = (C)counted(w, around[0].first + z, around[1].first + y, around[2].first + x);
                    T given[CHANNELS];
                    I taken[CHANNELS];
#pragma unroll
                    for (int i = 0; i < CHANNELS; i++) {
                        given[i] = gradient[i * channels.from[0]];
                        taken[i] = MAXIMA ? place[i * channels.from[1]] : (I)0;
                    }
                    bool has[NEIGHBOURS];
#pragma unroll
                    for (int n = 0; n < NEIGHBOURS; n++) {
                        // Narrow positions end before a large plane does.
                        const bool has_position = !MAXIMA || (u64)(I)(position + n) == position + n;
                        has[n] = columns.passes(g, 2, x, n) && has_position;
                    }
#pragma unroll
                    for (int i = 0; i < CHANNELS; i++) {
                        const C all = to_compute(given[i]), share = MAXIMA ? all : all / count;
#pragma unroll
                        for (int n = 0; n < NEIGHBOURS; n++) {
                            const bool gets = has[n] && (!MAXIMA || taken[i] == (I)(position + n));
                            sums[i][n] = gets ? sums[i][n] + share : sums[i][n];
                        }
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < CHANNELS; i++) {
            T *to = dst + (c + i) * channels.to;
            Pack<NEIGHBOURS, T> results;
#pragma unroll
            for (int n = 0; n < NEIGHBOURS; n++)
                results.v[n] = from_compute<T>(sums[i][n]);
            if (g.stores_groups != 0) {
                store(to, results);
            } else {
#pragma unroll
                for (int n = 0; n < NEIGHBOURS; n++)
                    if ((u32)n < left)
                        to[n * g.column_step] = results.v[n];
            }
        }
    }
};

template <Gives GIVES, typename T, typename I>
ISOBIT_FN void pool_backward(const T *gradients, const I *places, T *dst, const ElementWalk &walk, u64 first_plane,
                             const Gradients &g, const Channels &channels) {
    const Windows &w = g.windows;
    for_each_element(walk, [&](const Element &e) {
        const u64 plane = first_plane + e.src;
        const u64 image = quotient(w, plane, g.channels, g.narrow_channels);
        const u64 channel = plane - image * g.channels;
        const T *from = gradients + image * g.plane_step[0] + channel * g.plane_step[1];
        const I *place = places + image * g.place_plane_step[0] + channel * g.place_plane_step[1];
        const u64 slice = slice_of(w, e.row);
        const u64 column = e.column * NEIGHBOURS;
        u64 first[3] = {slice, e.row - slice * w.rows, column}, position = 0, whole = 1;
        Around around[3] = {};
        // As in pooling.cu, the code of a dimension is there once.
#pragma unroll 1
        for (int d = 3; d-- > 0;) {
            const Around of = around_neighbours(g, d, first[2]);
            from += of.first * w.step[d];
            place += of.first * g.place_step[d];
            position += first[2] * whole;
            whole *= w.end[d] - w.begin[d];
            push_front(around, of);
            push_front(first, (u64)0);
        }
        for_channels<SEVERAL>(channels,
                              Neighbours<GIVES, T, I>{from, place, dst + e.dst, channels, g, position,
                                                      w.end[2] - w.begin[2] - column, around});
    });
}

} // namespace isobit

#define ISOBIT_AVG_POOL_BACKWARD(NAME, T, GIVES)                                                                       \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *gradients, isobit::T *dst, const isobit::ElementWalk walk, isobit::u64 first_plane,          \
         const isobit::Gradients g, const isobit::Channels channels) {                                                 \
        using namespace isobit;                                                                                        \
        pool_backward<Gives::GIVES>(gradients, (const u32 *)gradients, dst, walk, first_plane, g, channels);           \
    }
#define ISOBIT_MAX_POOL_BACKWARD(NAME, T, I)                                                                           \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *gradients, const isobit::I *places, isobit::T *dst, const isobit::ElementWalk walk,          \
         isobit::u64 first_plane, const isobit::Gradients g, const isobit::Channels channels) {                        \
        using namespace isobit;                                                                                        \
        pool_backward<Gives::ALL>(gradients, places, dst, walk, first_plane, g, channels);                             \
    }
