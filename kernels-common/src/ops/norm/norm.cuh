// What the kernels of softmax and the norms share: the call, the order of the sums, and a row that
// a team of threads holds in registers.
#pragma once

#include "device_lib/extreme.cuh"
#include "device_lib/index.cuh"
#include "device_lib/limits.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// Lanes of the order of sums, and the threads that fold them to as many values.
ISOBIT_CONST u32 NORM_LANES = 256, NORM_FOLDERS = 16;
ISOBIT_CONST u32 NORM_SEGMENT = 65536;
ISOBIT_CONST u32 NORM_PASSES = 5;

// The host's `Norm` in norm/mod.rs.
struct Norm {
    // Elements of a row; their number as a mean divides by it, and what keeps a root from 0, both
    // rounded to the compute type.
    u64 n;
    double count;
    double eps;
    // The elements of a row that fits registers, once more for each pass over it. Of one number
    // compilers keep the comparisons of the first pass until the last, which are more than there
    // are registers for them.
    u32 end[NORM_PASSES];
    // Where each row lies in source and destination. Its elements are adjacent in both.
    Index<2> places;
    u32 rows;
    // The threads of a row are 2 to this.
    u32 team_shift;
    // Nonzero: everything lies so that vectors can be moved.
    u32 vectors;
    // Parts of a long row, each the work of a block.
    Divisor parts;
};

// As in ops/norm/mod.rs.
static_assert(sizeof(Norm) == 304);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Norm, count) == 8 && ISOBIT_OFFSET(Norm, end) == 24);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Norm, places) == 48 && ISOBIT_OFFSET(Norm, rows) == 280);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Norm, parts) == 292);

// ---- what is folded ----

// Combining with `none()` changes nothing: neither a sum, the sign of a zero included, nor a
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

// The largest value. Whether a NaN or another value wins is left open: a NaN comes back with the
// sum.
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

// N values, DISTANCE apart, as the steps of the tree that stay among them.
template <typename F, u32 N, u32 DISTANCE, typename C>
ISOBIT_FN C fold(const C *from) {
    C value[N];
#pragma unroll
    for (u32 j = 0; j < N; j++)
        value[j] = from[j * DISTANCE];
#pragma unroll
    for (u32 d = N / 2; d > 0; d /= 2)
#pragma unroll
        for (u32 j = 0; j < d; j++)
            value[j] = F::combine(value[j], value[j + d]);
    return value[0];
}

// The same for a number that is the same for all threads: a power of two up to 16.
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

// The threads of a row, and the V lanes of each: element u * 256 + lane(v) of the row is the
// thread's u-th of its v-th lane. WHOLE: the row has elements in every lane.
template <u32 V, bool WHOLE>
struct Team {
    u32 row;
    u32 number;
    u32 threads;
    u32 first;
    u32 distance;
    bool vectors;

    ISOBIT_FN Team of(const Norm &p) {
        Team t;
        const u32 thread = thread_x();
        t.threads = WHOLE ? NORM_LANES / V : 1u << p.team_shift;
        t.number = WHOLE ? thread / (NORM_LANES / V) : thread >> p.team_shift;
        t.row = block_x() * (WHOLE ? block_dim_x() / (NORM_LANES / V) : block_dim_x() >> p.team_shift) + t.number;
        const u32 in_team = thread & (t.threads - 1);
        // A lane is where it is, alone or as a vector: of one there is one way.
        t.vectors = V == 1 || p.vectors != 0;
        t.first = t.vectors ? in_team * V : in_team;
        t.distance = t.vectors ? 1 : t.threads;
        return t;
    }
};

template <u32 V, bool WHOLE>
ISOBIT_FN u32 lane(const Team<V, WHOLE> &t, u32 v) {
    return t.first + v * t.distance;
}

// A team's values, `width` of them, as a tree; every thread gets the result. The teams' values lie
// in `shared` one after the other.
template <typename F, typename C, u32 V, bool WHOLE>
ISOBIT_FN C fold_shared(C *shared, u32 width, const Team<V, WHOLE> &t) {
    const C *mine = shared + t.number * width;
    barrier();
    if (width <= NORM_FOLDERS)
        return fold<F, 1>(mine, width);
    // Steps of 128 to 16: sixteen threads a team, which read what nobody else reads.
    const u32 tasks = block_dim_x() / t.threads * NORM_FOLDERS;
    for (u32 task = thread_x(); task < tasks; task += block_dim_x()) {
        C *folder = shared + task / NORM_FOLDERS * width + task % NORM_FOLDERS;
        *folder = fold<F, NORM_FOLDERS>(folder, width / NORM_FOLDERS);
    }
    barrier();
    return fold<F, NORM_FOLDERS, 1>(mine);
}

