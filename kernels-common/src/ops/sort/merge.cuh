// Merges the sorted runs of a long row two by two. Each block makes a stretch of one merged run: it
// finds where the stretch begins and ends in both runs (merge path: Odeh, Green, Mwassi, Shmueli
// and Birk, 2012), and its threads do the same within the stretch.
#pragma once

#include "ops/sort/sort_keys.cuh"

namespace isobit {

ISOBIT_CONST u32 MERGE_THREADS = 256;
// Odd, so that threads which walk through their own records avoid bank conflicts.
ISOBIT_CONST u32 MERGE_EACH = 7, MERGE_STRETCH = MERGE_THREADS * MERGE_EACH;

// The host's `Merge`.
struct Merge {
    SortRows rows;
    // Merged runs per row, and stretches per merged run.
    Divisor runs;
    Divisor stretches;
    // Records per run before and after the merge (the last run of a row may have fewer), and
    // records of all runs of a row before and after.
    u64 run_before, run_after;
    u64 row_before, row_after;
    // Nonzero if this writes the results of the row instead of a run.
    u32 last;
};

// Must match ops/sort/rows.rs.
static_assert(sizeof(Merge) == 352);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Merge, runs) == 288 && ISOBIT_OFFSET(Merge, run_before) == 312);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Merge, last) == 344);

template <typename U>
struct Pair {
    const Record<U> *a, *b;
    u64 a_length, b_length;

    // Whether record `i` of `a` is among the first `results` records, assuming that the later ones
    // of `a` are not.
    ISOBIT_FN bool takes(const Pair &p, u64 i, u64 results) {
        return Record<U>::before(p.a[i], p.b[results - 1 - i]);
    }
};

// How many of the first `results[w]` records come from `a`, for both ends `w` of a stretch. Half of
// the block's threads search each end. Every thread tests the end of its share of the remaining
// range, until nothing remains.
template <typename U>
ISOBIT_FN void find_ends(const Pair<U> &pair, const u64 (&results)[2], u64 (&taken)[2]) {
    constexpr u32 SEEKERS = MERGE_THREADS / 2;
    __shared__ u64 low[2], high[2];
    __shared__ u8 takes[MERGE_THREADS];
    const u32 thread = thread_x(), end = thread / SEEKERS, share = thread % SEEKERS;
    const u64 wanted = end == 0 ? results[0] : results[1];
    if (share == 0) {
        low[end] = wanted > pair.b_length ? wanted - pair.b_length : 0;
        high[end] = wanted < pair.a_length ? wanted : pair.a_length;
    }
    barrier();
    while (low[0] < high[0] || low[1] < high[1]) {
        const u64 from = low[end], to = high[end];
        const u64 step = (to - from + SEEKERS - 1) / SEEKERS;
        const u64 first = from + share * step, probe = first + step - 1;
        const bool taking = from < to && probe < to && Pair<U>::takes(pair, probe, wanted);
        takes[thread] = taking;
        barrier();
        if (from < to) {
            if (!taking && (share == 0 || takes[thread - 1] != 0)) {
                low[end] = first < to ? first : to;
                high[end] = probe < to ? probe : to;
            } else if (taking && share == SEEKERS - 1) {
                low[end] = to;
                high[end] = to;
            }
        }
        barrier();
    }
    taken[0] = low[0];
    taken[1] = low[1];
}

template <typename U>
ISOBIT_FN void merge_stretch(const U *src, void *dst, const Record<U> *in, Record<U> *out, const Merge &m) {
    __shared__ Record<U> records[MERGE_STRETCH];
    __shared__ u16 order[MERGE_STRETCH];
    const SortRows &s = m.rows;
    const u32 thread = thread_x();
    const u32 merged = divide(block_x(), m.stretches), stretch = block_x() - merged * m.stretches.size;
    const u32 row = divide(merged, m.runs), run = merged - row * m.runs.size;

    const auto shorter = [](u64 a, u64 b) { return a < b ? a : b; };
    const u64 behind = m.row_before - 2 * run * m.run_before;
    Pair<U> pair;
    pair.a = in + row * m.row_before + 2 * run * m.run_before;
    pair.a_length = shorter(m.run_before, behind);
    pair.b = pair.a + pair.a_length;
    pair.b_length = shorter(m.run_before, behind - pair.a_length);
    const u64 length = shorter(m.run_after, pair.a_length + pair.b_length);
    const u64 start = (u64)stretch * MERGE_STRETCH;
    // The row's last run may be too short to have this stretch.
    if (start >= length)
        return;
    const u64 ends[2] = {start, shorter(start + MERGE_STRETCH, length)};
    u64 taken[2];
    find_ends(pair, ends, taken);

    const u32 count = (u32)(ends[1] - ends[0]), a_count = (u32)(taken[1] - taken[0]);
    const Record<U> *a = pair.a + taken[0], *b = pair.b + (ends[0] - taken[0]);
#pragma unroll
    for (u32 e = 0; e < MERGE_EACH; e++) {
        const u32 i = thread + e * MERGE_THREADS;
        if (i < count)
            records[i] = i < a_count ? a[i] : b[i - a_count];
    }
    barrier();

    // The thread's own part of the block's stretch: finds where its results begin.
    const u32 first = thread * MERGE_EACH < count ? thread * MERGE_EACH : count;
    const u32 b_count = count - a_count;
    u32 i = first > b_count ? first - b_count : 0, most = first < a_count ? first : a_count;
    while (i < most) {
        const u32 middle = (i + most) / 2;
        if (Record<U>::before(records[middle], records[a_count + first - 1 - middle]))
            i = middle + 1;
        else
            most = middle;
    }
    u32 j = a_count + first - i;
    const auto head = [&](u32 at) { return records[at < count ? at : 0]; };
    Record<U> a_head = head(i), b_head = head(j);
#pragma unroll
    for (u32 e = 0; e < MERGE_EACH; e++) {
        if (first + e < count) {
            const bool from_a = j >= count || (i < a_count && Record<U>::before(a_head, b_head));
            order[first + e] = (u16)(from_a ? i : j);
            i += from_a;
            j += !from_a;
            const Record<U> next = head(from_a ? i : j);
            a_head = Record<U>::pick(from_a, next, a_head);
            b_head = Record<U>::pick(from_a, b_head, next);
        }
    }
    barrier();

    const u64 from = row_place(s, row, 0), to = row_place(s, row, 1);
#pragma unroll
    for (u32 e = 0; e < MERGE_EACH; e++) {
        const u32 at = thread + e * MERGE_THREADS;
        if (at < count) {
            const u64 result = start + at;
            const Record<U> &record = records[order[at]];
            if (m.last != 0) {
                const u64 position = Record<U>::position(record);
                const U element = s.output == SORT_VALUES ? src[from + position * s.src_step] : (U)0;
                write_result<U>(dst, s, to, result, position, element);
            } else {
                out[row * m.row_after + run * m.run_after + result] = record;
            }
        }
    }
}

} // namespace isobit

#define ISOBIT_SORT_MERGE(NAME, U)                                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const U *src, void *dst, const Record<U> *in, Record<U> *out, const Merge m) {                                \
        merge_stretch<U>(src, dst, in, out, m);                                                                        \
    }                                                                                                                  \
    }
