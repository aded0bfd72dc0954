// Matrix units that compute each result as a chain of fused multiply-adds in ascending order of k,
// so that a product on them has the bits of one by fma(). NVIDIA's f64 units do (sm_80 and newer),
// as tests/driver/matrix_unit.rs shows on the card at hand. AMD's f32 and f64 units (gfx90a and
// gfx942) are said to, so the host uses them only on a card that has passed a test of it
// (ops/matmul/self_test.rs). On other targets a kernel has no unit.
#pragma once

#include "device_lib/thread.cuh"

// Declares a kernel that uses AMD's units. With room for one wave only, clang keeps sums in
// accumulation registers while a unit adds to them, and moves them there and back in each step.
#if defined(__gfx90a__) || defined(__gfx942__)
#define ISOBIT_WAVE_UNIT_KERNEL(BLOCK) ISOBIT_KERNEL(BLOCK) __attribute__((amdgpu_waves_per_eu(2)))
#else
#define ISOBIT_WAVE_UNIT_KERNEL(BLOCK) ISOBIT_KERNEL(BLOCK)
#endif

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

// AMD's units, of type C: the lanes of a wave multiply SIDE x K by K x SIDE.
template <typename C>
struct WaveUnit;
template <>
struct WaveUnit<float> {
    static constexpr u32 SIDE = 32, K = 2, SUMS = 16;
};
template <>
struct WaveUnit<double> {
    static constexpr u32 SIDE = 16, K = 4, SUMS = 4;
};

#if defined(__gfx90a__) || defined(__gfx942__)
ISOBIT_CONST bool HAS_WAVE_UNIT = true;
// The sums of a lane: the registers that the unit reads and writes.
template <typename C>
using WaveSums = C __attribute__((ext_vector_type(WaveUnit<C>::SUMS)));
#else
ISOBIT_CONST bool HAS_WAVE_UNIT = false;
template <typename C>
using WaveSums = C[WaveUnit<C>::SUMS];
#endif

// A thread's wave in its block, and the place of its factors: of `a` at (side, k), of `b` at
// (k, side). Its sums are in column `side`.
struct WavePlace {
    u32 wave, side, k;
};
template <typename C>
ISOBIT_FN WavePlace wave_place() {
    constexpr u32 SIDE = WaveUnit<C>::SIDE, LANES = SIDE * WaveUnit<C>::K;
    const u32 lane = thread_x() % LANES;
    return WavePlace{thread_x() / LANES, lane % SIDE, lane / SIDE};
}
// The row of a lane's sum `e`: those of f32 are groups of four rows, those of f64 single rows.
template <typename C>
ISOBIT_FN u32 wave_row(const WavePlace &at, u32 e) {
    constexpr u32 GROUP = sizeof(C) == 4 ? 4 : 1;
    return (e / GROUP * WaveUnit<C>::K + at.k) * GROUP + e % GROUP;
}

// Adds a product to the sums. All lanes of a wave must call it together.
ISOBIT_FN void unit_fma([[maybe_unused]] WaveSums<float> &sum, [[maybe_unused]] float a, [[maybe_unused]] float b) {
#if defined(__gfx90a__) || defined(__gfx942__)
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, sum, 0, 0, 0);
#endif
}
ISOBIT_FN void unit_fma([[maybe_unused]] WaveSums<double> &sum, [[maybe_unused]] double a, [[maybe_unused]] double b) {
#if defined(__gfx90a__) || defined(__gfx942__)
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, sum, 0, 0, 0);
#endif
}

} // namespace isobit
