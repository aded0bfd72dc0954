// Scans. `rows` takes contiguous sequences, with a run of 16 elements per thread; `columns` takes
// all other sequences, with neighbouring threads on neighbouring sequences.
#include "device_lib/index.cuh"
#include "ops/scan/levels.cuh"

namespace isobit::scan {

ISOBIT_CONST u32 ROWS_BLOCK = 256;
ISOBIT_CONST u32 COLUMNS_BLOCK = 512;
// Blocks of `rows` per multiprocessor. More of those with long accumulators would spill.
template <typename A>
ISOBIT_CONST u32 ROWS_RESIDENT = sizeof(A) <= 4 ? 4 : 2;
// The same of `columns`, which then has twice the threads to hide its totals' exchange.
template <typename A, u32 W>
ISOBIT_CONST u32 COLUMNS_RESIDENT = sizeof(A) * W <= 4 ? 2 : 1;
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

// A chunk has the runs of 32 neighbours, which go through shared memory: there, each thread moves
// its own run in vectors, but in global memory neighbours move neighbouring vectors. A run of one
// vector needs none of this, and of eight it would take too much of the memory.
ISOBIT_CONST u32 CHUNK_RUNS = 32;
ISOBIT_CONST u32 CHUNK = CHUNK_RUNS * RADIX;
template <typename T>
constexpr bool has_chunks = sizeof(T) == 2 || sizeof(T) == 4;

// A chunk in shared memory. The order of eight vectors differs from the next eight's, so that both
// kinds of access meet every bank.
template <typename T>
struct Chunk {
    static constexpr u32 W = 16 / sizeof(T), VECTORS = RADIX / W;
    T *shared;
    u32 lane;
    // The number of the thread's run in memory.
    u32 run;

