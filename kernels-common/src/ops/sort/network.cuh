// A sorting network on 32-bit words in shared memory. A thread loads sixteen words at a time into
// registers and runs four stages between two exchanges through memory. Every comparator is a
// minimum and a maximum. The network does not depend on the warp width.
#pragma once

#include "device_lib/thread.cuh"

namespace isobit {

ISOBIT_CONST u32 SORT_EACH_LOG = 4, SORT_EACH = 1u << SORT_EACH_LOG;

// The position of a word in shared memory: a gap after every sixteen words avoids bank conflicts
// between threads that step by powers of two.
ISOBIT_FN constexpr u32 slot_of(u32 i) { return i + (i >> SORT_EACH_LOG); }
ISOBIT_FN constexpr u32 slots_for(u32 n) { return n + (n >> SORT_EACH_LOG); }

ISOBIT_FN void exchange(u32 &a, u32 &b) {
    const u32 low = a < b ? a : b, high = a < b ? b : a;
    a = low;
    b = high;
}

// The stages of a merge with distances `FROM`, `FROM / 2` ... `LEAST` among a thread's words.
template <u32 FROM, u32 LEAST = 1>
ISOBIT_FN void stages(u32 (&x)[SORT_EACH]) {
    if constexpr (FROM >= LEAST) {
#pragma unroll
        for (u32 i = 0; i < SORT_EACH; i++)
            if ((i & FROM) == 0)
                exchange(x[i], x[i + FROM]);
        stages<FROM / 2, LEAST>(x);
    }
}

// Merges neighbouring runs of `HALF` words of a thread: the first stage reads the second run in
// reverse.
template <u32 HALF>
ISOBIT_FN void merge_own(u32 (&x)[SORT_EACH]) {
#pragma unroll
    for (u32 i = 0; i < SORT_EACH; i++)
        if ((i & HALF) == 0)
            exchange(x[i], x[i ^ (2 * HALF - 1)]);
    stages<HALF / 2>(x);
}

// A thread's sixteen words: their numbers only differ in the four bits from bit `LOW` on.
template <u32 LOW>
struct Group {
    u32 near, far;

    ISOBIT_FN Group of(u32 thread) {
        constexpr u32 MASK = (1u << LOW) - 1;
        const u32 high = thread >> LOW << (LOW + SORT_EACH_LOG), low = thread & MASK;
        return Group{slot_of(high | low), slot_of(high | (low ^ MASK))};
    }
    // Same as `slot_of`, for a number without bits below `LOW`.
    ISOBIT_FN constexpr u32 step(u32 r) { return slot_of(r << LOW); }
};

template <u32 LOW>
ISOBIT_FN void group_stages(u32 *words, u32 thread) {
    const Group<LOW> g = Group<LOW>::of(thread);
    u32 x[SORT_EACH];
#pragma unroll
    for (u32 r = 0; r < SORT_EACH; r++)
        x[r] = words[g.near + Group<LOW>::step(r)];
    stages<SORT_EACH / 2>(x);
#pragma unroll
    for (u32 r = 0; r < SORT_EACH; r++)
        words[g.near + Group<LOW>::step(r)] = x[r];
    barrier();
    if constexpr (LOW > 0)
        group_stages<LOW - SORT_EACH_LOG>(words, thread);
}

// Merges neighbouring runs of 2^(LOG - 1) words. The upper run is read in reverse, so that every
// comparator puts the smaller word first.
template <u32 LOG>
ISOBIT_FN void merge_runs(u32 *words, u32 thread) {
    constexpr u32 LOW = LOG - SORT_EACH_LOG, HERE = (LOG - 1) % SORT_EACH_LOG + 1;
    const Group<LOW> g = Group<LOW>::of(thread);
    u32 x[SORT_EACH];
#pragma unroll
    for (u32 r = 0; r < SORT_EACH / 2; r++) {
        x[r] = words[g.near + Group<LOW>::step(r)];
        x[r + SORT_EACH / 2] = words[g.far + Group<LOW>::step(SORT_EACH - 1 - r)];
    }
    stages<SORT_EACH / 2, (SORT_EACH >> HERE)>(x);
    barrier();
#pragma unroll
    for (u32 r = 0; r < SORT_EACH; r++)
        words[g.near + Group<LOW>::step(r)] = x[r];
    barrier();
    if constexpr (LOG > HERE)
        group_stages<LOG - HERE - SORT_EACH_LOG>(words, thread);
}

template <u32 LOG, u32 LOG_WORDS>
ISOBIT_FN void merge_up(u32 *words, u32 thread, u32 log_run) {
    if (LOG <= log_run) {
        merge_runs<LOG>(words, thread);
        if constexpr (LOG < LOG_WORDS)
            merge_up<LOG + 1, LOG_WORDS>(words, thread, log_run);
    }
}

// Sorts every run of 2^log_run words among 2^LOG_WORDS words, which are placed by `slot_of`. The
// block has one thread per sixteen words. All threads must call it, after a barrier that follows
// the writes of the words; it ends with a barrier.
template <u32 LOG_WORDS>
ISOBIT_FN void sort_words(u32 *words, u32 log_run) {
    const u32 thread = thread_x();
    u32 x[SORT_EACH];
    const u32 own = slot_of(thread << SORT_EACH_LOG);
#pragma unroll
    for (u32 r = 0; r < SORT_EACH; r++)
        x[r] = words[own + r];
    if (log_run >= 1)
        merge_own<1>(x);
    if (log_run >= 2)
        merge_own<2>(x);
    if (log_run >= 3)
        merge_own<4>(x);
    if (log_run >= 4)
        merge_own<8>(x);
#pragma unroll
    for (u32 r = 0; r < SORT_EACH; r++)
        words[own + r] = x[r];
    barrier();
    merge_up<SORT_EACH_LOG + 1, LOG_WORDS>(words, thread, log_run);
}

} // namespace isobit
