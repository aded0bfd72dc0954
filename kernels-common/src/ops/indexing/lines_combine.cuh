// Combines elements with those at positions along lines, in the order of the source. A block keeps
// the values of its destinations in shared memory and takes the sources in steps of one source per
// thread. All sources of a step with the same destination fall into the same bucket, and one thread
// takes a whole bucket in order.
#pragma once

#include "device_lib/bits.cuh"
#include "ops/indexing/combine.cuh"
#include "ops/indexing/lines.cuh"

namespace isobit {

ISOBIT_CONST u32 COMBINE_BLOCK = 64;
// Steps whose elements are being loaded while earlier steps are combined.
ISOBIT_CONST u32 COMBINE_AHEAD = 4;
ISOBIT_CONST u32 BUCKET_BITS = 7;
ISOBIT_CONST u32 BUCKETS = 1u << BUCKET_BITS;
ISOBIT_CONST u32 MASK_WORDS = COMBINE_BLOCK / WORD_BITS;

// Ids often have a common factor, so the high bits of a product (with 2^32 over the golden ratio)
// choose the bucket.
ISOBIT_FN u32 bucket_of(u32 key) { return key * 0x9e3779b1u >> (WORD_BITS - BUCKET_BITS); }

// The threads of a step whose elements share a bucket.
struct Members {
    u32 words[MASK_WORDS];

    ISOBIT_FN bool any(const Members &m) {
        u32 all = 0;
#pragma unroll
        for (u32 w = 0; w < MASK_WORDS; w++)
            all |= m.words[w];
        return all != 0;
    }

