// Reductions in a fixed order. A segment has 65,536 elements and 256 lanes. Each lane takes every
// 256th element in ascending order, and the lanes are combined as a binary tree, 128, 64 ... 1
// apart. One team of threads computes a segment, and each thread holds several lanes.
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"
#include "ops/reduce/rows.cuh"
#include "ops/reduce/seed.cuh"

namespace isobit {

// The host's `Reduction` in reduce/mod.rs.
struct Reduction {
    // Elements per result, and their number as the divisor of a mean.
    u64 n;
    double count;
    // The offset of each element of the sequence, and of each result in source and destination.
    Index<1> sequence;
    Index<2> results;
    // Results times segments per result. If a result has one segment, it is finished and goes to
    // `dst`; else the value of each segment goes to `partial`.
    u32 items;
    Divisor segments;
    // A team has 2^team_shift threads; for columns, these share a column.
    u32 team_shift;
    // Nonzero if the layout and alignment allow vector loads: of a sequence of one dimension, or of
    // two for threads along it.
    u32 vectors;
    // Nonzero for a sequence of several dimensions with 2^31 or more elements.
    u32 wide;
    // For columns: 2^across_shift threads run along them; the number of columns, the number of
    // strips, and the distance of two columns in `dst`.
    u32 across_shift;
    u32 columns;
    Divisor strips;
    u64 dst_column;
};

// Must match ops/reduce/mod.rs.
static_assert(sizeof(Reduction) == 472);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Reduction, count) == 8 && ISOBIT_OFFSET(Reduction, sequence) == 16);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Reduction, results) == 184 && ISOBIT_OFFSET(Reduction, items) == 416);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Reduction, segments) == 420 && ISOBIT_OFFSET(Reduction, team_shift) == 432);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Reduction, strips) == 452 && ISOBIT_OFFSET(Reduction, dst_column) == 464);

// A segment of a sequence.
struct Segment {
    u32 result;
    u32 number;
    u64 start;
    u32 length;
};

ISOBIT_FN Segment segment_of(const Reduction &r, u32 item) {
    Segment s{0, 0, 0, 0};
    if (item < r.items) {
        s.result = divide(item, r.segments);
        s.number = item - s.result * r.segments.size;
        s.start = (u64)s.number * REDUCE_SEGMENT;
        const u64 left = r.n - s.start;
        s.length = left < REDUCE_SEGMENT ? (u32)left : REDUCE_SEGMENT;
    }
    return s;
}

ISOBIT_FN u64 place_of(const Reduction &r, u64 i) {
    return r.wide != 0 ? offsets_of_long(r.sequence, i).at[0] : offsets_of(r.sequence, (u32)i).at[0];
}

// The value of the lane that begins with element `first` of a segment.
template <typename Op>
ISOBIT_FN typename Op::Acc lane_value(typename Op::Lane lane, const Segment &s, u32 first) {
    if (first >= s.length)
        return Op::none();
    return Op::of_lane(lane, (u32)s.start + first, (s.length - first + REDUCE_LANES - 1) / REDUCE_LANES);
}

// Folds the values of equally spaced lanes, by those steps of the tree that only involve them.
template <typename Op, u32 N>
ISOBIT_FN void fold(typename Op::Acc (&value)[N]) {
#pragma unroll
    for (u32 d = N / 2; d > 0; d /= 2)
#pragma unroll
        for (u32 j = 0; j < d; j++)
            value[j] = Op::combine(value[j], value[j + d]);
}

template <typename Op, u32 N>
ISOBIT_FN typename Op::Acc load_fold(const typename Op::Acc *from, u32 first, u32 distance, u32 width) {
    typename Op::Acc value[N];
#pragma unroll
    for (u32 j = 0; j < N; j++)
        value[j] = first + distance * j < width ? from[first + distance * j] : Op::none();
    fold<Op, N>(value);
    return value[0];
}

// ---- a team along the sequence ----

