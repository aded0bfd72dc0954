// rms_norm, layer_norm and group_norm, for rows in registers and for rows of any length.
#include "device_lib/elementwise.cuh"
#include "ops/norm/long.cuh"

namespace isobit {

template <typename C>
ISOBIT_FN C mean_of(C sum, const Norm &p) {
    return sum / (C)p.count;
}

// 1 / sqrt(mean + eps) for a sum of squares.
template <typename C>
ISOBIT_FN C norm_scale(C squares, const Norm &p) {
    return (C)1 / sqrt(mean_of(squares, p) + (C)p.eps);
}

template <typename C>
ISOBIT_FN C rms_of(C x, C scale, C weight) {
    return x * scale * weight;
}

template <typename C>
ISOBIT_FN C layer_of(C centred, C scale, C weight, C bias) {
    return fma(centred * scale, weight, bias);
}

// The sum of squares of a row.
template <typename T, u32 V, u32 R, bool WHOLE, bool VECTORS>
ISOBIT_FN compute_t<T> squares_of(const Row<T, V, R> &row, compute_t<T> *shared, u32 n, const Team<V, WHOLE, VECTORS> &t) {
    using C = compute_t<T>;
    C lanes[V];
#pragma unroll
    for (u32 v = 0; v < V; v++)
        lanes[v] = Sum::none<C>();
    ISOBIT_NORM_EACH(u, R, n)
#pragma unroll
    for (u32 v = 0; v < V; v++)
        lanes[v] = lanes[v] + row.x[u][v] * row.x[u][v];
    return fold_lanes<Sum>(lanes, shared, t);
}

template <u32 V, u32 R, bool VECTORS, typename T, u32 SPACE>
ISOBIT_FN void rms_rows(compute_t<T> (&shared)[1][SPACE], const T *src, T *dst, const T *weight, const Norm &p) {
    using C = compute_t<T>;
    const auto t = Team<V, (R > 1), VECTORS>::of(p);
    const bool inside = t.row < p.rows;
    const Offsets<3> at = offsets_of(p.places, inside ? t.row : p.rows - 1);

    Row<T, V, R> row;
    load_row(row, src + at.at[0], p.end[0], t);
    fill_rest(row, p.end[1], t, (C)0);
    const C squares = squares_of(row, shared[0], p.end[3], t);
    if (!inside)
        return;
    const C scale = norm_scale(squares, p);
    ISOBIT_NORM_EACH(u, R, p.end[4]) {
        C y[V], w[V];
        load_lanes(w, weight, u, p.end[4], t);
#pragma unroll
        for (u32 v = 0; v < V; v++)
            y[v] = rms_of(row.x[u][v], scale, w[v]);
        store_lanes(dst + at.at[1], u, y, p.end[4], t);
    }
}

// A sum as `add` gives it, rounded to the dtype.
template <typename T>
ISOBIT_FN compute_t<T> added(compute_t<T> a, compute_t<T> b) {
    return to_compute(from_compute<T>(a + b));
}

// What a row is: one of layer_norm, of skip_layer_norm, or the channels of a group.
enum RowOf { PLAIN, SKIP, GROUP };

// The lanes of a parameter; those of one that is absent are all `value`.
template <RowOf OF, typename T, u32 V, bool WHOLE, bool VECTORS>
ISOBIT_FN void load_parameter(compute_t<T> (&y)[V], const T *from, float value, u32 u, u32 n,
                              const Team<V, WHOLE, VECTORS> &t, u64 first, const Divisor &channel) {
#pragma unroll
    for (u32 v = 0; v < V; v++)
        y[v] = value;
    if (OF == GROUP && from != nullptr)
        load_channels(y, from + first, u, n, t, channel);
    else if (OF == SKIP || from != nullptr)
        load_lanes(y, from, u, n, t);
}

// A row of skip_layer_norm is the sum of the row, `src_bias` and that of `skip`. Otherwise weight
// and bias may be null, and if there are `stats`, only the mean and the scale are written, to them.
template <RowOf OF, u32 V, u32 R, bool VECTORS, typename T, u32 SPACE>
ISOBIT_FN void layer_rows(compute_t<T> (&shared)[2][SPACE], const T *src, const T *skip, T *dst, const T *weight,
                          const T *bias, const T *src_bias, compute_t<T> *stats, const Norm &p) {
    using C = compute_t<T>;
    const auto t = Team<V, (R > 1), VECTORS>::of(p);
    const bool inside = t.row < p.rows;
    const Offsets<3> at = offsets_of(p.places, inside ? t.row : p.rows - 1);

    Row<T, V, R> row;
    load_row(row, src + at.at[0], p.end[0], t);
    if (OF == SKIP)
        ISOBIT_NORM_EACH(u, R, p.end[0]) {
            C b[V], s[V];
            load_lanes(b, src_bias, u, p.end[0], t);
            load_lanes(s, skip + at.at[2], u, p.end[0], t);
#pragma unroll
            for (u32 v = 0; v < V; v++)
                row.x[u][v] = added<T>(added<T>(row.x[u][v], b[v]), s[v]);
        }
    fill_rest(row, p.end[1], t, Sum::none<C>());
    C lanes[V];
#pragma unroll
    for (u32 v = 0; v < V; v++)
        lanes[v] = Sum::none<C>();
    ISOBIT_NORM_EACH(u, R, p.end[2])
#pragma unroll
    for (u32 v = 0; v < V; v++)
        lanes[v] = lanes[v] + row.x[u][v];
    const C mean = mean_of(fold_lanes<Sum>(lanes, shared[0], t), p);
    if (stats != nullptr && inside && t.first == 0)
        stats[at.at[1]] = mean;
    ISOBIT_NORM_EACH(u, R, p.end[2])
#pragma unroll
    for (u32 v = 0; v < V; v++)
        row.x[u][v] = row.x[u][v] - mean;
    fill_rest(row, p.end[2], t, (C)0);
    const C squares = squares_of(row, shared[1], p.end[3], t);
    if (!inside)
        return;
    const C scale = norm_scale(squares, p);
    if (stats != nullptr) {
        if (t.first == 0)
            stats[at.at[1] + 1] = scale;
        return;
    }
    ISOBIT_NORM_EACH(u, R, p.end[4]) {
        C y[V], w[V], b[V];
        load_parameter<OF>(w, weight, 1.0f, u, p.end[4], t, at.at[2], p.channel);
        load_parameter<OF>(b, bias, 0.0f, u, p.end[4], t, at.at[2], p.channel);
#pragma unroll
        for (u32 v = 0; v < V; v++)
            y[v] = layer_of(row.x[u][v], scale, w[v], b[v]);
        store_lanes(dst + at.at[1], u, y, p.end[4], t);
    }
}

// ---- long rows ----

template <typename T>
struct Itself {
    using Fold = Sum;
    ISOBIT_FN compute_t<T> of_row(const compute_t<T> *, u32, const Norm &) { return 0; }
    ISOBIT_FN compute_t<T> of(compute_t<T> x, compute_t<T>) { return x; }
};

template <typename T>
struct Square {
    using Fold = Sum;
    ISOBIT_FN compute_t<T> of_row(const compute_t<T> *, u32, const Norm &) { return 0; }
    ISOBIT_FN compute_t<T> of(compute_t<T> x, compute_t<T>) { return x * x; }
};

// The square of the difference from the mean; the value per row is its sum.
template <typename T>
struct CentredSquare {
    using Fold = Sum;
    ISOBIT_FN compute_t<T> of_row(const compute_t<T> *sums, u32 row, const Norm &p) { return mean_of(sums[row], p); }
    ISOBIT_FN compute_t<T> of(compute_t<T> x, compute_t<T> mean) { return (x - mean) * (x - mean); }
};

template <typename T>
struct Rms {
    using C = compute_t<T>;
    C scale;
    const T *weight;
    ISOBIT_METHOD C operator()(C x, u64 i) const { return rms_of(x, scale, to_compute(weight[i])); }
};

template <typename T>
struct Layer {
    using C = compute_t<T>;
    C mean, scale;
    const T *weight, *bias;
    ISOBIT_METHOD C operator()(C x, u64 i) const {
        const C w = weight != nullptr ? to_compute(weight[i]) : (C)1, b = bias != nullptr ? to_compute(bias[i]) : (C)0;
        return layer_of(x - mean, scale, w, b);
    }
};

// The same for a part of a group, in which weight and bias have one element for each channel. A
// part is so short that only elements after the first channel need a division, of a small number.
template <typename T>
struct Group {
    using C = compute_t<T>;
    Layer<T> layer;
    // Where the channel of the part's first element ends in the row, and which it is.
    u64 end, first;
    Divisor channel;
    ISOBIT_METHOD C operator()(C x, u64 i) const {
        return layer(x, i < end ? first : first + 1 + divide((u32)(i - end), channel));
    }
};

template <typename T>
ISOBIT_FN void group_part(const T *src, T *dst, const T *weight, const T *bias, const compute_t<T> *sums,
                          const compute_t<T> *squares, const Norm &p) {
    const Span s = span_of(p, LONG_PART);
    const u64 before = s.start / p.spatial;
    const Layer<T> layer{mean_of(sums[s.row], p), norm_scale(squares[s.row], p), weight, bias};
    write_part(src, dst, s, p,
               Group<T>{layer, (before + 1) * p.spatial, offsets_of(p.places, s.row).at[2] + before, p.channel});
}

template <typename T>
ISOBIT_FN void rms_part(const T *src, T *dst, const T *weight, const compute_t<T> *squares, const Norm &p) {
    const Span s = span_of(p, LONG_PART);
    write_part(src, dst, s, p, Rms<T>{norm_scale(squares[s.row], p), weight});
}

template <typename T>
ISOBIT_FN void layer_part(const T *src, T *dst, const T *weight, const T *bias, compute_t<T> *stats,
                          const compute_t<T> *sums, const compute_t<T> *squares, const Norm &p) {
    const Span s = span_of(p, LONG_PART);
    const compute_t<T> mean = mean_of(sums[s.row], p), scale = norm_scale(squares[s.row], p);
    if (stats != nullptr) {
        const u64 at = offsets_of(p.places, s.row).at[1];
        if (thread_x() == 0)
            stats[at] = mean, stats[at + 1] = scale;
        return;
    }
    write_part(src, dst, s, p, Layer<T>{mean, scale, weight, bias});
}

} // namespace isobit

