// Sums over the threads of a block that come before a thread: with the counts of their elements,
// they are the places at which threads write.
#pragma once

#include "device_lib/thread.cuh"

namespace isobit {

// The sums that a step adds up. With two, there are twice as many barriers to wait for.
ISOBIT_CONST u32 SUM_RADIX = 4;

// The sum of `x` over the preceding threads among `width` neighbours, a power of two; `total` is
// the sum over all of them. `shared` has two places for each thread of the block: with one, each
// step would wait twice.
template <typename T>
ISOBIT_FN T sum_before(T x, T *shared, u32 width, T &total) {
    const u32 me = thread_x(), lane = me & (width - 1);
    T sum = x, *words = shared, *others = shared + block_dim_x();
#pragma unroll 1
    for (u32 apart = 1; apart < width; apart *= SUM_RADIX) {
        words[me] = sum;
        barrier();
#pragma unroll
        for (u32 r = 1; r < SUM_RADIX; r++)
            if (lane >= r * apart)
                sum += words[me - r * apart];
        T *const next = others;
        others = words;
        words = next;
    }
    words[me] = sum;
    barrier();
    total = words[me | (width - 1)];
    barrier();
    return sum - x;
}

} // namespace isobit
