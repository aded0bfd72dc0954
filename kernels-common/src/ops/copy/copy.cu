// Copies elements between any two layouts.
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

ISOBIT_CONST u32 COPY_BLOCK = 256;
// Elements that a thread has in flight at once.
ISOBIT_CONST u32 COPY_EACH = 4;

template <typename T>
ISOBIT_FN void copy(const T *src, T *dst, const Index<2> &index, u32 n) {
    const u32 first = block_x() * (COPY_BLOCK * COPY_EACH) + thread_x();
    Offsets<2> place[COPY_EACH];
    T value[COPY_EACH];
#pragma unroll
    for (u32 e = 0; e < COPY_EACH; e++)
        place[e] = offsets_of(index, first + e * COPY_BLOCK);
#pragma unroll
    for (u32 e = 0; e < COPY_EACH; e++)
        if (first + e * COPY_BLOCK < n)
            value[e] = src[place[e].at[0]];
#pragma unroll
    for (u32 e = 0; e < COPY_EACH; e++)
        if (first + e * COPY_BLOCK < n)
            dst[place[e].at[1]] = value[e];
}

// Runs of elements that are adjacent on both sides, at any start address: the host's `Runs` in
// copy/mod.rs. A thread computes the position of its run once for all elements that it copies. With
// one position per element, f16 rows of odd length took 3 times the memory-bound time.
struct Runs {
    Index<2> outer;
    u32 count;
    u32 length;
    // Parts of a run. A group of 2^across_shift threads copies each part.
    Divisor parts;
    u32 across_shift;
};

// Must match ops/copy/mod.rs.
static_assert(sizeof(Runs) == 256);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Runs, count) == 232 && ISOBIT_OFFSET(Runs, parts) == 240);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Runs, across_shift) == 252);

ISOBIT_CONST u32 RUN_EACH = 8;

template <typename T>
ISOBIT_FN void copy_runs(const T *src, T *dst, const Runs &runs) {
    const u32 across = 1u << runs.across_shift;
    const u32 group = divide(block_x(), runs.parts), part = block_x() - group * runs.parts.size;
    const u32 run = group * (COPY_BLOCK >> runs.across_shift) + (thread_x() >> runs.across_shift);
    const u32 first = part * across * RUN_EACH + (thread_x() & (across - 1));
    if (run >= runs.count)
        return;
    const Offsets<2> place = offsets_of(runs.outer, run);
    src += place.at[0] + first;
    dst += place.at[1] + first;
    T value[RUN_EACH];
#pragma unroll
    for (u32 e = 0; e < RUN_EACH; e++)
        if (first + e * across < runs.length)
            value[e] = src[e * across];
#pragma unroll
    for (u32 e = 0; e < RUN_EACH; e++)
        if (first + e * across < runs.length)
            dst[e * across] = value[e];
}

} // namespace isobit

#define ISOBIT_COPY(NAME, T)                                                                                           \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::Index<2> index, isobit::u32 n) {                          \
        isobit::copy(src, dst, index, n);                                                                              \
    }
#define ISOBIT_COPY_RUNS(NAME, T)                                                                                      \
    ISOBIT_KERNEL(256) NAME(const isobit::T *src, isobit::T *dst, const isobit::Runs runs) {                           \
        isobit::copy_runs(src, dst, runs);                                                                             \
    }