// Lanes per thread. More lanes of narrow elements would leave a long sequence too few threads to
// keep the memory busy (for f16, 8 lanes took 1.12 times as long as 2, and 4 took 1.07 times as
// long).
template <typename T>
ISOBIT_CONST u32 ROW_LANES = sizeof(T) == 1 ? 8 : sizeof(T) == 2 || sizeof(T) == 8 ? 2 : 4;
// The same of an operation. Half the lanes are half the sequences that a multiprocessor has begun,
// so that the second reading of each still finds it in the cache.
template <typename Op>
ISOBIT_CONST u32 LANES_OF = has_first_pass<Op> && sizeof(typename Op::In) == 4 ? 2 : ROW_LANES<typename Op::In>;
// Bytes that a thread has in flight.
ISOBIT_CONST u32 ROW_BYTES = 128;
// Values that a thread folds at a time: more take fewer barriers, and longer for each.
template <typename Op>
ISOBIT_CONST u32 ROW_FAN = combines_long<Op> ? 4 : 16;

// Accumulates `V` lanes of a segment with adjacent elements.
template <typename Op, u32 V>
ISOBIT_FN void accumulate_vectors(typename Op::Lane (&acc)[V], const typename Op::In *src, const Rows<Op> &rows,
                                  const Segment &s, u32 lane) {
    using In = typename Op::In;
    constexpr u32 DEPTH = ROW_BYTES / (V * sizeof(In));
    const u32 whole = s.length / REDUCE_LANES;
    src += lane;
    u32 row = 0;
#pragma unroll 1
    for (; row + DEPTH <= whole; row += DEPTH) {
        Pack<V, In> x[DEPTH];
#pragma unroll
        for (u32 u = 0; u < DEPTH; u++)
            x[u] = load<V>(src + u * REDUCE_LANES);
        src += DEPTH * REDUCE_LANES;
#pragma unroll
        for (u32 u = 0; u < DEPTH; u++)
#pragma unroll
            for (u32 v = 0; v < V; v++)
                Op::step(acc[v], x[u].v[v], row_at(rows, row + u));
    }
    constexpr u32 SOME = 4;
#pragma unroll 1
    for (; row < whole; row += SOME) {
        Pack<V, In> x[SOME];
#pragma unroll
        for (u32 u = 0; u < SOME; u++)
            if (row + u < whole)
                x[u] = load<V>(src + u * REDUCE_LANES);
        src += SOME * REDUCE_LANES;
#pragma unroll
        for (u32 u = 0; u < SOME; u++)
            if (row + u < whole)
#pragma unroll
                for (u32 v = 0; v < V; v++)
                    Op::step(acc[v], x[u].v[v], row_at(rows, row + u));
    }
    const u32 done = whole * REDUCE_LANES;
    src -= (row - whole) * REDUCE_LANES;
    if (done + lane + V <= s.length) {
        const Pack<V, In> x = load<V>(src);
#pragma unroll
        for (u32 v = 0; v < V; v++)
            Op::step(acc[v], x.v[v], row_at(rows, whole));
    } else {
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (done + lane + v < s.length)
                Op::step(acc[v], src[v], row_at(rows, whole));
    }
}

// Accumulates `V` lanes of a segment whose sequence has two dimensions, of which the inner one is
// of whole vectors: images of one channel in every element of a batch, for example.
template <typename Op, u32 V>
ISOBIT_FN void accumulate_runs(typename Op::Lane (&acc)[V], const typename Op::In *src, const Reduction &r,
                               const Rows<Op> &rows, const Segment &s, u32 lane) {
    using In = typename Op::In;
    // With eight, f16 needs more registers than there are.
    constexpr u32 DEPTH = 4;
    const Divisor run = r.sequence.dim[1];
    const u64 stride = r.sequence.stride[0][0];
#pragma unroll 1
    for (u32 first = lane, row = 0; first < s.length; first += DEPTH * REDUCE_LANES, row += DEPTH) {
        Pack<V, In> x[DEPTH];
#pragma unroll
        for (u32 u = 0; u < DEPTH; u++)
            if (first + u * REDUCE_LANES < s.length) {
                const u32 at = (u32)s.start + first + u * REDUCE_LANES, outer = divide(at, run);
                x[u] = load<V>(src + outer * stride + (at - outer * run.size));
            }
#pragma unroll
        for (u32 u = 0; u < DEPTH; u++)
            if (first + u * REDUCE_LANES < s.length)
#pragma unroll
                for (u32 v = 0; v < V; v++)
                    Op::step(acc[v], x[u].v[v], row_at(rows, row + u));
    }
}