    ISOBIT_METHOD T *neighbours(u32 p) const {
        return shared + (p * CHUNK_RUNS + (lane ^ (lane / 8 & (VECTORS - 1)))) * W;
    }
    ISOBIT_METHOD T *own(u32 p) const {
        return shared + (run * VECTORS + (p ^ (run * VECTORS / 8 & (VECTORS - 1)))) * W;
    }
};

template <typename A>
ISOBIT_FN void turn_run(A (&x)[RADIX]) {
#pragma unroll
    for (u32 j = 0; j < RADIX / 2; j++) {
        const A last = x[RADIX - 1 - j];
        x[RADIX - 1 - j] = x[j];
        x[j] = last;
    }
}

// Loads a thread's run of the chunk that begins at `from` in memory.
template <typename Op, typename T>
ISOBIT_FN void load_from_chunk(typename Op::Acc (&x)[RADIX], const T *from, const Chunk<T> &chunk, bool reverse) {
    constexpr u32 W = Chunk<T>::W, VECTORS = Chunk<T>::VECTORS;
    Pack<W, T> vectors[VECTORS];
#pragma unroll
    for (u32 p = 0; p < VECTORS; p++)
        vectors[p] = load<W>(from + (p * CHUNK_RUNS + chunk.lane) * W);
#pragma unroll
    for (u32 p = 0; p < VECTORS; p++)
        store(chunk.neighbours(p), vectors[p]);
    team_barrier();
#pragma unroll
    for (u32 p = 0; p < VECTORS; p++) {
        const Pack<W, T> own = load<W>(chunk.own(p));
#pragma unroll
        for (u32 v = 0; v < W; v++)
            x[p * W + v] = widen<Op>(own.v[v]);
    }
    if (reverse)
        turn_run(x);
}

// The reverse, which changes the order of `x`.
template <typename T, typename A>
ISOBIT_FN void store_to_chunk(T *to, A (&x)[RADIX], const Chunk<T> &chunk, bool reverse) {
    constexpr u32 W = Chunk<T>::W, VECTORS = Chunk<T>::VECTORS;
    if (reverse)
        turn_run(x);
#pragma unroll
    for (u32 p = 0; p < VECTORS; p++) {
        Pack<W, T> own;
#pragma unroll
        for (u32 v = 0; v < W; v++)
            own.v[v] = narrow<T>(x[p * W + v]);
        store(chunk.own(p), own);
    }
    team_barrier();
#pragma unroll
    for (u32 p = 0; p < VECTORS; p++)
        store(to + (p * CHUNK_RUNS + chunk.lane) * W, load<W>(chunk.neighbours(p)));
}

// Combines `count` totals side by side, a power of two, and those of them before `place`, for W
// sequences.
template <typename Op, u32 W>
ISOBIT_FN void combine_totals(const typename Op::Acc *totals, u32 count, u32 place, typename Op::Acc (&before)[W],
                              typename Op::Acc (&all)[W]) {
    // Loads at a time, so that they do not wait for one another.
    constexpr u32 SOME = 4;
#pragma unroll
    for (u32 w = 0; w < W; w++)
        before[w] = all[w] = Op::none();
#pragma unroll
    for (u32 first = 0; first < RADIX; first += SOME)
        if (first < count) {
            Pack<W, typename Op::Acc> total[SOME];
#pragma unroll
            for (u32 k = 0; k < SOME; k++)
                if (first > 0 || k < count)
                    total[k] = load<W>(totals + (first + k) * W);
#pragma unroll
            for (u32 k = 0; k < SOME; k++)
#pragma unroll
                for (u32 w = 0; w < W; w++) {
                    before[w] = first + k == place ? all[w] : before[w];
                    if (first > 0 || k < count)
                        all[w] = Op::combine(all[w], total[k].v[w]);
                }
        }
}

// What comes before a thread's run in its tile, and the total of the tile.
template <typename A>
struct Place {
    A groups;
    A runs;
    A total;
};

// One place is left out after each group: else the groups' threads would meet in a bank.
ISOBIT_FN u32 place_of_total(u32 run) { return run + run / RADIX; }

// Combines the runs before each run in its group of 16, and the groups before that group.
template <typename Op>
ISOBIT_FN Place<typename Op::Acc> place_of_run(typename Op::Acc total, u32 r, u32 team) {
    using A = typename Op::Acc;
    __shared__ A runs[ROWS_BLOCK + ROWS_BLOCK / RADIX];
    __shared__ A groups[ROWS_BLOCK / RADIX];
    const u32 groups_of_team = team < RADIX ? 1 : team / RADIX;
    const u32 first_run = thread_x() - r, first_group = first_run / RADIX;
    runs[place_of_total(thread_x())] = total;
    barrier();
    // If a team is smaller than a group, the first thread of each team does this.
    const u32 group_size = team < RADIX ? team : RADIX;
    if (r < groups_of_team) {
        // Several loads at a time, because all others wait for these threads.
        constexpr u32 SOME = 4;
        A all = Op::none();
        A *of_group = runs + place_of_total(first_run + r * RADIX);
#pragma unroll 1
        for (u32 k = 0; k < group_size; k += SOME) {
            A x[SOME];
#pragma unroll
            for (u32 j = 0; j < SOME; j++)
                if (k + j < group_size)
                    x[j] = of_group[k + j];
#pragma unroll
            for (u32 j = 0; j < SOME; j++)
                if (k + j < group_size) {
                    of_group[k + j] = all;
                    all = Op::combine(all, x[j]);
                }
        }
        if (team >= RADIX)
            groups[first_group + r] = all;
    }
    barrier();
    Place<A> place{Op::none(), runs[place_of_total(thread_x())], Op::none()};
    if (team > RADIX) {
        A before[1], all[1];
        combine_totals<Op, 1>(groups + first_group, groups_of_team, r / RADIX, before, all);
        place.groups = before[0], place.total = all[0];
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

    alignas(16) __shared__ T chunks[has_chunks<T> ? TILE : 1];
    const u32 lane = thread_x() % CHUNK_RUNS;
    T *of_chunk = chunks + (has_chunks<T> ? thread_x() / CHUNK_RUNS * CHUNK : 0);
    const Chunk<T> chunk{of_chunk, lane, reverse ? CHUNK_RUNS - 1 - lane : lane};
    Levels<Op, 5> levels;
    levels.start();
    if (KIND == RESULTS && one_tile && live)
        levels.part[0] = tiles[item];
#pragma unroll 1
    for (u64 first = tile * TILE; first < end; first += TILE) {
        const u64 i = first + r * RADIX;
        const u64 left = i < n ? n - i : 0;
        const u64 place_of_first = reverse ? n - i : i;
        // Where the thread's chunk begins, if it has one.
        const u64 chunk_at = i - thread_x() % CHUNK_RUNS * RADIX;
        const bool whole = has_chunks<T> && team >= CHUNK_RUNS && chunk_at + CHUNK <= n;
        const u64 place_of_chunk = reverse ? n - chunk_at - CHUNK : chunk_at;
        A x[RADIX];
        if (whole && s.src_vectors != 0)
            load_from_chunk<Op>(x, src + at.at[0] + place_of_chunk, chunk, reverse);
        else if (reverse)
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
            if (whole && s.dst_vectors != 0)
                store_to_chunk(dst + at.at[1] + place_of_chunk, x, chunk, reverse);
            else if (reverse)
                store_run<true>(dst + at.at[1] + place_of_first, x, left, s.dst_vectors != 0);
            else
                store_run<false>(dst + at.at[1] + place_of_first, x, left, s.dst_vectors != 0);
            levels.complete(place.total);
            // The next chunk overwrites what the neighbours still read.
            team_barrier();
        }
    }
}

// The host's `Columns` in scan/mod.rs.
struct Columns {
    u64 n;
    // From one element of a sequence to the next; negative if the scan runs from the end.
    i64 src_step;
    i64 dst_step;
    // The offset of each sequence in source and destination; of each first one of a thread's
    // sequences if it has several.
    Index<2> sequences;
    u32 count;
    // The block has 2^across_shift of these, and takes 2^runs_shift runs of each at a time.
    u32 across_shift;
    u32 runs_shift;
    // Nonzero if a result leaves out its own element.
    u32 exclusive;
};

// Must match ops/scan/mod.rs.
static_assert(sizeof(Columns) == 272);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Columns, sequences) == 24 && ISOBIT_OFFSET(Columns, count) == 256);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Columns, exclusive) == 268);

