// Sets contiguous elements to one value.
#include "dialect/thread.cuh"

namespace isobit {

template <typename T> ISOBIT_FN void fill(T *dst, u64 n, T value) {
    const u64 step = (u64)grid_dim_x() * block_dim_x();
    for (u64 i = (u64)block_x() * block_dim_x() + thread_x(); i < n; i += step)
        dst[i] = value;
}

} // namespace isobit

#define ISOBIT_FILL(NAME, T)                                                                                           \
    ISOBIT_KERNEL(256) NAME(isobit::T *dst, isobit::u64 n, isobit::T value) { isobit::fill(dst, n, value); }
