// Sampling images at positions that a tensor has. A thread finds what is around one position, and
// samples several channels there.
#include "device_lib/arith_rem.cuh"
#include "device_lib/elementwise.cuh"
#include "device_lib/index.cuh"
#include "ops/neighbourhood.cuh"

namespace isobit {

// What is outside the image; must match ops/grid_sample/mod.rs.
ISOBIT_CONST u32 GRID_ZEROS = 0, GRID_BORDER = 1, GRID_REFLECTION = 2;

// The host's `GridSample` in grid_sample/mod.rs. Dimensions of the image are counted from the last.
struct GridSample {
    // A unit is a position for some channels: its offsets in the image, the grid and the result.
    Index<3> units_at;
    u64 size[3];
    u64 step[3];
    u64 image_channel;
    u64 result_channel;
    // From one number of a position to the next.
    u64 number;
    u32 units;
    u32 channels;
    u32 padding;
    u32 align_corners;
};

// Must match ops/grid_sample/mod.rs.
static_assert(sizeof(GridSample) == 384);
ISOBIT_LAYOUT(ISOBIT_OFFSET(GridSample, size) == 296 && ISOBIT_OFFSET(GridSample, number) == 360);

// A dimension of the image: the number of its elements and that of the last one.
template <typename C>
struct Extent {
    C size, last;
};

template <typename C>
ISOBIT_FN C clamped(C position, const Extent<C> &e) {
    const C above = position > 0 ? position : 0;
    return above < e.last ? above : e.last;
}

// The position, counted in elements and finite, of a number of the grid.
template <typename C>
ISOBIT_FN C position_of(C x, const Extent<C> &e, const GridSample &g) {
    const C position = g.align_corners != 0 ? (x + 1) * (C)0.5 * e.last : fma(x + 1, e.size, (C)-1) * (C)0.5;
    if (position != position)
        return g.padding == GRID_ZEROS ? -8 : 0;
    constexpr C FAR = power_of_two<C>(62);
    const C above = position > -FAR ? position : -FAR;
    return above < FAR ? above : FAR;
}

// Moves a position into the image, if what is outside is part of it.
template <typename C>
ISOBIT_FN C moved(C position, const Extent<C> &e, const GridSample &g) {
    if (g.padding == GRID_ZEROS)
        return position;
    if (g.padding == GRID_REFLECTION) {
        const C low = g.align_corners != 0 ? 0 : (C)-0.5, span = g.align_corners != 0 ? e.last : e.size;
        if (span == 0)
            return 0;
        // There and back is one period.
        const C period = span * 2, distance = abs(position - low);
        const C phase = distance < period ? distance : arith::float_rem(distance, period);
        const C back = period - phase;
        position = (phase < back ? phase : back) + low;
    }
    return clamped(position, e);
}

template <int TAPS, typename C>
ISOBIT_FN void set(Around<TAPS, C> &around, int tap, C element, C weight, const Extent<C> &e, const GridSample &g,
                   int d) {
    // A compute type that has not every number rounds that of the last element.
    const u64 last = g.size[d] - 1, number = saturate<u64>(floor(element));
    set(around, tap, number < last ? number : last, g.step[d], element >= 0 && element <= e.last, weight);
}

template <int TAPS, typename C>
ISOBIT_FN Around<TAPS, C> around(C x, int d, const GridSample &g) {
    const Extent<C> e{(C)g.size[d], (C)(g.size[d] - 1)};
    const C position = position_of(x, e, g);
    Around<TAPS, C> result;
    if constexpr (TAPS == 1) {
        set(result, 0, rint(moved(position, e, g)), (C)1, e, g, d);
    } else if constexpr (TAPS == 2) {
        const C within = moved(position, e, g), low = floor(within), rest = within - low;
        set(result, 0, low, 1 - rest, e, g, d);
        set(result, 1, low + 1, rest, e, g, d);
    } else {
        const C low = floor(position);
        C weights[4];
        cubic_weights(keys_of<C>(-0.75), position - low, weights);
#pragma unroll
        for (int tap = 0; tap < 4; tap++)
            set(result, tap, moved(low + (C)(tap - 1), e, g), weights[tap], e, g, d);
    }
    return result;
}

template <int D, int TAPS, typename T, typename G>
ISOBIT_FN void grid_sample(const T *image, const G *grid, T *result, const GridSample &g) {
    using C = compute_t<T>;
    const u32 unit = block_x() * ELEMENTWISE_BLOCK + thread_x();
    if (unit >= g.units)
        return;
    const Offsets<3> at = offsets_of(g.units_at, unit);
    image += at.at[0];
    grid += at.at[1];
    result += at.at[2];
    Around<TAPS, C> dims[D];
#pragma unroll
    for (int d = 0; d < D; d++)
        dims[d] = around<TAPS>((C)to_compute(grid[d * g.number]), d, g);
#pragma unroll 1
    for (u32 c = 0; c < g.channels; c++, image += g.image_channel, result += g.result_channel)
        *result = from_compute<T>(sampled<D>(image, dims, true));
}

} // namespace isobit

#define ISOBIT_GRID_SAMPLE(NAME, D, TAPS, T, G)                                                                        \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *image, const isobit::G *grid, isobit::T *result, const isobit::GridSample sample) {          \
        isobit::grid_sample<D, TAPS>(image, grid, result, sample);                                                     \
    }
