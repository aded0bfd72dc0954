// Scans. `rows` takes contiguous sequences, with a run of 16 elements per thread; `columns` takes
// all other sequences, with neighbouring threads on neighbouring sequences.
#include "device_lib/index.cuh"
#include "ops/scan/levels.cuh"

namespace isobit::scan {

ISOBIT_CONST u32 ROWS_BLOCK = 256;
ISOBIT_CONST u32 COLUMNS_BLOCK = 512;
// Elements per tile of `rows`: three levels of runs.
ISOBIT_CONST u32 TILE = ROWS_BLOCK * RADIX;

// The host's `Rows` in scan/mod.rs.
struct Rows {
    u64 n;
    // The offset of each sequence in source and destination.
    Index<2> sequences;
    u32 count;
    // The team of a sequence has 2^team_shift threads.
    u32 team_shift;
    // Tiles per sequence if each tile has its own block: then either what comes before each tile is
    // given, or its total is wanted. Else 1.
    Divisor tiles;
    // Nonzero if every run is aligned to 16 bytes in the source, or in the destination.
    u32 src_vectors;
    u32 dst_vectors;
    // Nonzero if the first element of a sequence is the last one in memory.
    u32 reverse;
    // Nonzero if a result leaves out its own element.
    u32 exclusive;
};

// Must match ops/scan/mod.rs.
static_assert(sizeof(Rows) == 280);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Rows, sequences) == 8 && ISOBIT_OFFSET(Rows, count) == 240);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Rows, tiles) == 248 && ISOBIT_OFFSET(Rows, src_vectors) == 260);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Rows, reverse) == 268 && ISOBIT_OFFSET(Rows, exclusive) == 272);

// What a kernel computes: results, what comes before each element, or tile totals.
enum Kind { RESULTS, BEFORE, TOTALS };

// Loads a run. In a reversed sequence it lies below `from`, last element first.
template <typename Op, bool REVERSE, typename T>
ISOBIT_FN void load_run(typename Op::Acc (&x)[RADIX], const T *from, u64 left, bool vectors) {
    constexpr u32 W = 16 / sizeof(T);
    if (vectors && left >= RADIX) {
#pragma unroll
        for (u32 p = 0; p < RADIX / W; p++) {
            const Pack<W, T> pack = load<W>(REVERSE ? from - (p + 1) * W : from + p * W);
#pragma unroll
            for (u32 v = 0; v < W; v++)
                x[p * W + v] = widen<Op>(pack.v[REVERSE ? W - 1 - v : v]);
        }
    } else {
#pragma unroll
        for (u32 j = 0; j < RADIX; j++)
            x[j] = j < left ? widen<Op>(*(REVERSE ? from - (j + 1) : from + j)) : Op::none();
    }
}

template <bool REVERSE, typename T, typename A>
ISOBIT_FN void store_run(T *to, const A (&x)[RADIX], u64 left, bool vectors) {
    constexpr u32 W = 16 / sizeof(T);
    if (vectors && left >= RADIX) {
#pragma unroll
        for (u32 p = 0; p < RADIX / W; p++) {
            Pack<W, T> pack;
#pragma unroll
            for (u32 v = 0; v < W; v++)
                pack.v[REVERSE ? W - 1 - v : v] = narrow<T>(x[p * W + v]);
            store(REVERSE ? to - (p + 1) * W : to + p * W, pack);
        }
    } else {
#pragma unroll
        for (u32 j = 0; j < RADIX; j++)
            if (j < left)
                *(REVERSE ? to - (j + 1) : to + j) = narrow<T>(x[j]);
    }
}

// What comes before a thread's run in its tile, and the total of the tile.
template <typename A>
struct Place {
    A groups;
    A runs;
    A total;
};

