// Elements of windows, added to their places in an image: each element of the image gathers what it
// is in the windows that have it, in row-major order of its places there. No two threads write the
// same element.
#include "ops/element_walk.cuh"
#include "ops/pooling/windows.cuh"

namespace isobit {

// The windows, whose steps are those from one window's element to the next one's, and the places in
// them; the host's `Columns` in pooling/col2im.rs.
struct Columns {
    Windows windows;
    u64 counts[3];
    u64 place_step[3];
    // Windows from one that has an element to the next that does, and places from the element's
    // in the later of them to that in the earlier one; no more than there are.
    u64 period[3];
    u64 place_period[3];
    // From an element's place in a window to its next place, which is in an earlier window.
    i64 advance[3];
    // Divisors for numbers below 2^31, if there are no others.
    Divisor narrow_stride[3];
    Divisor narrow_period[3];
    Divisor narrow_place_period[3];
};

// Must match ops/pooling/col2im.rs.
static_assert(sizeof(Columns) == 528);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Columns, advance) == 392 && ISOBIT_OFFSET(Columns, narrow_place_period) == 488);

// Where a position of the image is in windows, along a dimension: how far its first place is from
// the first one of the first window, and how many there are. That fits 32 bits: they are of as many
// windows, and the elements of those could not be counted otherwise.
struct Places {
    u64 first;
    u32 count;
};

ISOBIT_FN Places places_of(const Columns &c, int d, u64 position) {
    const Windows &w = c.windows;
    const auto place_at = [&](u64 away) { return quotient(w, away, w.dilation[d], w.narrow_dilation[d]); };
    const u64 at = position + w.begin[d], last = c.counts[d] - 1;
    u64 window = quotient(w, at, w.stride[d], c.narrow_stride[d]);
    window = window < last ? window : last;
    u64 away = at - window * w.stride[d], place = place_at(away);
    // The first place is in the last window, but for those that have a gap there.
#pragma unroll 1
    while (place * w.dilation[d] != away && place < w.kernel[d] && window > 0) {
        window--;
        away += w.stride[d];
        place = place_at(away);
    }
    if (place * w.dilation[d] != away || place >= w.kernel[d])
        return Places{0, 0};
    const u64 earlier = quotient(w, window, c.period[d], c.narrow_period[d]);
    const u64 later = quotient(w, w.kernel[d] - 1 - place, c.place_period[d], c.narrow_place_period[d]);
    return Places{window * w.step[d] + place * c.place_step[d], (u32)(earlier < later ? earlier : later) + 1};
}

// The sums of a position in several channels.
template <typename T>
struct PlaceSums {
    const T *columns;
    T *dst;
    const Channels &channels;
    const Columns &c;
    const Places (&places)[3];

    template <int CHANNELS>
    ISOBIT_METHOD void run(u64 channel) const {
        using C = compute_t<T>;
        // A single channel has several elements on their way instead.
        constexpr int AHEAD = CHANNELS == 1 ? 4 : 1;
        C sums[CHANNELS];
#pragma unroll
        for (int i = 0; i < CHANNELS; i++)
            sums[i] = 0;
        const T *slice = columns + channel * channels.from[0];
#pragma unroll 1
        for (u32 z = 0; z < places[0].count; z++, slice += c.advance[0]) {
            const T *row = slice;
#pragma unroll 1
            for (u32 y = 0; y < places[1].count; y++, row += c.advance[1]) {
                const T *value = row;
#pragma unroll AHEAD
                for (u32 x = 0; x < places[2].count; x++, value += c.advance[2]) {
                    T values[CHANNELS];
#pragma unroll
                    for (int i = 0; i < CHANNELS; i++)
                        values[i] = value[i * channels.from[0]];
#pragma unroll
                    for (int i = 0; i < CHANNELS; i++)
                        sums[i] = sums[i] + to_compute(values[i]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < CHANNELS; i++)
            dst[(channel + i) * channels.to] = from_compute<T>(sums[i]);
    }
};

template <typename T>
ISOBIT_FN void col2im(const T *columns, T *dst, const ElementWalk &walk, const Columns &c, const Channels &channels) {
    const Windows &w = c.windows;
    for_each_element(walk, [&](const Element &e) {
        const T *from = columns + e.src;
        const u64 slice = slice_of(w, e.row);
        u64 position[3] = {slice, e.row - slice * w.rows, e.column};
        Places places[3] = {};
        // As in pooling.cu, the code of a dimension is there once.
#pragma unroll 1
        for (int d = 3; d-- > 0;) {
            const Places of = places_of(c, d, position[2]);
            from += of.first;
            push_front(places, of);
            push_front(position, (u64)0);
        }
        for_channels<SEVERAL>(channels, PlaceSums<T>{from, dst + e.dst, channels, c, places});
    });
}

} // namespace isobit

#define ISOBIT_COL2IM(NAME, T)                                                                                         \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *columns, isobit::T *dst, const isobit::ElementWalk walk, const isobit::Columns c,            \
         const isobit::Channels channels) {                                                                            \
        isobit::col2im(columns, dst, walk, c, channels);                                                               \
    }