// Adjacent elements as they were loaded. As elements, each would wait in a register of its own.
template <u32 BYTES>
using Waiting = typename vector_detail::bits_of_size<BYTES>::type;

// Loads a run of `W` adjacent sequences, and goes on to its end. What lies beyond the end of a
// sequence is never part of a result.
template <u32 W, typename T>
ISOBIT_FN void load_column(Waiting<W * sizeof(T)> (&x)[RADIX], const T *&from, i64 step, u64 left) {
    if (left >= RADIX) {
#pragma unroll
        for (u32 j = 0; j < RADIX; j++, from += step)
            x[j] = *(const Waiting<W * sizeof(T)> *)from;
    } else {
#pragma unroll
        for (u32 j = 0; j < RADIX; j++, from += step)
            if (j < left)
                x[j] = *(const Waiting<W * sizeof(T)> *)from;
    }
}

// The reverse of `load_column`.
template <u32 W, typename T>
ISOBIT_FN void store_column(T *&to, const Waiting<W * sizeof(T)> (&x)[RADIX], i64 step, u64 left) {
    if (left >= RADIX) {
#pragma unroll
        for (u32 j = 0; j < RADIX; j++, to += step)
            *(Waiting<W * sizeof(T)> *)to = x[j];
    } else {
#pragma unroll
        for (u32 j = 0; j < RADIX; j++, to += step)
            if (j < left)
                *(Waiting<W * sizeof(T)> *)to = x[j];
    }
}