// Combines the runs before each run in its group of 16, and the groups before that group.
template <typename Op>
ISOBIT_FN Place<typename Op::Acc> place_of_run(typename Op::Acc total, u32 r, u32 team) {
    using A = typename Op::Acc;
    __shared__ A runs[ROWS_BLOCK];
    __shared__ A groups[ROWS_BLOCK / RADIX];
    const u32 groups_of_team = team < RADIX ? 1 : team / RADIX;
    const u32 first_run = thread_x() - r, first_group = first_run / RADIX;
    runs[thread_x()] = total;
    barrier();
    // If a team is smaller than a group, the first thread of each team does this.
    const u32 group_size = team < RADIX ? team : RADIX;
    if (r < groups_of_team) {
        A all = Op::none();
#pragma unroll 1
        for (u32 k = 0; k < group_size; k++) {
            const u32 at = first_run + r * RADIX + k;
            const A x = runs[at];
            runs[at] = all;
            all = Op::combine(all, x);
        }
        if (team >= RADIX)
            groups[first_group + r] = all;
    }
    barrier();
    Place<A> place{Op::none(), runs[thread_x()], Op::none()};
    if (team > RADIX) {
#pragma unroll
        for (u32 k = 0; k < RADIX; k++)
            if (k < groups_of_team) {
                place.groups = k == r / RADIX ? place.total : place.groups;
                place.total = Op::combine(place.total, groups[first_group + k]);
            }
    }
    return place;
}

template <Kind KIND, typename Op, typename T>
ISOBIT_FN void rows(const T *src, T *dst, typename Op::Acc *tiles, const Rows &s) {
    using A = typename Op::Acc;
    const u32 team = 1u << s.team_shift, r = thread_x() & (team - 1);
    const u32 item = block_x() * (block_dim_x() >> s.team_shift) + (thread_x() >> s.team_shift);
    const bool one_tile = KIND == TOTALS || tiles != nullptr;
    const u32 sequence = one_tile ? divide(item, s.tiles) : item;
    const u64 tile = one_tile ? item - sequence * s.tiles.size : 0;
    const bool live = sequence < s.count;
    const Offsets<2> at = offsets_of(s.sequences, live ? sequence : 0);
    const u64 n = live ? s.n : 0;
    const u64 end = one_tile ? (tile + 1) * TILE : s.n;
    // The totals of tiles are in the order of the sequence.
    const bool reverse = KIND != BEFORE && s.reverse != 0;
    const bool exclusive = KIND == BEFORE || s.exclusive != 0;

    Levels<Op, 5> levels;
    levels.start();
    if (KIND == RESULTS && one_tile && live)
        levels.part[0] = tiles[item];
#pragma unroll 1
    for (u64 first = tile * TILE; first < end; first += TILE) {
        const u64 i = first + r * RADIX;
        const u64 left = i < n ? n - i : 0;
        const u64 place_of_first = reverse ? n - i : i;
        A x[RADIX];
        if (reverse)
            load_run<Op, true>(x, src + at.at[0] + place_of_first, left, s.src_vectors != 0);
        else
            load_run<Op, false>(x, src + at.at[0] + place_of_first, left, s.src_vectors != 0);
        scan_run<Op>(x);
        const Place<A> place = place_of_run<Op>(x[RADIX - 1], r, team);
        if (KIND == TOTALS) {
            if (r == 0 && live)
                tiles[item] = place.total;
        } else {
            const A before = Op::combine(Op::combine(levels.before(), place.groups), place.runs);
#pragma unroll
            for (u32 k = 0; k < RADIX; k++) {
                const u32 j = RADIX - 1 - k;
                x[j] = Op::combine(before, up_to<Op>(x, j, exclusive));
            }
            if (KIND == RESULTS && exclusive && i == 0)
                x[0] = Op::nothing();
            if (reverse)
                store_run<true>(dst + at.at[1] + place_of_first, x, left, s.dst_vectors != 0);
            else
                store_run<false>(dst + at.at[1] + place_of_first, x, left, s.dst_vectors != 0);
            levels.complete(place.total);
            // The next tile overwrites what this one still reads.
            barrier();
        }
    }
}

