// Copies elements from any layout to any other.
#include "dialect/index.cuh"
#include "dialect/thread.cuh"
#include "dialect/vector.cuh"

namespace isobit {

ISOBIT_CONST u32 COPY_BLOCK = 256;
// Elements a thread has under way at once.
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

} // namespace isobit

#define ISOBIT_COPY(NAME, T)                                                                                           \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::Index<2> index, isobit::u32 n) {                          \
        isobit::copy(src, dst, index, n);                                                                              \
    }
