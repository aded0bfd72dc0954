// Running sums. `rows` takes contiguous sequences, with a run of 16 elements per thread; `columns`
// takes all other sequences, with neighbouring threads on neighbouring sequences.
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
    // Tiles per sequence if each tile has its own block: then either the sums before each tile are
    // given, or its total is wanted. Else 1.
    Divisor tiles;
    // Nonzero if every run is aligned to 16 bytes in the source, or in the destination.
    u32 src_vectors;
    u32 dst_vectors;
};

// Must match ops/scan/mod.rs.
static_assert(sizeof(Rows) == 272);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Rows, sequences) == 8 && ISOBIT_OFFSET(Rows, count) == 240);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Rows, tiles) == 248 && ISOBIT_OFFSET(Rows, src_vectors) == 260);

// What a kernel computes: running sums, running sums without the element itself, or tile totals.
enum Kind { SUMS, EXCLUSIVE, TOTALS };

template <typename T>
ISOBIT_FN void load_run(Acc<T> (&x)[RADIX], const T *from, u64 left, bool vectors) {
    constexpr u32 W = 16 / sizeof(T);
    if (vectors && left >= RADIX) {
#pragma unroll
        for (u32 p = 0; p < RADIX / W; p++) {
            const Pack<W, T> pack = load<W>(from + p * W);
#pragma unroll
            for (u32 v = 0; v < W; v++)
                x[p * W + v] = widen(pack.v[v]);
        }
    } else {
#pragma unroll
        for (u32 j = 0; j < RADIX; j++)
            x[j] = j < left ? widen(from[j]) : none<Acc<T>>();
    }
}

template <typename T>
ISOBIT_FN void store_run(T *to, const Acc<T> (&x)[RADIX], u64 left, bool vectors) {
    constexpr u32 W = 16 / sizeof(T);
    if (vectors && left >= RADIX) {
#pragma unroll
        for (u32 p = 0; p < RADIX / W; p++) {
            Pack<W, T> pack;
#pragma unroll
            for (u32 v = 0; v < W; v++)
                pack.v[v] = narrow<T>(x[p * W + v]);
            store(to + p * W, pack);
        }
    } else {
#pragma unroll
        for (u32 j = 0; j < RADIX; j++)
            if (j < left)
                to[j] = narrow<T>(x[j]);
    }
}

// The sums before a thread's run in its tile, and the total of the tile.
template <typename A>
struct Place {
    A groups;
    A runs;
    A total;
};

// Sums the runs before each run in its group of 16, and the groups before that group.
template <typename A>
ISOBIT_FN Place<A> place_of_run(A total, u32 r, u32 team) {
    __shared__ A runs[ROWS_BLOCK];
    __shared__ A groups[ROWS_BLOCK / RADIX];
    const u32 groups_of_team = team < RADIX ? 1 : team / RADIX;
    const u32 first_run = thread_x() - r, first_group = first_run / RADIX;
    runs[thread_x()] = total;
    barrier();
    // If a team is smaller than a group, the first thread of each team does this.
    const u32 group_size = team < RADIX ? team : RADIX;
    if (r < groups_of_team) {
        A sum = none<A>();
#pragma unroll 1
        for (u32 k = 0; k < group_size; k++) {
            const u32 at = first_run + r * RADIX + k;
            const A x = runs[at];
            runs[at] = sum;
            sum = sum + x;
        }
        if (team >= RADIX)
            groups[first_group + r] = sum;
    }
    barrier();
    Place<A> place{none<A>(), runs[thread_x()], none<A>()};
    if (team > RADIX) {
#pragma unroll
        for (u32 k = 0; k < RADIX; k++)
            if (k < groups_of_team) {
                place.groups = k == r / RADIX ? place.total : place.groups;
                place.total = place.total + groups[first_group + k];
            }
    }
    return place;
}