// Accumulates a segment whose elements are `stride` apart; the thread's lanes are `lane`, `lane +
// distance` ...
template <typename Op, u32 V>
ISOBIT_FN void accumulate_strided(typename Op::Lane (&acc)[V], const typename Op::In *src, u64 stride,
                                  const Rows<Op> &rows, const Segment &s, u32 lane, u32 distance) {
#pragma unroll 1
    for (u32 first = lane, row = 0; first < s.length; first += REDUCE_LANES, row++) {
        typename Op::In x[V];
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (first + v * distance < s.length)
                x[v] = src[(first + v * distance) * stride];
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (first + v * distance < s.length)
                Op::step(acc[v], x[v], row_at(rows, row));
    }
}

// Accumulates any segment, one lane after the other, so that the long code that finds an element's
// offset appears only once. All lanes start alike.
template <typename Op, u32 V>
ISOBIT_FN void accumulate_any(typename Op::Lane (&acc)[V], const typename Op::In *src, const Reduction &r,
                              const Rows<Op> &rows, const Segment &s, u32 lane, u32 distance) {
    const typename Op::Lane start = acc[0];
#pragma unroll 1
    for (u32 v = 0; v < V; v++) {
        typename Op::Lane value = start;
#pragma unroll 1
        for (u32 i = lane + v * distance, row = 0; i < s.length; i += REDUCE_LANES, row++)
            Op::step(value, src[place_of(r, s.start + i)], row_at(rows, row));
#pragma unroll
        for (u32 w = 0; w < V; w++)
            if (w == v)
                acc[w] = value;
    }
}