#define ISOBIT_RMS_ROWS(NAME, T, V, R, BLOCK)                                                                          \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(BLOCK, (NORM_RESIDENT<T, BLOCK, V * R>))                                                    \
    NAME(const T *src, T *dst, const T *weight, const Norm p) {                                                        \
        ISOBIT_NORM_SHARED compute_t<T> shared[1][BLOCK * V];                                                          \
        if (V > 1 && p.vectors == 0)                                                                                   \
            rms_rows<V, R, false>(shared, src, dst, weight, p);                                                        \
        else                                                                                                           \
            rms_rows<V, R, true>(shared, src, dst, weight, p);                                                         \
    }                                                                                                                  \
    }
#define ISOBIT_RMS_LONG(NAME, T)                                                                                       \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(LONG_THREADS)                                                                                        \
    NAME(const T *src, T *dst, const T *weight, const compute_t<T> *squares, const Norm p) {                           \
        rms_part(src, dst, weight, squares, p);                                                                        \
    }                                                                                                                  \
    }
#define ISOBIT_LAYER_ROWS(NAME, T, V, R, BLOCK)                                                                        \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(BLOCK, (NORM_RESIDENT<T, BLOCK, V * R>))                                                    \
    NAME(const T *src, T *dst, const T *weight, const T *bias, compute_t<T> *stats, const Norm p) {                    \
        ISOBIT_NORM_SHARED compute_t<T> shared[2][BLOCK * V];                                                          \
        if (V > 1 && p.vectors == 0)                                                                                   \
            layer_rows<PLAIN, V, R, false>(shared, src, src, dst, weight, bias, bias, stats, p);                       \
        else                                                                                                           \
            layer_rows<PLAIN, V, R, true>(shared, src, src, dst, weight, bias, bias, stats, p);                        \
    }                                                                                                                  \
    }
