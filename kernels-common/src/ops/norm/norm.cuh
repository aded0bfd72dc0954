// Shared code of the softmax and norm kernels: the parameters, the order of sums, and a row that a
// team of threads holds in registers.
#pragma once

#include "device_lib/extreme.cuh"
#include "device_lib/index.cuh"
#include "device_lib/limits.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// The lanes of the order of sums, and the threads that fold them to NORM_FOLDERS values.
ISOBIT_CONST u32 NORM_LANES = 256, NORM_FOLDERS = 16;
ISOBIT_CONST u32 NORM_SEGMENT = 65536;
ISOBIT_CONST u32 NORM_PASSES = 5;

// The host's `Norm` in norm/mod.rs.
struct Norm {
    // Elements per row; their number as the divisor of a mean; and eps, which keeps the argument of
    // a root above 0. Both doubles are rounded to the compute type.
    u64 n;
    double count;
    double eps;
    // The number of elements of a row that fits in registers, repeated for each pass over the row.
    // With a single copy, compilers keep the comparisons of the first pass until the last, and
    // there are not enough registers for them.
    u32 end[NORM_PASSES];
    // The offset of each row in source, destination and skip, if there is one. Its elements are
    // adjacent in all. For rows of channels the last is the row's first channel.
    Index<3> places;
    u32 rows;
    // A row has 2^team_shift threads.
    u32 team_shift;
    // Nonzero if the layout and alignment allow vectors.
    u32 vectors;
    // Parts of a long row, one per block.
    Divisor parts;
    // Nonzero if the softmax of a row of -infinity is zeros.
    u32 safe;
    // Elements per channel, in rows of channels. The divisor is at most 2^31 - 1.
    Divisor channel;
    u64 spatial;
};

// Must match ops/norm/mod.rs.
static_assert(sizeof(Norm) == 392);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Norm, count) == 8 && ISOBIT_OFFSET(Norm, end) == 24);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Norm, places) == 48 && ISOBIT_OFFSET(Norm, rows) == 344);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Norm, parts) == 356 && ISOBIT_OFFSET(Norm, safe) == 368);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Norm, channel) == 372 && ISOBIT_OFFSET(Norm, spatial) == 384);

// ---- fold operations ----

// Combining with `none()` changes nothing: neither a sum, including the sign of a zero, nor a
// maximum.
struct Sum {
    template <typename C>
    ISOBIT_FN C none() {
        return (C)-0.0f;
    }
    template <typename C>
    ISOBIT_FN C combine(C a, C b) {
        return a + b;
    }
};

// The largest value. Whether a NaN or another value wins is unspecified, because a NaN reappears in
// the sum.
struct Largest {
    template <typename C>
    ISOBIT_FN C none() {
        return (C)from_bits(0xff800000u);
    }
    ISOBIT_FN double combine(double a, double b) { return a < b ? b : a; }
#if ISOBIT_MAXIMUM
    ISOBIT_FN float combine(float a, float b) { return machine_maximum(a, b); }
#else
    ISOBIT_FN float combine(float a, float b) { return a < b ? b : a; }
#endif
};

// Folds N values, DISTANCE apart, by those steps of the tree that only involve them: the last one
// combines those at even and at odd places. A loop over an array of them stays one for NVRTC in
// half of the kernels, with the array in local memory.
template <typename F, u32 N, u32 DISTANCE, typename C>
ISOBIT_FN C fold(const C *from) {
    if constexpr (N == 1)
        return from[0];
    else
        return F::combine(fold<F, N / 2, 2 * DISTANCE>(from), fold<F, N / 2, 2 * DISTANCE>(from + DISTANCE));
}

// The same for a count that is the same for all threads: a power of two up to 16.
template <typename F, u32 DISTANCE, typename C>
ISOBIT_FN C fold(const C *from, u32 n) {
    switch (n) {
    case 16:
        return fold<F, 16, DISTANCE>(from);
    case 8:
        return fold<F, 8, DISTANCE>(from);
    case 4:
        return fold<F, 4, DISTANCE>(from);
    case 2:
        return fold<F, 2, DISTANCE>(from);
    default:
        return from[0];
    }
}

// ---- a row in registers ----

// The threads of a row, and the V lanes of each: element u * 256 + lane(v) of the row is the u-th
// element of the thread's v-th lane. WHOLE means that the row has elements in every lane, and
// VECTORS that a thread's lanes are neighbours, so that it moves them with one access. A kernel has
// code for both: with one code that selects at run time, a row of 384 took three times the
// instructions. What depends on VECTORS is no `if constexpr`: NVRTC 13.0 gives the pragmas of loops
// in a discarded branch to loops after it, and drops one of those.
template <u32 V, bool WHOLE, bool VECTORS>
struct Team {
    u32 row;
    u32 number;
    u32 threads;
    u32 first;