// The lanes of a team in the order of sums. `shared` has room for V values a thread, and is not
// used again before the next barrier.
template <typename F, u32 V, bool WHOLE, typename C>
ISOBIT_FN C fold_lanes(const C (&lanes)[V], C *shared, const Team<V, WHOLE> &t) {
    const u32 width = t.threads * V;
#pragma unroll
    for (u32 v = 0; v < V; v++)
        shared[t.number * width + lane(t, v)] = lanes[v];
    return fold_shared<F>(shared, width, t);
}

// The lanes of a team in whatever order. `shared` has room for a value a thread.
template <typename F, u32 V, bool WHOLE, typename C>
ISOBIT_FN C fold_any(const C (&lanes)[V], C *shared, const Team<V, WHOLE> &t) {
    C value = lanes[0];
#pragma unroll
    for (u32 v = 1; v < V; v++)
        value = F::combine(value, lanes[v]);
    shared[thread_x()] = value;
    return fold_shared<F>(shared, t.threads, t);
}

// R elements of each of V lanes, in the compute type.
template <typename T, u32 V, u32 R>
struct Row {
    compute_t<T> x[R][V];
};

// Where the thread's u-th elements are, counted from its first one: there, if the row ends before.
// `left` counts from the thread's first element too. It is no branch, so that all loads are under
// way together.
ISOBIT_FN u32 within(u32 u, i32 left) {
    const i32 i = (i32)(u * NORM_LANES);
    return i < left ? (u32)i : 0;
}

template <typename T, u32 V, u32 R, bool WHOLE>
ISOBIT_FN void load_row(Row<T, V, R> &row, const T *src, u32 n, const Team<V, WHOLE> &t) {
    Pack<V, T> packs[R];
    if (t.vectors) {
        // A thread behind the end of a short row has no element of its own.
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

// Sets what lies behind the row's end.
template <typename T, u32 V, u32 R, bool WHOLE>
ISOBIT_FN void fill_rest(Row<T, V, R> &row, u32 n, const Team<V, WHOLE> &t, compute_t<T> fill) {
    const u32 full = n / NORM_LANES, rest = n % NORM_LANES;
#pragma unroll
    for (u32 u = 0; u < R; u++)
        if (u >= full)
#pragma unroll
            for (u32 v = 0; v < V; v++)
                row.x[u][v] = u == full && lane(t, v) < rest ? row.x[u][v] : fill;
}

// Writes the u-th elements of the thread's lanes, those that the row has.
template <typename T, u32 V, bool WHOLE>
ISOBIT_FN void store_lanes(T *dst, u32 u, const compute_t<T> (&y)[V], u32 n, const Team<V, WHOLE> &t) {
    Pack<V, T> pack;
#pragma unroll
    for (u32 v = 0; v < V; v++)
        pack.v[v] = from_compute<T>(y[v]);
    const u32 full = n / NORM_LANES, rest = n % NORM_LANES;
    dst += u * NORM_LANES;
    if (t.vectors) {
        if (u < full || (u == full && t.first < rest))
            store<V>(dst + t.first, pack);
    } else {
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (u < full || (u == full && lane(t, v) < rest))
                dst[lane(t, v)] = pack.v[v];
    }
}

// The u-th elements of the thread's lanes of a parameter, which has as many as a row.
template <typename T, u32 V, bool WHOLE>
ISOBIT_FN void load_lanes(compute_t<T> (&y)[V], const T *from, u32 u, u32 n, const Team<V, WHOLE> &t) {
    Pack<V, T> pack;
    if (t.vectors) {
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

// A pass over a thread's elements, in groups, of which those behind the row's end are left out.
ISOBIT_CONST u32 NORM_GROUP = 4;
#define ISOBIT_NORM_EACH(U, R, N)                                                                                      \
    _Pragma("unroll") for (u32 group = 0; group < R; group += NORM_GROUP) if (group * NORM_LANES < N)                  \
        _Pragma("unroll") for (u32 U = group; U < R && U < group + NORM_GROUP; U++)

// Blocks on a multiprocessor, by the words of a row that a thread holds.
template <typename T, u32 BLOCK, u32 ELEMENTS>
ISOBIT_CONST u32 NORM_RESIDENT = (is_same<T, double> || ELEMENTS >= 64 ? 512
                                  : ELEMENTS >= 16                     ? 1024
                                                                       : 1536) /
                                 BLOCK;

} // namespace isobit
