// Reductions in a fixed order: segments of 65,536 elements, in each 256 lanes that take every 256th element in ascending order, and the
// lanes as a binary tree, 128, 64 ... 1 apart. A segment is the work of one team of threads, each of which holds several lanes.
#include "dialect/index.cuh"
#include "dialect/thread.cuh"
#include "dialect/vector.cuh"
#include "ops/reduce/ops.cuh"

namespace isobit {

ISOBIT_CONST u32 REDUCE_LANES = 256;
ISOBIT_CONST u32 REDUCE_SEGMENT = 65536;

// The host's `Reduction` in reduce/mod.rs.
struct Reduction {
    // Elements that reduce to one, and their number as the mean divides by it.
    u64 n;
    double count;
    // Where each element of the sequence, and each result in source and destination, lies.
    Index<1> sequence;
    Index<2> results;
    // Results times segments of each. A result of one segment is finished and goes to `dst`; else each segment's goes to `partial`.
    u32 items;
    Divisor segments;
    // The threads of a team are 2 to this; of columns, those that share a column.
    u32 team_shift;
    // Nonzero: elements lie so that vectors can be loaded.
    u32 vectors;
    // Nonzero: a sequence of several dimensions with 2^31 elements or more.
    u32 wide;
    // Columns: 2 to this threads lie along them; how many there are, in how many strips, and the distance of two in `dst`.
    u32 across_shift;
    u32 columns;
    Divisor strips;
    u64 dst_column;
};

// A segment of a sequence.
struct Segment {
    u32 result;
    u32 number;
    u64 start;
    u32 length;
    // Lanes that have elements.
    u32 lanes;
};

ISOBIT_FN Segment segment_of(const Reduction &r, u32 item) {
    Segment s{0, 0, 0, 0, 0};
    if (item < r.items) {
        s.result = divide(item, r.segments);
        s.number = item - s.result * r.segments.size;
        s.start = (u64)s.number * REDUCE_SEGMENT;
        const u64 left = r.n - s.start;
        s.length = left < REDUCE_SEGMENT ? (u32)left : REDUCE_SEGMENT;
        s.lanes = s.length < REDUCE_LANES ? s.length : REDUCE_LANES;
    }
    return s;
}

ISOBIT_FN u64 place_of(const Reduction &r, u64 i) {
    return r.wide != 0 ? offsets_of_long(r.sequence, i).at[0] : offsets_of(r.sequence, (u32)i).at[0];
}

// Values at distances of 1 in `value`, of `distance` in lanes: the steps of the tree that stay among them. The first is lane `lane`.
template <typename Op, u32 N>
ISOBIT_FN void fold(typename Op::Acc (&value)[N], u32 lane, u32 distance, u32 lanes) {
#pragma unroll
    for (u32 d = N / 2; d > 0; d /= 2)
#pragma unroll
        for (u32 j = 0; j < d; j++)
            if (lane + distance * (j + d) < lanes)
                value[j] = Op::combine(value[j], value[j + d]);
}

template <typename Op, u32 N>
ISOBIT_FN void load_fold(typename Op::Acc (&value)[N], const typename Op::Acc *from, u32 lane, u32 distance, u32 lanes) {
#pragma unroll
    for (u32 j = 0; j < N; j++)
        if (lane + distance * j < lanes)
            value[j] = from[lane + distance * j];
    fold<Op, N>(value, lane, distance, lanes);
}

// ---- a team along the sequence ----

// Lanes of a thread, and vectors that it has under way.
template <typename T>
ISOBIT_CONST u32 ROW_LANES = sizeof(T) > 8 ? 4 : 16 / sizeof(T);
template <typename T>
ISOBIT_CONST u32 ROW_DEPTH = sizeof(T) == 1 ? 4 : 8;

// A segment whose elements are adjacent, `V` lanes of it.
template <typename Op, u32 V>
ISOBIT_FN void accumulate_vectors(typename Op::Acc (&acc)[V], const typename Op::In *src, const Segment &s, u32 lane) {
    using In = typename Op::In;
    constexpr u32 DEPTH = ROW_DEPTH<In>;
    const u32 chunks = s.length / REDUCE_LANES;
    const u32 index = (u32)s.start + lane;
    src += lane;
    Pack<V, In> next[DEPTH];
#pragma unroll
    for (u32 u = 0; u < DEPTH; u++)
        if (u < chunks)
            next[u] = load<V>(src + u * REDUCE_LANES);
#pragma unroll 1
    for (u32 c = 0; c < chunks; c += DEPTH) {
        Pack<V, In> now[DEPTH];
#pragma unroll
        for (u32 u = 0; u < DEPTH; u++)
            now[u] = next[u];
#pragma unroll
        for (u32 u = 0; u < DEPTH; u++)
            if (c + DEPTH + u < chunks)
                next[u] = load<V>(src + (u64)(c + DEPTH + u) * REDUCE_LANES);
#pragma unroll
        for (u32 u = 0; u < DEPTH; u++) {
            if (c + u >= chunks)
                break;
#pragma unroll
            for (u32 v = 0; v < V; v++) {
                const auto x = Op::of(now[u].v[v], index + (c + u) * REDUCE_LANES + v);
                acc[v] = u == 0 && c == 0 ? x : Op::combine(acc[v], x);
            }
        }
    }
    const u32 done = chunks * REDUCE_LANES;
    Pack<V, In> rest{};
    if (done + lane + V <= s.length)
        rest = load<V>(src + done);
    else
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (done + lane + v < s.length)
                rest.v[v] = src[done + v];
#pragma unroll
    for (u32 v = 0; v < V; v++)
        if (done + lane + v < s.length) {
            const auto x = Op::of(rest.v[v], index + done + v);
            acc[v] = done == 0 ? x : Op::combine(acc[v], x);
        }
}

// A segment whose elements are `stride` apart; the thread's lanes are `lane`, `lane + distance` ...
template <typename Op, u32 V>
ISOBIT_FN void accumulate_strided(typename Op::Acc (&acc)[V], const typename Op::In *src, u64 stride, const Segment &s,
                                  u32 lane, u32 distance) {
#pragma unroll 1
    for (u32 done = 0; done < s.length; done += REDUCE_LANES) {
        typename Op::In x[V];
        const u32 first = done + lane;
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (first + v * distance < s.length)
                x[v] = src[(first + v * distance) * stride];
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (first + v * distance < s.length) {
                const auto y = Op::of(x[v], (u32)s.start + first + v * distance);
                acc[v] = done == 0 ? y : Op::combine(acc[v], y);
            }
    }
}

// Any segment, a lane after the other: finding an element's place is long code, which is here once.
template <typename Op, u32 V>
ISOBIT_FN void accumulate_any(typename Op::Acc (&acc)[V], const typename Op::In *src, const Reduction &r,
                              const Segment &s, u32 lane, u32 distance) {
#pragma unroll 1
    for (u32 v = 0; v < V; v++) {
        const u32 first = lane + v * distance;
        typename Op::Acc value{};
#pragma unroll 1
        for (u32 i = first; i < s.length; i += REDUCE_LANES) {
            const auto y = Op::of(src[place_of(r, s.start + i)], (u32)s.start + i);
            value = i == first ? y : Op::combine(value, y);
        }
#pragma unroll
        for (u32 w = 0; w < V; w++)
            if (w == v)
                acc[w] = value;
    }
}

template <typename Op, bool VECTORS>
ISOBIT_FN void reduce_rows(const typename Op::In *src, typename Op::Out *dst, typename Op::Acc *partial,
                           const Reduction &r) {
    using Acc = typename Op::Acc;
    constexpr u32 V = ROW_LANES<typename Op::In>, BLOCK = 256, FOLDERS = 16, EACH = REDUCE_LANES / FOLDERS;
    const u32 thread = thread_x();
    const u32 team = 1u << r.team_shift;
    const u32 teams = block_dim_x() >> r.team_shift;
    const u32 first_item = block_x() * teams;
    const bool vectors = VECTORS && r.vectors != 0;

    Acc acc[V];
    const Segment mine = segment_of(r, first_item + (thread >> r.team_shift));
    const u32 in_team = thread & (team - 1);
    const u32 lane = vectors ? in_team * V : in_team;
    const u32 distance = vectors ? 1 : team;
    {
        const typename Op::In *from = src + offsets_of(r.results, mine.result).at[0];
        if (vectors) {
            if constexpr (VECTORS)
                accumulate_vectors<Op, V>(acc, from + mine.start, mine, lane);
        } else if (r.sequence.rank <= 1) {
            const u64 stride = r.sequence.stride[0][0];
            accumulate_strided<Op, V>(acc, from + mine.start * stride, stride, mine, lane, distance);
        } else {
            accumulate_any<Op, V>(acc, from, r, mine, lane, distance);
        }
    }

    // From here a thread serves the team of its own number, of those that the block has.
    Acc result;
    if (team == 1) {
        fold<Op, V>(acc, 0, 1, mine.lanes);
        result = acc[0];
    } else {
        __shared__ Acc shared[BLOCK * V];
        const u32 width = team * V;
        Acc *lanes = shared + (thread >> r.team_shift) * width;
#pragma unroll
        for (u32 v = 0; v < V; v++)
            if (lane + v * distance < mine.lanes)
                lanes[lane + v * distance] = acc[v];
        barrier();
        if (width > FOLDERS) {
            // Steps of 128 to 16: sixteen threads a team, which read what nobody else reads.
            for (u32 task = thread; task < teams * FOLDERS; task += block_dim_x()) {
                const u32 t = task / FOLDERS, folder = task % FOLDERS;
                Acc value[EACH];
                const u32 m = segment_of(r, first_item + t).lanes;
                load_fold<Op, EACH>(value, shared + t * width, folder, FOLDERS, m);
                if (folder < m)
                    shared[t * width + folder] = value[0];
            }
            barrier();
        }
        if (thread < teams) {
            Acc value[FOLDERS];
            const u32 m = segment_of(r, first_item + thread).lanes;
            load_fold<Op, FOLDERS>(value, shared + thread * width, 0, 1, m < FOLDERS ? m : FOLDERS);
            result = value[0];
        }
    }
    if (thread < teams && first_item + thread < r.items) {
        const u32 item = first_item + thread;
        if (r.segments.size == 1)
            dst[offsets_of(r.results, item).at[1]] = Op::finish(result, r.count);
        else
            partial[item] = result;
    }
}

// ---- a team across the lanes, neighbours along the columns ----

// Lanes of a thread, and columns: more would not leave registers for the smallest elements.
ISOBIT_CONST u32 COLUMN_LANES = 4;
template <typename T>
ISOBIT_CONST u32 COLUMN_WIDTH = sizeof(T) == 1 ? 8 : 16 / sizeof(T);

// Rows that are `stride` apart, of which the thread has V adjacent columns.
template <typename Op, u32 V>
ISOBIT_FN void accumulate_rows(typename Op::Acc (&acc)[COLUMN_LANES][V], const typename Op::In *src, u64 stride,
                               const Segment &s, u32 y, u32 team) {
    using In = typename Op::In;
    Pack<V, In> next[COLUMN_LANES];
    src += y * stride;
    const u64 lane_step = team * stride;
#pragma unroll
    for (u32 j = 0; j < COLUMN_LANES; j++)
        if (y + j * team < s.length)
            next[j] = load<V>(src + j * lane_step);
#pragma unroll 1
    for (u32 done = 0; done < s.length; done += REDUCE_LANES) {
        Pack<V, In> now[COLUMN_LANES];
        src += REDUCE_LANES * stride;
#pragma unroll
        for (u32 j = 0; j < COLUMN_LANES; j++) {
            now[j] = next[j];
            if (done + REDUCE_LANES + y + j * team < s.length)
                next[j] = load<V>(src + j * lane_step);
        }
#pragma unroll
        for (u32 j = 0; j < COLUMN_LANES; j++) {
            const u32 i = done + y + j * team;
            if (i < s.length)
#pragma unroll
                for (u32 v = 0; v < V; v++) {
                    const auto a = Op::of(now[j].v[v], (u32)s.start + i);
                    acc[j][v] = done == 0 ? a : Op::combine(acc[j][v], a);
                }
        }
    }
}

// Rows of any place, of which the thread has `columns` columns `distance` apart.
template <typename Op, u32 V>
ISOBIT_FN void accumulate_any_rows(typename Op::Acc (&acc)[COLUMN_LANES][V], const typename Op::In *src,
                                   const Reduction &r, const Segment &s, u32 y, u32 team, u32 columns, u32 distance) {
#pragma unroll 1
    for (u32 j = 0; j < COLUMN_LANES; j++) {
        const u32 first = y + j * team;
        typename Op::Acc value[V]{};
#pragma unroll 1
        for (u32 i = first; i < s.length; i += REDUCE_LANES) {
            const typename Op::In *from = src + place_of(r, s.start + i);
            typename Op::In x[V];
#pragma unroll
            for (u32 v = 0; v < V; v++)
                if (v * distance < columns)
                    x[v] = from[v * distance];
#pragma unroll
            for (u32 v = 0; v < V; v++)
                if (v * distance < columns) {
                    const auto a = Op::of(x[v], (u32)s.start + i);
                    value[v] = i == first ? a : Op::combine(value[v], a);
                }
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
    const Segment s = segment_of(r, item);
    const Offsets<2> places = offsets_of(r.results, s.result);
    const u32 column = strip * across * V + (r.vectors != 0 ? x * V : x);
    const u32 distance = r.vectors != 0 ? 1 : across;
    src += places.at[0] + column;

    Acc acc[EACH][V];
    if (column < r.columns) {
        if (r.vectors != 0 && r.sequence.rank <= 1) {
            const u64 stride = r.sequence.stride[0][0];
            accumulate_rows<Op, V>(acc, src + s.start * stride, stride, s, y, team);
        } else {
            accumulate_any_rows<Op, V>(acc, src, r, s, y, team, r.columns - column, distance);
        }
    }
    Acc value[V];
#pragma unroll
    for (u32 v = 0; v < V; v++) {
        Acc lanes[EACH];
#pragma unroll
        for (u32 j = 0; j < EACH; j++)
            lanes[j] = acc[j][v];
        fold<Op, EACH>(lanes, y, team, s.lanes);
        value[v] = lanes[0];
    }

    __shared__ Acc shared[BLOCK / 2 * V];
#pragma unroll 1
    for (u32 d = team / 2; d > 0; d /= 2) {
        barrier();
        if (y >= d && y < 2 * d && y < s.lanes)
#pragma unroll
            for (u32 v = 0; v < V; v++)
                shared[((y - d) * V + v) * across + x] = value[v];
        barrier();
        if (y < d && y + d < s.lanes)
#pragma unroll
            for (u32 v = 0; v < V; v++)
                value[v] = Op::combine(value[v], shared[(y * V + v) * across + x]);
    }
    if (y == 0)
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            const u32 c = column + v * distance;
            if (c < r.columns) {
                if (r.segments.size == 1)
                    dst[places.at[1] + c * r.dst_column] = Op::finish(value[v], r.count);
                else
                    partial[((u64)s.result * r.columns + c) * r.segments.size + s.number] = value[v];
            }
        }
}

} // namespace isobit

#define ISOBIT_REDUCE_KERNEL(NAME, BLOCK, OP, CALL)                                                                    \
    ISOBIT_KERNEL(BLOCK)                                                                                               \
    NAME(const OP::In *src, OP::Out *dst, OP::Acc *partial, const isobit::Reduction r) {                               \
        CALL(src, dst, partial, r);                                                                                    \
    }

#define ISOBIT_REDUCE_ROWS(NAME, OP, T)                                                                                \
    namespace isobit {                                                                                                 \
    using NAME##_op = OP<T>;                                                                                           \
    ISOBIT_REDUCE_KERNEL(NAME, 256, NAME##_op, (reduce_rows<NAME##_op, true>))                                         \
    }
#define ISOBIT_REDUCE_COLUMNS(NAME, OP, T)                                                                             \
    namespace isobit {                                                                                                 \
    using NAME##_op = OP<T>;                                                                                           \
    ISOBIT_REDUCE_KERNEL(NAME, 512, NAME##_op, (reduce_columns<NAME##_op>))                                            \
    }
#define ISOBIT_REDUCE_AGAIN(NAME, OP, T)                                                                               \
    namespace isobit {                                                                                                 \
    using NAME##_op = Again<OP<T>>;                                                                                    \
    ISOBIT_REDUCE_KERNEL(NAME, 256, NAME##_op, (reduce_rows<NAME##_op, false>))                                        \
    }