    ISOBIT_FN Team of(const Norm &p) {
        Team t;
        const u32 thread = thread_x();
        t.threads = WHOLE ? NORM_LANES / V : 1u << p.team_shift;
        t.number = WHOLE ? thread / (NORM_LANES / V) : thread >> p.team_shift;
        t.row = block_x() * (WHOLE ? block_dim_x() / (NORM_LANES / V) : block_dim_x() >> p.team_shift) + t.number;
        const u32 in_team = thread & (t.threads - 1);
        t.first = VECTORS ? in_team * V : in_team;
        return t;
    }
};

template <u32 V, bool WHOLE, bool VECTORS>
ISOBIT_FN u32 lane(const Team<V, WHOLE, VECTORS> &t, u32 v) {
    return t.first + (VECTORS ? v : v * t.threads);
}

// Folds a team's `width` values as a tree; every thread gets the result. The values of the teams
// lie one after the other in `shared`.
template <typename F, typename C, u32 V, bool WHOLE, bool VECTORS>
ISOBIT_FN C fold_shared(C *shared, u32 width, const Team<V, WHOLE, VECTORS> &t) {
    const C *mine = shared + t.number * width;
    barrier();
    if (width <= NORM_FOLDERS)
        return fold<F, 1>(mine, width);
    // Steps of 128 to 16: sixteen threads per team, each reading values that no other thread reads.
    const u32 tasks = block_dim_x() / t.threads * NORM_FOLDERS;
    for (u32 task = thread_x(); task < tasks; task += block_dim_x()) {
        C *folder = shared + task / NORM_FOLDERS * width + task % NORM_FOLDERS;
        *folder = fold<F, NORM_FOLDERS>(folder, width / NORM_FOLDERS);
    }
    barrier();
    return fold<F, NORM_FOLDERS, 1>(mine);
}

// Folds the lanes of a team in the order of sums. `shared` has space for V values per thread, is
// aligned to 16 bytes, and may be reused only after the next barrier.
template <typename F, u32 V, bool WHOLE, bool VECTORS, typename C>
ISOBIT_FN C fold_lanes(const C (&lanes)[V], C *shared, const Team<V, WHOLE, VECTORS> &t) {
    const u32 width = t.threads * V;
    C *mine = shared + t.number * width;
    if (VECTORS) {
        constexpr u32 N = pack_size<C>() < (int)V ? pack_size<C>() : V;
#pragma unroll
        for (u32 v = 0; v < V; v += N) {
            Pack<N, C> pack;
#pragma unroll
            for (u32 i = 0; i < N; i++)
                pack.v[i] = lanes[v + i];
            store<N>(mine + t.first + v, pack);
        }
    } else {
#pragma unroll
        for (u32 v = 0; v < V; v++)
            mine[lane(t, v)] = lanes[v];
    }
    return fold_shared<F>(shared, width, t);
}

// Folds the lanes of a team in any order. `shared` has space for one value per thread.
template <typename F, u32 V, bool WHOLE, bool VECTORS, typename C>
ISOBIT_FN C fold_any(const C (&lanes)[V], C *shared, const Team<V, WHOLE, VECTORS> &t) {
    C value = lanes[0];
#pragma unroll
    for (u32 v = 1; v < V; v++)
        value = F::combine(value, lanes[v]);
    shared[thread_x()] = value;
    return fold_shared<F>(shared, t.threads, t);
}

// R elements of each of V lanes in the compute type.
template <typename T, u32 V, u32 R>
struct Row {
    compute_t<T> x[R][V];
};

// The offset of the thread's u-th elements from its first one, or 0 if the row ends before them.
// `left` also counts from the thread's first element. Branch-free, so that all loads are in flight
// together.
ISOBIT_FN u32 within(u32 u, i32 left) {
    const i32 i = (i32)(u * NORM_LANES);
    return i < left ? (u32)i : 0;
}