template <typename Op, u32 V = LANES_OF<Op>>
ISOBIT_FN void reduce_rows(const typename Op::In *src, typename Op::Out *dst, typename Op::Acc *partial,
                           const Reduction &r) {
    using Acc = typename Op::Acc;
    constexpr u32 BLOCK = 256, FAN = ROW_FAN<Op>;
    const u32 thread = thread_x();
    const u32 team = 1u << r.team_shift;
    const u32 teams = block_dim_x() >> r.team_shift;
    const u32 first_item = block_x() * teams;
    constexpr bool VECTORS = sizeof(typename Op::In) <= 8;
    const bool vectors = VECTORS && r.vectors != 0;

    const Rows<Op> rows = rows_of<Op>(r.n);
    const Segment mine = segment_of(r, first_item + (thread >> r.team_shift));
    const u32 in_team = thread & (team - 1);
    const u32 lane = vectors ? in_team * V : in_team;
    const u32 distance = vectors ? 1 : team;
    Acc acc[V];
    {
        typename Op::Lane lanes[V];
        const Offsets<2> at = offsets_of(r.results, mine.result);
        const typename Op::In *from = src + at.at[0];
#pragma unroll
        for (u32 v = 0; v < V; v++)
            lanes[v] = start_lane<Op>(from, dst + at.at[1], mine.length == 0);
        if (vectors) {
            if constexpr (VECTORS) {
                if (r.sequence.rank <= 1)
                    accumulate_vectors<Op, V>(lanes, from + mine.start, rows, mine, lane);
                else
                    accumulate_runs<Op, V>(lanes, from, r, rows, mine, lane);
            }
        } else if (r.sequence.rank <= 1) {
            const u64 stride = r.sequence.stride[0][0];
            accumulate_strided<Op, V>(lanes, from + mine.start * stride, stride, rows, mine, lane, distance);
        } else {
            accumulate_any<Op, V>(lanes, from, r, rows, mine, lane, distance);
        }
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            const u32 first = lane + v * distance;
            acc[v] = lane_value<Op>(lanes[v], mine, first);
        }
    }

    // From here on, a thread serves the team with its own number, among the teams of the block.
    Acc result;
    if (team == 1) {
        fold<Op, V>(acc);
        result = acc[0];
    } else {
        __shared__ Acc shared[BLOCK * V];
        const u32 width = team * V;
        Acc *lanes = shared + (thread >> r.team_shift) * width;
#pragma unroll
        for (u32 v = 0; v < V; v++)
            lanes[lane + v * distance] = acc[v];
        barrier();
        // Steps of 128 and less, several at a time. Each thread reads values that no other thread
        // reads.
#pragma unroll
        for (u32 left = REDUCE_LANES / FAN; left > 1; left /= FAN)
            if (width > left) {
                for (u32 task = thread; task < teams * left; task += block_dim_x()) {
                    Acc *of_team = shared + task / left * width;
                    const u32 folder = task % left;
                    of_team[folder] = load_fold<Op, FAN>(of_team, folder, left, width);
                }
                barrier();
            }
        if (thread < teams)
            result = load_fold<Op, FAN>(shared + thread * width, 0, 1, width);
    }
    if (thread < teams && first_item + thread < r.items) {
        const u32 item = first_item + thread;
        if (r.segments.size == 1) {
            typename Op::Out *to = dst + offsets_of(r.results, item).at[1];
            *to = result_of<Op>(result, r.count, to);
        } else {
            partial[item] = result;
        }
    }
}

// The same, after what finds the seeds.
template <typename Op>
ISOBIT_FN void seed_and_reduce_rows(const typename Op::In *src, typename Op::Out *dst, typename Op::Acc *partial,
                                    const Reduction &r) {
    if constexpr (has_first_pass<Op>)
        if (r.segments.size == 1) {
            reduce_rows<typename Op::First, LANES_OF<Op>>(src, dst, nullptr, r);
            barrier();
        }
    reduce_rows<Op>(src, dst, partial, r);
}

// ---- a team across the lanes, neighbours along the columns ----

// Lanes per thread, and columns per thread. With four lanes, the block is 128 bytes wide; half of
// that, with fewer accumulators and twice the blocks, was 1.2 times slower.
ISOBIT_CONST u32 COLUMN_LANES = 4;
template <typename T>
ISOBIT_CONST u32 COLUMN_WIDTH = sizeof(T) == 1 ? 8 : 16 / sizeof(T);
// Blocks of 512 threads per multiprocessor, by the words that a thread's lanes take, and rows per
// lane that a thread has in flight.
template <typename Op>
ISOBIT_CONST u32 COLUMN_RESIDENT =
    sizeof(typename Op::Lane) * COLUMN_WIDTH<typename Op::In> * COLUMN_LANES <= 64 ? 2 : 1;
template <typename Op>
ISOBIT_CONST u32 COLUMN_DEPTH = 2;

