// Upsampling of rows and columns. The kernels for bands walk down columns: they compute once what a
// column takes from a row of the source, and read each row once for all rows of the result that are
// next to it.
#include "ops/upsample/positions.cuh"

namespace isobit {

// Any layout, one element at a time; the host's `Upsample` in upsample/mod.rs.
struct Upsample {
    Scale rows;
    Scale columns;
    u64 row_step;
    u64 column_step;
};

// Must match ops/upsample/mod.rs.
static_assert(sizeof(Upsample) == 80);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Upsample, row_step) == 64);

template <typename T>
ISOBIT_FN void nearest(const T *src, T *dst, const ElementWalk &walk, const Upsample &u) {
    for_each_element(walk, [&](const Element &e) {
        const u64 y = nearest_element<u64>(u.rows, e.row), x = nearest_element<u64>(u.columns, e.column);
        dst[e.dst] = src[e.src + y * u.row_step + x * u.column_step];
    });
}

template <typename T>
ISOBIT_FN void bilinear(const T *src, T *dst, const ElementWalk &walk, const Upsample &u) {
    using C = compute_t<T>;
    for_each_element(walk, [&](const Element &e) {
        const auto y = between<C>(u.rows, e.row);
        const auto x = between<C>(u.columns, e.column);
        const auto across = [&](u64 row) {
            const T *from = src + e.src + row * u.row_step;
            const C low = to_compute(from[x.low * u.column_step]), high = to_compute(from[x.high * u.column_step]);
            return blend(low, high, x.low_weight, x.high_weight);
        };
        dst[e.dst] = from_compute<T>(blend(across(y.low), across(y.high), y.low_weight, y.high_weight));
    });
}

// Contiguous columns, with sizes below 2^31: a thread computes `V` columns of a band of rows. The
// host's `Bands`.
struct Bands {
    Scale rows;
    Scale columns;
    u64 src_row;
    u64 dst_row;
    Index<2> planes;
    Divisor packs;
    Divisor bands;
    u32 height;
    u32 units;
};

// Must match ops/upsample/mod.rs.
static_assert(sizeof(Bands) == 344);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Bands, src_row) == 64 && ISOBIT_OFFSET(Bands, planes) == 80);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Bands, packs) == 312 && ISOBIT_OFFSET(Bands, height) == 336);

// The columns and rows of a thread.
struct Band {
    Offsets<2> plane;
    u32 column;
    u32 start;
    u32 end;
};
ISOBIT_FN Band band_of(const Bands &b, u32 unit, u32 width) {
    const u32 rest = divide(unit, b.packs), pack = unit - rest * b.packs.size;
    const u32 plane = divide(rest, b.bands), start = (rest - plane * b.bands.size) * b.height;
    const u32 rows = (u32)b.rows.to;
    return Band{offsets_of(b.planes, plane), pack * width, start, rows - start < b.height ? rows : start + b.height};
}

template <int V, typename T>
ISOBIT_FN void nearest_bands(const T *src, T *dst, const Bands &b) {
    const u32 unit = block_x() * ELEMENTWISE_BLOCK + thread_x();
    if (unit >= b.units)
        return;
    const Band band = band_of(b, unit, V);
    src += band.plane.at[0];
    dst += band.plane.at[1] + band.column + band.start * b.dst_row;
    u32 at[V];
#pragma unroll
    for (int v = 0; v < V; v++)
        at[v] = nearest_element<u32>(b.columns, band.column + v);
    Pack<V, T> x;
    u32 loaded = ~0u;
#pragma unroll 1
    for (u32 y = band.start; y < band.end; y++, dst += b.dst_row) {
        const u32 row = nearest_element<u32>(b.rows, y);
        if (row != loaded) {
            const T *from = src + row * b.src_row;
#pragma unroll
            for (int v = 0; v < V; v++)
                x.v[v] = from[at[v]];
            loaded = row;
        }
        store(dst, x);
    }
}

template <int V, typename T>
ISOBIT_FN void bilinear_bands(const T *src, T *dst, const Bands &b) {
    using C = compute_t<T>;
    const u32 unit = block_x() * ELEMENTWISE_BLOCK + thread_x();
    if (unit >= b.units)
        return;
    const Band band = band_of(b, unit, V);
    src += band.plane.at[0];
    dst += band.plane.at[1] + band.column + band.start * b.dst_row;
    Between<u32, C> x[V];
#pragma unroll
    for (int v = 0; v < V; v++)
        x[v] = between<C>(b.columns, band.column + v);
    // Two rows of the source, interpolated along their columns, and the numbers of these rows.
    C low[V], high[V];
    u32 low_row = ~0u, high_row = ~0u;
    const auto across = [&](C(&to)[V], u32 row) {
        const T *from = src + row * b.src_row;
#pragma unroll
        for (int v = 0; v < V; v++)
            to[v] = blend(to_compute(from[x[v].low]), to_compute(from[x[v].high]), x[v].low_weight, x[v].high_weight);
    };
#pragma unroll 1
    for (u32 i = band.start; i < band.end; i++, dst += b.dst_row) {
        const auto y = between<C>(b.rows, i);
        if (y.low != low_row) {
            if (y.low == high_row) {
#pragma unroll
                for (int v = 0; v < V; v++)
                    low[v] = high[v];
            } else {
                across(low, y.low);
            }
            low_row = y.low;
        }
        if (y.high != high_row) {
            across(high, y.high);
            high_row = y.high;
        }
        Pack<V, T> result;
#pragma unroll
        for (int v = 0; v < V; v++)
            result.v[v] = from_compute<T>(blend(low[v], high[v], y.low_weight, y.high_weight));
        store(dst, result);
    }
}

} // namespace isobit

#define ISOBIT_UPSAMPLE(NAME, FUNCTION, T)                                                                             \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::ElementWalk walk, const isobit::Upsample upsample) {      \
        isobit::FUNCTION(src, dst, walk, upsample);                                                                    \
    }
#define ISOBIT_UPSAMPLE_BANDS(NAME, FUNCTION, T, V)                                                                    \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::Bands bands) {                                            \
        isobit::FUNCTION<V>(src, dst, bands);                                                                          \
    }