    // Removes and returns the first member.
    ISOBIT_FN u32 next(Members &m) {
        u32 first = 0;
        bool found = false;
#pragma unroll
        for (u32 w = 0; w < MASK_WORDS; w++)
            if (!found && m.words[w] != 0) {
                first = w * WORD_BITS + lowest_bit(m.words[w]);
                m.words[w] &= m.words[w] - 1;
                found = true;
            }
        return first;
    }
};

// What the threads of a block share besides the values. A step's elements are read until the next
// barrier, so there are two buffers in turn. A step's masks are cleared after the next barrier and
// used again after the one that follows, so there are three.
template <typename C>
struct Step {
    C values[2][COMBINE_BLOCK];
    u32 keys[2][COMBINE_BLOCK];
    u32 masks[3][BUCKETS][MASK_WORDS];
};

// A thread's position among the buffers of the steps, and the bucket that it takes.
struct Turn {
    u32 pair;
    u32 masks;
    u32 *to_clear;
};

// Combines the elements of a step, at most one per thread, with the values that their keys select.
template <typename Op, typename C>
ISOBIT_FN void combine_step(C *values, Step<C> &step, Turn &turn, bool present, u32 key, C value) {
    const u32 me = thread_x();
    u32 *mask = step.masks[turn.masks][present ? bucket_of(key) : 0];
    if (present) {
        step.keys[turn.pair][me] = key;
        step.values[turn.pair][me] = value;
        atomic_or(&mask[me / WORD_BITS], 1u << (me % WORD_BITS));
    }
    barrier();
    if (turn.to_clear != nullptr)
#pragma unroll
        for (u32 w = 0; w < MASK_WORDS; w++)
            turn.to_clear[w] = 0;
    turn.to_clear = nullptr;
    if (present) {
        Members members;
#pragma unroll
        for (u32 w = 0; w < MASK_WORDS; w++)
            members.words[w] = mask[w];
        if (Members::next(members) == me) {
            turn.to_clear = mask;
            u32 at = key;
            C total = Op::of(values[at], value);
#pragma unroll 1
            while (Members::any(members)) {
                const u32 other = Members::next(members), to = step.keys[turn.pair][other];
                const C x = step.values[turn.pair][other];
                if (to != at) {
                    values[at] = total;
                    at = to;
                    total = values[at];
                }
                total = Op::of(total, x);
            }
            values[at] = total;
        }
    }
    turn.pair ^= 1;
    turn.masks = turn.masks == 2 ? 0 : turn.masks + 1;
}

template <typename T>
ISOBIT_CONST u32 LINE_PACK = 16 / sizeof(T) < 8 ? 16 / sizeof(T) : 8;

// Loads the destinations into the block's values, in the compute type.
template <typename T>
ISOBIT_FN void begin_values(compute_t<T> *values, const T *dst, const Lines &l, const Line &line) {
    constexpr u32 V = LINE_PACK<T>;
    u32 done = 0;
    if (l.vectors != 0) {
        done = line.range / V * V;
#pragma unroll 4
        for (u32 d = line.row * V; d < done; d += line.rows * V) {
            const Pack<V, T> x = load<V>(dst + d);
#pragma unroll
            for (u32 v = 0; v < V; v++)
                values[d + v] = to_compute(x.v[v]);
        }
    }
    if (line.exists)
#pragma unroll 4
        for (u32 d = done + line.row; d < line.range; d += line.rows)
            values[d << l.across_shift | line.column] = to_compute(dst[d * l.along[0]]);
}

// The reverse: rounds the values and stores them.
template <typename T>
ISOBIT_FN void finish_values(const compute_t<T> *values, T *dst, const Lines &l, const Line &line) {
    constexpr u32 V = LINE_PACK<T>;
    u32 done = 0;
    if (l.vectors != 0) {
        done = line.range / V * V;
#pragma unroll 2
        for (u32 d = line.row * V; d < done; d += line.rows * V) {
            Pack<V, T> x = load<V>(dst + d);
#pragma unroll
            for (u32 v = 0; v < V; v++)
                x.v[v] = rounded(values[d + v], x.v[v]);
            store<V>(dst + d, x);
        }
    }
    if (line.exists)
#pragma unroll 2
        for (u32 d = done + line.row; d < line.range; d += line.rows) {
            T *to = dst + d * l.along[0];
            *to = rounded(values[d << l.across_shift | line.column], *to);
        }
}

template <typename T, typename I, typename Op>
ISOBIT_FN void lines_combine(T *dst, const I *ids, const T *src, const Lines &l, u64 *flag) {
    using C = compute_t<T>;
    extern __shared__ vector_detail::words4 shared_words[];
    __shared__ Step<C> step;
    C *values = (C *)shared_words;
    const Line line = line_of(l, COMBINE_BLOCK);
    dst += line.at[0] + line.low * l.along[0];
    ids += line.at[1];
    src += line.at[2];
    for (u32 i = thread_x(); i < 3 * BUCKETS * MASK_WORDS; i += COMBINE_BLOCK)
        (&step.masks[0][0][0])[i] = 0;
    begin_values(values, dst, l, line);
    barrier();

    I id[COMBINE_AHEAD];
    T value[COMBINE_AHEAD];
    const u64 round = (u64)line.rows * COMBINE_AHEAD;
    u64 k = line.row;
    auto fetch = [&]() {
#pragma unroll
        for (u32 e = 0; e < COMBINE_AHEAD; e++) {
            const u64 at = k + e * line.rows;
            if (line.exists && at < l.n) {
                id[e] = ids[at * l.along[1]];
                value[e] = src[at * l.along[2]];
            }
        }
    };
    Turn turn{0, 0, nullptr};
    bool fault = false;
    fetch();
#pragma unroll 1
    for (u64 first = 0; first < l.n; first += round) {
        u32 key[COMBINE_AHEAD];
        C x[COMBINE_AHEAD];
        bool present[COMBINE_AHEAD];
#pragma unroll
        for (u32 e = 0; e < COMBINE_AHEAD; e++) {
            u64 at = 0;
            present[e] = line.exists && k + e * line.rows < l.n && is_ours(id[e], l, line, at, fault);
            key[e] = present[e] ? (u32)at << l.across_shift | line.column : 0;
            x[e] = present[e] ? to_compute(value[e]) : C{};
        }
        k += round;
        fetch();
#pragma unroll
        for (u32 e = 0; e < COMBINE_AHEAD; e++)
            if (first + e * line.rows < l.n)
                combine_step<Op>(values, step, turn, present[e], key[e], x[e]);
    }
    if (fault)
        report_line(flag, ids, l, line);
    barrier();
    finish_values(values, dst, l, line);
}

} // namespace isobit