// Accumulates rows that are `stride` apart; the thread has V adjacent columns.
template <typename Op, u32 V>
ISOBIT_FN void accumulate_rows(typename Op::Lane (&acc)[COLUMN_LANES][V], const typename Op::In *src, u64 stride,
                               const Rows<Op> &rows, const Segment &s, u32 y, u32 team) {
    using In = typename Op::In;
    constexpr u32 DEPTH = COLUMN_DEPTH<Op>;
    src += y * stride;
    const u64 lane_step = team * stride;
    u32 row = 0;
#pragma unroll 1
    for (; (row + DEPTH) * REDUCE_LANES <= s.length; row += DEPTH) {
        Pack<V, In> x[DEPTH][COLUMN_LANES];
#pragma unroll
        for (u32 u = 0; u < DEPTH; u++) {
#pragma unroll
            for (u32 j = 0; j < COLUMN_LANES; j++)
                x[u][j] = load<V>(src + j * lane_step);
            src += REDUCE_LANES * stride;
        }
#pragma unroll
        for (u32 u = 0; u < DEPTH; u++)
#pragma unroll
            for (u32 j = 0; j < COLUMN_LANES; j++)
#pragma unroll
                for (u32 v = 0; v < V; v++)
                    Op::step(acc[j][v], x[u][j].v[v], row_at(rows, row + u));
    }
    // The remaining rows fit in one more step of that depth.
    Pack<V, In> x[DEPTH][COLUMN_LANES];
#pragma unroll
    for (u32 u = 0; u < DEPTH; u++) {
#pragma unroll
        for (u32 j = 0; j < COLUMN_LANES; j++)
            if ((row + u) * REDUCE_LANES + y + j * team < s.length)
                x[u][j] = load<V>(src + j * lane_step);
        src += REDUCE_LANES * stride;
    }
#pragma unroll
    for (u32 u = 0; u < DEPTH; u++)
#pragma unroll
        for (u32 j = 0; j < COLUMN_LANES; j++)
            if ((row + u) * REDUCE_LANES + y + j * team < s.length)
#pragma unroll
                for (u32 v = 0; v < V; v++)
                    Op::step(acc[j][v], x[u][j].v[v], row_at(rows, row + u));
}

// Accumulates rows at any offsets; the thread has `columns` columns, `distance` apart. All lanes of
// a column start alike.
template <typename Op, u32 V>
ISOBIT_FN void accumulate_any_rows(typename Op::Lane (&acc)[COLUMN_LANES][V], const typename Op::In *src,
                                   const Reduction &r, const Rows<Op> &rows, const Segment &s, u32 y, u32 team,
                                   u32 columns, u32 distance) {
    typename Op::Lane start[V];
#pragma unroll
    for (u32 v = 0; v < V; v++)
        start[v] = acc[0][v];
#pragma unroll 1
    for (u32 j = 0; j < COLUMN_LANES; j++) {
        typename Op::Lane value[V];
#pragma unroll
        for (u32 v = 0; v < V; v++)
            value[v] = start[v];
#pragma unroll 1
        for (u32 i = y + j * team, row = 0; i < s.length; i += REDUCE_LANES, row++) {
            const typename Op::In *from = src + place_of(r, s.start + i);
            typename Op::In x[V];
#pragma unroll
            for (u32 v = 0; v < V; v++)
                if (v * distance < columns)
                    x[v] = from[v * distance];
#pragma unroll
            for (u32 v = 0; v < V; v++)
                if (v * distance < columns)
                    Op::step(value[v], x[v], row_at(rows, row));
        }
#pragma unroll
        for (u32 w = 0; w < COLUMN_LANES; w++)
            if (w == j)
#pragma unroll
                for (u32 v = 0; v < V; v++)
                    acc[w][v] = value[v];
    }
}