template <Kind KIND, typename T>
ISOBIT_FN void rows(const T *src, T *dst, Acc<T> *tiles, const Rows &s) {
    using A = Acc<T>;
    const u32 team = 1u << s.team_shift, r = thread_x() & (team - 1);
    const u32 item = block_x() * (block_dim_x() >> s.team_shift) + (thread_x() >> s.team_shift);
    const bool one_tile = KIND == TOTALS || tiles != nullptr;
    const u32 sequence = one_tile ? divide(item, s.tiles) : item;
    const u64 tile = one_tile ? item - sequence * s.tiles.size : 0;
    const bool live = sequence < s.count;
    const Offsets<2> at = offsets_of(s.sequences, live ? sequence : 0);
    const u64 n = live ? s.n : 0;
    const u64 end = one_tile ? (tile + 1) * TILE : s.n;

    Levels<A, 5> levels;
    levels.start();
    if (KIND == SUMS && one_tile && live)
        levels.sum[0] = tiles[item];
#pragma unroll 1
    for (u64 first = tile * TILE; first < end; first += TILE) {
        const u64 i = first + r * RADIX;
        const u64 left = i < n ? n - i : 0;
        A x[RADIX];
        load_run(x, src + at.at[0] + i, left, s.src_vectors != 0);
        run_sums(x);
        const Place<A> place = place_of_run(x[RADIX - 1], r, team);
        if (KIND == TOTALS) {
            if (r == 0 && live)
                tiles[item] = place.total;
        } else {
            const A before = levels.before() + place.groups + place.runs;
#pragma unroll
            for (u32 k = 0; k < RADIX; k++) {
                const u32 j = RADIX - 1 - k;
                x[j] = before + (KIND == SUMS ? x[j] : j > 0 ? x[j - 1] : none<A>());
            }
            store_run(dst + at.at[1] + i, x, left, s.dst_vectors != 0);
            levels.complete(place.total);
            // The next tile overwrites what this one still reads.
            barrier();
        }
    }
}

// The host's `Columns` in scan/mod.rs.
struct Columns {
    u64 n;
    u64 src_step;
    u64 dst_step;
    Index<2> sequences;
    u32 count;
    // The block has 2^across_shift sequences, and takes 2^runs_shift runs of each at a time.
    u32 across_shift;
    u32 runs_shift;
};

// Must match ops/scan/mod.rs.
static_assert(sizeof(Columns) == 272);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Columns, sequences) == 24 && ISOBIT_OFFSET(Columns, count) == 256);

template <typename T>
ISOBIT_FN void columns(const T *src, T *dst, const Columns &s) {
    using A = Acc<T>;
    // Two buffers in turn: a tile writes to one while the previous one is read from the other.
    __shared__ A totals[2][COLUMNS_BLOCK];
    const u32 across = 1u << s.across_shift, runs = 1u << s.runs_shift;
    const u32 x = thread_x() & (across - 1), r = thread_x() >> s.across_shift;
    const u64 sequence = (u64)block_x() * across + x;
    const bool live = sequence < s.count;
    const Offsets<2> at = offsets_of(s.sequences, live ? (u32)sequence : 0);
    const u64 n = live ? s.n : 0;

    Levels<A, 7> levels;
    levels.start();
    u32 turn = 0;
#pragma unroll 1
    for (u64 first = 0; first < s.n; first += (u64)runs * RADIX) {
        const u64 i = first + r * RADIX;
        const u64 left = i < n ? n - i : 0;
        const T *from = src + at.at[0] + i * s.src_step;
        A sums[RADIX];
#pragma unroll
        for (u32 j = 0; j < RADIX; j++)
            sums[j] = j < left ? widen(from[j * s.src_step]) : none<A>();
        run_sums(sums);
        totals[turn][thread_x()] = sums[RADIX - 1];
        barrier();
        A before = none<A>(), all = none<A>();
#pragma unroll
        for (u32 k = 0; k < RADIX; k++)
            if (k < runs) {
                before = k == r ? all : before;
                all = all + totals[turn][k * across + x];
            }
        before = levels.before() + before;
        T *to = dst + at.at[1] + i * s.dst_step;
#pragma unroll
        for (u32 j = 0; j < RADIX; j++)
            if (j < left)
                to[j * s.dst_step] = narrow<T>(before + sums[j]);
        levels.complete(all);
        turn ^= 1;
    }
}

} // namespace isobit::scan

#define ISOBIT_SCAN_ROWS(NAME, KIND, T)                                                                                \
    ISOBIT_KERNEL(isobit::scan::ROWS_BLOCK)                                                                            \
    NAME(const isobit::T *src, isobit::T *dst, isobit::scan::Acc<isobit::T> *tiles, const isobit::scan::Rows rows) {   \
        isobit::scan::rows<isobit::scan::KIND>(src, dst, tiles, rows);                                                 \
    }
#define ISOBIT_SCAN_COLUMNS(NAME, T)                                                                                   \
    ISOBIT_KERNEL(isobit::scan::COLUMNS_BLOCK)                                                                         \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::scan::Columns columns) {                                  \
        isobit::scan::columns(src, dst, columns);                                                                      \
    }
