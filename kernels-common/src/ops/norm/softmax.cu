// softmax and log_softmax, for rows in registers and for rows of any length.
#include "device_lib/elementwise.cuh"
#include "device_lib/math/f32_log.cuh"
#include "device_lib/math/f64_log.cuh"
#include "ops/norm/exp.cuh"
#include "ops/norm/long.cuh"

namespace isobit {

// What is subtracted from the elements of a row. In a safe softmax it is 0 for a row of -infinity,
// so that all its powers are 0.
template <typename C>
ISOBIT_FN C subtracted(C largest, const Norm &p) {
    return p.safe != 0 && largest == Largest::none<C>() ? (C)0 : largest;
}

// The factor of the powers; their sum is 0 only in a safe softmax, and at least 1 otherwise.
template <typename C>
ISOBIT_FN C share_of(C sum) {
    return sum == 0 ? sum : (C)1 / sum;
}

template <bool LOG, u32 V, u32 R, bool VECTORS, typename T, u32 SPACE>
ISOBIT_FN void softmax_rows(compute_t<T> (&shared)[2][SPACE], const T *src, T *dst, const Norm &p) {
    using C = compute_t<T>;
    const auto t = Team<V, (R > 1), VECTORS>::of(p);
    const bool inside = t.row < p.rows;
    const Offsets<3> at = offsets_of(p.places, inside ? t.row : p.rows - 1);

    // Elements beyond the end count as e^-infinity, which is 0.
    Row<T, V, R> row;
    load_row(row, src + at.at[0], p.end[0], t);
    fill_rest(row, p.end[1], t, Largest::none<C>());
    C largest[V];
#pragma unroll
    for (u32 v = 0; v < V; v++)
        largest[v] = Largest::none<C>();
    ISOBIT_NORM_EACH(u, R, p.end[2])
#pragma unroll
    for (u32 v = 0; v < V; v++)
        largest[v] = Largest::combine(largest[v], row.x[u][v]);
    const C m = subtracted(fold_any<Largest>(largest, shared[0], t), p);

    C lanes[V];
#pragma unroll
    for (u32 v = 0; v < V; v++)
        lanes[v] = Sum::none<C>();
    ISOBIT_NORM_EACH(u, R, p.end[3])
#pragma unroll
    for (u32 v = 0; v < V; v++) {
        const C d = row.x[u][v] - m, e = exp_down<T>(d);
        lanes[v] = lanes[v] + e;
        row.x[u][v] = LOG ? d : e;
    }
    const C sum = fold_lanes<Sum>(lanes, shared[1], t);

    if (!inside)
        return;
    const C last = LOG ? math::log(sum) : share_of(sum);
    ISOBIT_NORM_EACH(u, R, p.end[4]) {
        C y[V];
#pragma unroll
        for (u32 v = 0; v < V; v++)
            y[v] = LOG ? row.x[u][v] - last : row.x[u][v] * last;
        store_lanes(dst + at.at[1], u, y, p.end[4], t);
    }
}

// ---- long rows ----

template <typename T>
struct Itself {
    using Fold = Largest;
    ISOBIT_FN compute_t<T> of_row(const compute_t<T> *, u32, const Norm &) { return 0; }
    ISOBIT_FN compute_t<T> of(compute_t<T> x, compute_t<T>) { return x; }
};

template <typename T>
struct Exponential {
    using Fold = Sum;
    ISOBIT_FN compute_t<T> of_row(const compute_t<T> *largest, u32 row, const Norm &p) {
        return subtracted(largest[row], p);
    }
    ISOBIT_FN compute_t<T> of(compute_t<T> x, compute_t<T> largest) { return exp_down<T>(x - largest); }
};

template <bool LOG, typename T>
struct Softmax {
    using C = compute_t<T>;
    C largest, last;
    ISOBIT_METHOD C operator()(C x, u64) const {
        const C d = x - largest;
        return LOG ? d - last : exp_down<T>(d) * last;
    }
};

template <bool LOG, typename T>
ISOBIT_FN void softmax_part(const T *src, T *dst, const compute_t<T> *largest, const compute_t<T> *sums, const Norm &p) {
    using C = compute_t<T>;
    const Span s = span_of(p, LONG_PART);
    const C sum = sums[s.row];
    write_part(src, dst, s, p, Softmax<LOG, T>{subtracted(largest[s.row], p), LOG ? math::log(sum) : share_of(sum)});
}

} // namespace isobit

#define ISOBIT_SOFTMAX_ROWS(NAME, LOG, T, V, R, BLOCK)                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(BLOCK, (NORM_RESIDENT<T, BLOCK, V * R>))                                                    \
    NAME(const T *src, T *dst, const Norm p) {                                                                         \
        ISOBIT_NORM_SHARED compute_t<T> shared[2][BLOCK * V];                                                          \
        if (V > 1 && p.vectors == 0)                                                                                   \
            softmax_rows<LOG, V, R, false>(shared, src, dst, p);                                                       \
        else                                                                                                           \
            softmax_rows<LOG, V, R, true>(shared, src, dst, p);                                                        \
    }                                                                                                                  \
    }
#define ISOBIT_SOFTMAX_LONG(NAME, LOG, T)                                                                              \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(LONG_THREADS)                                                                                        \
    NAME(const T *src, T *dst, const compute_t<T> *largest, const compute_t<T> *sums, const Norm p) {                  \
        softmax_part<LOG, T>(src, dst, largest, sums, p);                                                              \
    }                                                                                                                  \
    }