// The host's `Columns` in scan/mod.rs.
struct Columns {
    u64 n;
    // From one element of a sequence to the next; negative if the scan runs from the end.
    i64 src_step;
    i64 dst_step;
    Index<2> sequences;
    u32 count;
    // The block has 2^across_shift sequences, and takes 2^runs_shift runs of each at a time.
    u32 across_shift;
    u32 runs_shift;
    // Nonzero if a result leaves out its own element.
    u32 exclusive;
};

// Must match ops/scan/mod.rs.
static_assert(sizeof(Columns) == 272);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Columns, sequences) == 24 && ISOBIT_OFFSET(Columns, count) == 256);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Columns, exclusive) == 268);

template <typename Op, typename T>
ISOBIT_FN void columns(const T *src, T *dst, const Columns &s) {
    using A = typename Op::Acc;
    // Two buffers in turn: a tile writes to one while the previous one is read from the other.
    __shared__ A totals[2][COLUMNS_BLOCK];
    const u32 across = 1u << s.across_shift, runs = 1u << s.runs_shift;
    const u32 x = thread_x() & (across - 1), r = thread_x() >> s.across_shift;
    const u64 sequence = (u64)block_x() * across + x;
    const bool live = sequence < s.count;
    const Offsets<2> at = offsets_of(s.sequences, live ? (u32)sequence : 0);
    const u64 n = live ? s.n : 0;
    const bool exclusive = s.exclusive != 0;

    Levels<Op, 7> levels;
    levels.start();
    u32 turn = 0;
#pragma unroll 1
    for (u64 first = 0; first < s.n; first += (u64)runs * RADIX) {
        const u64 i = first + r * RADIX;
        const u64 left = i < n ? n - i : 0;
        const T *from = src + at.at[0] + (i64)i * s.src_step;
        A own[RADIX];
#pragma unroll
        for (u32 j = 0; j < RADIX; j++)
            own[j] = j < left ? widen<Op>(from[(i64)j * s.src_step]) : Op::none();
        scan_run<Op>(own);
        totals[turn][thread_x()] = own[RADIX - 1];
        barrier();
        A before = Op::none(), all = Op::none();
#pragma unroll
        for (u32 k = 0; k < RADIX; k++)
            if (k < runs) {
                before = k == r ? all : before;
                all = Op::combine(all, totals[turn][k * across + x]);
            }
        before = Op::combine(levels.before(), before);
        T *to = dst + at.at[1] + (i64)i * s.dst_step;
#pragma unroll
        for (u32 j = 0; j < RADIX; j++)
            if (j < left) {
                const A result = Op::combine(before, up_to<Op>(own, j, exclusive));
                to[(i64)j * s.dst_step] = narrow<T>(exclusive && i + j == 0 ? Op::nothing() : result);
            }
        levels.complete(all);
        turn ^= 1;
    }
}

} // namespace isobit::scan

#define ISOBIT_SCAN_ROWS(NAME, KIND, OP, T)                                                                            \
    ISOBIT_KERNEL(isobit::scan::ROWS_BLOCK)                                                                            \
    NAME(const isobit::T *src, isobit::T *dst, isobit::scan::OP<isobit::T>::Acc *tiles,                                \
         const isobit::scan::Rows rows) {                                                                              \
        isobit::scan::rows<isobit::scan::KIND, isobit::scan::OP<isobit::T>>(src, dst, tiles, rows);                    \
    }
#define ISOBIT_SCAN_COLUMNS(NAME, OP, T)                                                                               \
    ISOBIT_KERNEL(isobit::scan::COLUMNS_BLOCK)                                                                         \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::scan::Columns columns) {                                  \
        isobit::scan::columns<isobit::scan::OP<isobit::T>>(src, dst, columns);                                         \
    }