template <typename Op>
ISOBIT_FN void reduce_columns(const typename Op::In *src, typename Op::Out *dst, typename Op::Acc *partial,
                              const Reduction &r) {
    using Acc = typename Op::Acc;
    constexpr u32 V = COLUMN_WIDTH<typename Op::In>, BLOCK = 512, EACH = COLUMN_LANES;
    const u32 across = 1u << r.across_shift, team = 1u << r.team_shift;
    const u32 x = thread_x() & (across - 1), y = thread_x() >> r.across_shift;
    const u32 item = divide(block_x(), r.strips);
    const u32 strip = block_x() - item * r.strips.size;
    const Rows<Op> rows = rows_of<Op>(r.n);
    const Segment s = segment_of(r, item);
    const Offsets<2> places = offsets_of(r.results, s.result);
    const u32 column = strip * across * V + (r.vectors != 0 ? x * V : x);
    const u32 distance = r.vectors != 0 ? 1 : across;
    const typename Op::In *tops = src + places.at[0];
    src = tops + column;

    Acc value[V];
    {
        typename Op::Lane acc[EACH][V];
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            const u32 c = column + v * distance;
            const typename Op::Out *result = dst + places.at[1] + c * r.dst_column;
            const typename Op::Lane start = start_lane<Op>(tops + c, result, c >= r.columns);
#pragma unroll
            for (u32 j = 0; j < EACH; j++)
                acc[j][v] = start;
        }
        if (column < r.columns) {
            if (r.vectors != 0 && r.sequence.rank <= 1) {
                const u64 stride = r.sequence.stride[0][0];
                accumulate_rows<Op, V>(acc, src + s.start * stride, stride, rows, s, y, team);
            } else {
                accumulate_any_rows<Op, V>(acc, src, r, rows, s, y, team, r.columns - column, distance);
            }
        }
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            Acc lanes[EACH];
#pragma unroll
            for (u32 j = 0; j < EACH; j++) {
                const u32 first = y + j * team;
                lanes[j] = lane_value<Op>(acc[j][v], s, first);
            }
            fold<Op, EACH>(lanes);
            value[v] = lanes[0];
        }
    }

    __shared__ Acc shared[BLOCK / 2 * V];
#pragma unroll 1
    for (u32 d = team / 2; d > 0; d /= 2) {
        barrier();
        if (y >= d && y < 2 * d)
#pragma unroll
            for (u32 v = 0; v < V; v++)
                shared[((y - d) * V + v) * across + x] = value[v];
        barrier();
        if (y < d)
#pragma unroll
            for (u32 v = 0; v < V; v++)
                value[v] = Op::combine(value[v], shared[(y * V + v) * across + x]);
    }
    if (y == 0)
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            const u32 c = column + v * distance;
            if (c < r.columns) {
                if (r.segments.size == 1) {
                    typename Op::Out *to = dst + places.at[1] + c * r.dst_column;
                    *to = result_of<Op>(value[v], r.count, to);
                } else {
                    partial[((u64)s.result * r.columns + c) * r.segments.size + s.number] = value[v];
                }
            }
        }
}

} // namespace isobit

#define ISOBIT_REDUCE_KERNEL(NAME, BLOCK, RESIDENT, OP, CALL)                                                          \
    ISOBIT_KERNEL_RESIDENT(BLOCK, RESIDENT)                                                                            \
    NAME(const OP::In *src, OP::Out *dst, OP::Acc *partial, const isobit::Reduction r) {                               \
        CALL(src, dst, partial, r);                                                                                    \
    }

#define ISOBIT_REDUCE_ROWS(NAME, OP, T)                                                                                \
    namespace isobit {                                                                                                 \
    using NAME##_op = OP<T>;                                                                                           \
    ISOBIT_REDUCE_KERNEL(NAME, 256, 4, NAME##_op, (seed_and_reduce_rows<NAME##_op>))                                   \
    }
#define ISOBIT_REDUCE_COLUMNS(NAME, OP, T)                                                                             \
    namespace isobit {                                                                                                 \
    using NAME##_op = OP<T>;                                                                                           \
    ISOBIT_REDUCE_KERNEL(NAME, 512, COLUMN_RESIDENT<NAME##_op>, NAME##_op, (reduce_columns<NAME##_op>))                \
    }
#define ISOBIT_REDUCE_AGAIN(NAME, OP, T)                                                                               \
    namespace isobit {                                                                                                 \
    using NAME##_op = Again<OP<T>>;                                                                                    \
    ISOBIT_REDUCE_KERNEL(NAME, 256, 4, NAME##_op, (reduce_rows<NAME##_op>))                                            \
    }