template <typename T, u32 V, u32 R, bool WHOLE, bool VECTORS>
ISOBIT_FN void load_row(Row<T, V, R> &row, const T *src, u32 n, const Team<V, WHOLE, VECTORS> &t) {
    Pack<V, T> packs[R];
    if (VECTORS) {
        // A thread beyond the end of a short row has no element of its own.
        const T *from = src + (t.first < n ? t.first : 0);
        const i32 left = (i32)(n - t.first);
#pragma unroll
        for (u32 u = 0; u < R; u++)
            packs[u] = load<V>(from + within(u, left));
    } else {
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            const i32 left = (i32)(n - lane(t, v));
#pragma unroll
            for (u32 u = 0; u < R; u++)
                packs[u].v[v] = (i32)(u * NORM_LANES) < left ? src[lane(t, v) + u * NORM_LANES] : T{};
        }
    }
#pragma unroll
    for (u32 u = 0; u < R; u++)
#pragma unroll
        for (u32 v = 0; v < V; v++)
            row.x[u][v] = to_compute(packs[u].v[v]);
}

// Sets the elements beyond the end of the row to `fill`.
template <typename T, u32 V, u32 R, bool WHOLE, bool VECTORS>
ISOBIT_FN void fill_rest(Row<T, V, R> &row, u32 n, const Team<V, WHOLE, VECTORS> &t, compute_t<T> fill) {
    const u32 full = n / NORM_LANES, rest = n % NORM_LANES;
#pragma unroll
    for (u32 u = 0; u < R; u++)
        if (u >= full)
#pragma unroll
            for (u32 v = 0; v < V; v++)
                row.x[u][v] = u == full && (VECTORS ? t.first : lane(t, v)) < rest ? row.x[u][v] : fill;
}

// Writes the u-th elements of the thread's lanes, as far as the row has them.
template <typename T, u32 V, bool WHOLE, bool VECTORS>
ISOBIT_FN void store_lanes(T *dst, u32 u, const compute_t<T> (&y)[V], u32 n, const Team<V, WHOLE, VECTORS> &t) {
    Pack<V, T> pack;
#pragma unroll
    for (u32 v = 0; v < V; v++)
        pack.v[v] = from_compute<T>(y[v]);
    const u32 full = n / NORM_LANES, rest = n % NORM_LANES;
    dst += u * NORM_LANES;
    if (VECTORS) {
        if (u < full || (u == full && t.first < rest))
            store<V>(dst + t.first, pack);
    } else {
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (u < full || (u == full && lane(t, v) < rest))
                dst[lane(t, v)] = pack.v[v];
    }
}

// Loads the u-th elements of the thread's lanes from a parameter, which is as long as a row.
template <typename T, u32 V, bool WHOLE, bool VECTORS>
ISOBIT_FN void load_lanes(compute_t<T> (&y)[V], const T *from, u32 u, u32 n, const Team<V, WHOLE, VECTORS> &t) {
    Pack<V, T> pack;
    if (VECTORS) {
        const u32 i = u * NORM_LANES + t.first;
        pack = load<V>(from + (i < n ? i : 0));
    } else {
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            const u32 i = u * NORM_LANES + lane(t, v);
            pack.v[v] = from[i < n ? i : 0];
        }
    }
#pragma unroll
    for (u32 v = 0; v < V; v++)
        y[v] = to_compute(pack.v[v]);
}

// The same for a parameter that has one element for each channel of a row.
template <typename T, u32 V, bool WHOLE, bool VECTORS>
ISOBIT_FN void load_channels(compute_t<T> (&y)[V], const T *from, u32 u, u32 n, const Team<V, WHOLE, VECTORS> &t,
                             const Divisor &channel) {
#pragma unroll
    for (u32 v = 0; v < V; v++) {
        const u32 i = u * NORM_LANES + lane(t, v);
        y[v] = to_compute(from[divide(i < n ? i : 0, channel)]);
    }
}

// A pass over a thread's elements, in groups. Groups beyond the end of the row are skipped.
ISOBIT_CONST u32 NORM_GROUP = 4;
#define ISOBIT_NORM_EACH(U, R, N)                                                                                      \
    _Pragma("unroll") for (u32 group = 0; group < R; group += NORM_GROUP) if (group * NORM_LANES < N)                  \
        _Pragma("unroll") for (u32 U = group; U < R && U < group + NORM_GROUP; U++)

// Declares a kernel's space for folds.
#define ISOBIT_NORM_SHARED alignas(16) __shared__

// Blocks per multiprocessor, by the words of a row that a thread holds.
template <typename T, u32 BLOCK, u32 ELEMENTS>
ISOBIT_CONST u32 NORM_RESIDENT = (is_same<T, double> || ELEMENTS >= 64 ? 512
                                  : ELEMENTS >= 8                      ? 1024
                                                                       : 1536) /
                                 BLOCK;

} // namespace isobit
