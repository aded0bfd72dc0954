// The way back through pools: each element of the input gathers the gradients of the windows that
// have it, in row-major order. No two threads write the same element.
#include "device_lib/index.cuh"
#include "ops/element_walk.cuh"
#include "ops/pooling/windows.cuh"

namespace isobit {

// The windows, whose steps are those of the gradient, and what finds the windows of an element; the
// host's `Gradients` in pooling/backward.rs.
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
    u64 is_narrow;
    // Steps of the positions of maxima.
    u64 place_step[3];
    // Steps of images and of channels, of which an image has `channels`.
    u64 plane_step[2];
    u64 place_plane_step[2];
    u64 channels;
};

// Must match ops/pooling/backward.rs.
static_assert(sizeof(Gradients) == 448);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Gradients, place_step) == 384 && ISOBIT_OFFSET(Gradients, channels) == 440);

struct WindowRange {
    u64 first;
    u64 end;
};

// A quotient by a dimension's divisor. The branch is the same for every thread.
ISOBIT_FN u64 divided(const Gradients &g, int d, u64 n) {
    return g.is_narrow != 0 ? divide((u32)n, g.narrow_divisor[d]) : n / g.divisor[d];
}

// The windows that may have an element, along a dimension.
ISOBIT_FN WindowRange windows_around(const Gradients &g, int d, u64 position) {
    const u64 at = position * g.factor[d] + g.ahead[d], end = divided(g, d, at) + 1;
    const u64 room = at + g.divisor[d];
    const u64 first = room > g.reach[d] ? divided(g, d, room - g.reach[d]) : 0;
    return WindowRange{first, end < g.counts[d] ? end : g.counts[d]};
}

// Whether one of these windows has the element, and not a gap there.
ISOBIT_FN bool has_element(const Windows &w, int d, u64 window, u64 position) {
    const u64 dilation = w.dilation[d];
    return dilation == 1 || (position + w.begin[d] - window * w.stride[d]) % dilation == 0;
}

// What a window gives to its elements: a share of its gradient, one of as many for each window or
// not, or all of it to one of them.
enum class Gives { SHARE, OWN_SHARE, ALL };

template <Gives GIVES, typename T, typename I>
ISOBIT_FN void pool_backward(const T *gradients, const I *places, T *dst, const ElementWalk &walk, u64 first_plane,
                             const Gradients &g) {
    using C = compute_t<T>;
    constexpr bool MAXIMA = GIVES == Gives::ALL;
    const Windows &w = g.windows;
    for_each_element(walk, [&](const Element &e) {
        const u64 plane = first_plane + e.src;
        const u64 image = g.is_narrow != 0 ? divide((u32)plane, g.narrow_channels) : plane / g.channels;
        const u64 channel = plane - image * g.channels;
        const T *from = gradients + image * g.plane_step[0] + channel * g.plane_step[1];
        const I *place = places + (MAXIMA ? image * g.place_plane_step[0] + channel * g.place_plane_step[1] : 0);
        const u64 slice = w.rows != 0 ? e.row / w.rows : 0, row = e.row - slice * w.rows;
        const u64 width = w.end[2] - w.begin[2];
        const u64 position = e.row * width + e.column;
        const WindowRange slices = w.rows != 0 ? windows_around(g, 0, slice) : WindowRange{0, 1};
        const WindowRange rows = windows_around(g, 1, row), columns = windows_around(g, 2, e.column);
        C sum = 0;
#pragma unroll 1
        for (u64 z = slices.first; z < slices.end; z++) {
            if (!has_element(w, 0, z, slice))
                continue;
#pragma unroll 1
            for (u64 y = rows.first; y < rows.end; y++) {
                if (!has_element(w, 1, y, row))
                    continue;
                const u64 line = z * w.step[0] + y * w.step[1];
                const u64 place_line = MAXIMA ? z * g.place_step[0] + y * g.place_step[1] : 0;
#pragma unroll 1
                for (u64 x = columns.first; x < columns.end; x++) {
                    if (!has_element(w, 2, x, e.column))
                        continue;
                    const T *gradient = from + line + x * w.step[2];
                    if constexpr (MAXIMA) {
                        if ((u64)place[place_line + x * g.place_step[2]] == position)
                            sum = sum + to_compute(*gradient);
                    } else {
                        C count = (C)w.count;
                        if constexpr (GIVES == Gives::OWN_SHARE)
                            count = (C)(covered<true>(w, 0, z).counted * covered<true>(w, 1, y).counted *
                                        covered<true>(w, 2, x).counted);
                        sum = sum + to_compute(*gradient) / count;
                    }
                }
            }
        }
        dst[e.dst] = from_compute<T>(sum);
    });
}

} // namespace isobit

#define ISOBIT_AVG_POOL_BACKWARD(NAME, T, GIVES)                                                                       \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *gradients, isobit::T *dst, const isobit::ElementWalk walk, isobit::u64 first_plane,          \
         const isobit::Gradients g) {                                                                                  \
        using namespace isobit;                                                                                        \
        pool_backward<Gives::GIVES>(gradients, (const u32 *)gradients, dst, walk, first_plane, g);                     \
    }
#define ISOBIT_MAX_POOL_BACKWARD(NAME, T, I)                                                                           \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *gradients, const isobit::I *places, isobit::T *dst, const isobit::ElementWalk walk,          \
         isobit::u64 first_plane, const isobit::Gradients g) {                                                         \
        using namespace isobit;                                                                                        \
        pool_backward<Gives::ALL>(gradients, places, dst, walk, first_plane, g);                                       \
    }
