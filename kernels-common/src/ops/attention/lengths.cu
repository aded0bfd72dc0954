// What a vendor's library needs where batch entries have lengths: the lengths as it takes them, and
// zeros in the rows that it leaves as they are because they have no key.
#include "device_lib/thread.cuh"

namespace isobit {

// The host's `Lengths` in attention/vendor.rs.
struct Lengths {
    u32 m, n, d, heads;
    // Keys after its own that a query sees, or the largest u32.
    u32 right;
    // Blocks of a batch entry.
    u32 parts;
    u64 entries;
    u64 length;
    // Of the result.
    u64 to[4];
};

// Must match ops/attention/vendor.rs.
static_assert(sizeof(Lengths) == 72);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Lengths, entries) == 24 && ISOBIT_OFFSET(Lengths, to) == 40);

// A row is cleared by so many threads.
ISOBIT_CONST u32 LENGTHS_BLOCK = 256, ROW_THREADS = 32, ROWS_AT_ONCE = LENGTHS_BLOCK / ROW_THREADS;

// T has the size of the result's elements.
template <typename T>
ISOBIT_FN void prepare_lengths(const u32 *lengths, u32 *queries, u32 *keys, T *to, const Lengths &p) {
    const u64 blocks = p.entries * p.parts;
#pragma unroll 1
    for (u64 block = block_x(); block < blocks; block += grid_dim_x()) {
        const u64 entry = block / p.parts;
        const u32 part = (u32)(block - entry * p.parts);
        const u32 given = lengths[entry * p.length], length = given < p.n ? given : p.n;
        if (part == 0 && thread_x() == 0) {
            queries[entry] = p.m;
            keys[entry] = length;
        }
        // The last query is at the last key.
        const u64 seen = (u64)length + p.right;
        const u64 before = length == 0 ? p.m : seen < p.m ? p.m - seen : 0;
        T *here = to + entry * p.to[0];
        const u32 column = thread_x() % ROW_THREADS;
#pragma unroll 1
        for (u64 row = part * ROWS_AT_ONCE + thread_x() / ROW_THREADS; row < p.heads * before;
             row += p.parts * ROWS_AT_ONCE) {
            const u64 head = row / before;
            T *from = here + head * p.to[1] + (row - head * before) * p.to[2];
            for (u32 i = column; i < p.d; i += ROW_THREADS)
                from[i * p.to[3]] = 0;
        }
    }
}

} // namespace isobit

#define ISOBIT_ATTENTION_LENGTHS(NAME, T)                                                                              \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(LENGTHS_BLOCK)                                                                                       \
    NAME(const u32 *lengths, u32 *queries, u32 *keys, T *to, const Lengths p) {                                        \
        prepare_lengths(lengths, queries, keys, to, p);                                                                \
    }                                                                                                                  \
    }