template <typename Op, u32 W, typename T>
ISOBIT_FN void columns(const T *src, T *dst, const Columns &s) {
    using A = typename Op::Acc;
    // The totals of a sequence lie side by side, and one more makes the distance of two sequences
    // odd. Two buffers in turn: a tile writes to one while the previous one is read from the other.
    constexpr i32 TOTALS = 2 * COLUMNS_BLOCK * W;
    alignas(16) __shared__ A totals[2 * TOTALS];
    const u32 across = 1u << s.across_shift, runs = 1u << s.runs_shift;
    const u32 x = thread_x() & (across - 1), r = thread_x() >> s.across_shift;
    const u64 sequence = (u64)block_x() * across + x;
    const bool live = sequence < s.count;
    const Offsets<2> at = offsets_of(s.sequences, live ? (u32)sequence : 0);
    const u64 n = live ? s.n : 0, tile = (u64)runs * RADIX;
    const bool exclusive = s.exclusive != 0;

    Levels<Op, 7> levels[W];
#pragma unroll
    for (u32 w = 0; w < W; w++)
        levels[w].start();
    u64 i = r * RADIX;
    const T *from = src + at.at[0] + (i64)i * s.src_step;
    T *to = dst + at.at[1] + (i64)i * s.dst_step;
    // From the end of a run to the same thread's run of the next tile.
    const i64 others = (i64)(tile - RADIX), src_others = others * s.src_step, dst_others = others * s.dst_step;
    A *of_sequence = totals + x * (runs + 1) * W;
    i32 turn = TOTALS;
    Waiting<W * sizeof(T)> ahead[RADIX] = {};
    load_column<W>(ahead, from, s.src_step, i < n ? n - i : 0);
#pragma unroll 1
    for (u64 first = 0; first < s.n; first += tile) {
        A own[W][RADIX];
#pragma unroll
        for (u32 j = 0; j < RADIX; j++)
#pragma unroll
            for (u32 w = 0; w < W; w++)
                own[w][j] = widen<Op>(element_of_bits<T>(ahead[j] >> (8 * sizeof(T) * w)));
        // The next tile is on its way while this one waits for the totals.
        const u64 left = i < n ? n - i : 0;
        const bool starts = exclusive && i == 0;
        i += tile, from += src_others;
        load_column<W>(ahead, from, s.src_step, i < n ? n - i : 0);
        Pack<W, A> total;
#pragma unroll
        for (u32 w = 0; w < W; w++) {
            scan_run<Op>(own[w]);
            total.v[w] = own[w][RADIX - 1];
        }
        store(of_sequence + r * W, total);
        barrier();
        A before[W], all[W];
        combine_totals<Op, W>(of_sequence, runs, r, before, all);
        of_sequence += turn, turn = -turn;
#pragma unroll
        for (u32 w = 0; w < W; w++) {
            before[w] = Op::combine(levels[w].before(), before[w]);
            levels[w].complete(all[w]);
        }
        Waiting<W * sizeof(T)> results[RADIX];
#pragma unroll
        for (u32 j = 0; j < RADIX; j++) {
            Pack<W, T> result;
#pragma unroll
            for (u32 w = 0; w < W; w++) {
                const A up = Op::combine(before[w], up_to<Op>(own[w], j, exclusive));
                result.v[w] = narrow<T>(starts && j == 0 ? Op::nothing() : up);
            }
            results[j] = __builtin_bit_cast(Waiting<W * sizeof(T)>, result);
        }
        store_column<W>(to, results, s.dst_step, left);
        to += dst_others;
    }
}

} // namespace isobit::scan

#define ISOBIT_SCAN_ROWS(NAME, KIND, OP, T)                                                                            \
    ISOBIT_KERNEL_RESIDENT(isobit::scan::ROWS_BLOCK, isobit::scan::ROWS_RESIDENT<isobit::scan::OP<isobit::T>::Acc>)    \
    NAME(const isobit::T *src, isobit::T *dst, isobit::scan::OP<isobit::T>::Acc *tiles,                                \
         const isobit::scan::Rows rows) {                                                                              \
        isobit::scan::rows<isobit::scan::KIND, isobit::scan::OP<isobit::T>>(src, dst, tiles, rows);                    \
    }
#define ISOBIT_SCAN_COLUMNS(NAME, OP, W, T)                                                                            \
    ISOBIT_KERNEL_RESIDENT(isobit::scan::COLUMNS_BLOCK,                                                                \
                           (isobit::scan::COLUMNS_RESIDENT<isobit::scan::OP<isobit::T>::Acc, W>))                      \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::scan::Columns columns) {                                  \
        isobit::scan::columns<isobit::scan::OP<isobit::T>, W>(src, dst, columns);                                      \
    }