#define ISOBIT_SKIP_LAYER_ROWS(NAME, T, V, R, BLOCK)                                                                   \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(BLOCK, (NORM_RESIDENT<T, BLOCK, V * R>))                                                    \
    NAME(const T *src, T *dst, const T *skip, const T *weight, const T *bias, const T *src_bias, const Norm p) {       \
        ISOBIT_NORM_SHARED compute_t<T> shared[2][BLOCK * V];                                                          \
        if (V > 1 && p.vectors == 0)                                                                                   \
            layer_rows<SKIP, V, R, false>(shared, src, skip, dst, weight, bias, src_bias, (compute_t<T> *)nullptr, p);  \
        else                                                                                                           \
            layer_rows<SKIP, V, R, true>(shared, src, skip, dst, weight, bias, src_bias, (compute_t<T> *)nullptr, p);   \
    }                                                                                                                  \
    }
#define ISOBIT_GROUP_ROWS(NAME, T, V, R, BLOCK)                                                                        \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(BLOCK, (NORM_RESIDENT<T, BLOCK, V * R>))                                                    \
    NAME(const T *src, T *dst, const T *weight, const T *bias, const Norm p) {                                         \
        ISOBIT_NORM_SHARED compute_t<T> shared[2][BLOCK * V];                                                          \
        if (V > 1 && p.vectors == 0)                                                                                   \
            layer_rows<GROUP, V, R, false>(shared, src, src, dst, weight, bias, bias, (compute_t<T> *)nullptr, p);     \
        else                                                                                                           \
            layer_rows<GROUP, V, R, true>(shared, src, src, dst, weight, bias, bias, (compute_t<T> *)nullptr, p);      \
    }                                                                                                                  \
    }
#define ISOBIT_LAYER_LONG(NAME, T)                                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(LONG_THREADS)                                                                                        \
    NAME(const T *src, T *dst, const T *weight, const T *bias, compute_t<T> *stats, const compute_t<T> *sums,          \
         const compute_t<T> *squares, const Norm p) {                                                                  \
        layer_part(src, dst, weight, bias, stats, sums, squares, p);                                                  \
    }                                                                                                                  \
    }
#define ISOBIT_GROUP_LONG(NAME, T)                                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(LONG_THREADS)                                                                                        \
    NAME(const T *src, T *dst, const T *weight, const T *bias, const compute_t<T> *sums, const compute_t<T> *squares, \
         const Norm p) {                                                                                               \
        group_part(src, dst, weight, bias, sums, squares, p);                                                          \
    }                                                                                                                  \
    }
