// Matrix units that compute each result as a chain of fused multiply-adds in ascending order of k,
// so that a product on them has the bits of one by fma(). NVIDIA's f64 units do (sm_80 and newer),
// as tests/driver/matrix_unit.rs shows on the card at hand. On other targets a kernel has no unit.
#pragma once

#include "device_lib/thread.cuh"

namespace isobit {

// What the lanes of a warp multiply together: UNIT_M x UNIT_K by UNIT_K x UNIT_N.
ISOBIT_CONST u32 UNIT_M = 16, UNIT_N = 8, UNIT_K = 4;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
ISOBIT_CONST bool HAS_F64_UNIT = true;
#else
ISOBIT_CONST bool HAS_F64_UNIT = false;
#endif

// A thread's warp in its block, and the place of its factors and sums. A factor of `a` is at
// (side, k), and 8 rows below; one of `b` at (k, side); sums at (side, 2 k), right of it, and both
// 8 rows below.
struct UnitPlace {
    u32 warp, side, k;
};
ISOBIT_FN UnitPlace unit_place() {
    const u32 lane = thread_x() % 32;
    return UnitPlace{thread_x() / 32, lane / 4, lane % 4};
}

// Adds a product to the sums. All lanes of a warp must call it together.
ISOBIT_FN void unit_fma([[maybe_unused]] double (&sum)[4], [[maybe_unused]] const double (&a)[2],
                        [[maybe_unused]] double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
        : "d"(a[0]), "d"(a[1]), "d"(b));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[0]), "+d"(sum[1])
        : "d"(a[0]), "d"(b));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[2]), "+d"(sum[3])
        : "d"(a[1]), "d"(b));
#endif
}

} // namespace isobit
