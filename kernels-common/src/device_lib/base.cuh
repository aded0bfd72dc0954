// The only file that depends on the compiler. Everything else in the tree uses the names declared
// here, so that clang (NVPTX and AMDGCN), nvcc, NVRTC, hipcc and HIPRTC agree on what each line
// means. Every primitive below either is a single IEEE-754 operation, rounded to nearest even, or
// moves bits.
#pragma once

#ifndef __device__
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __host__ __attribute__((host))
#endif
// Forces inlining: a call would spill registers on both vendors, and AMD code objects with calls
// need a stack.
#define ISOBIT_FN static __device__ inline __attribute__((always_inline))
#define ISOBIT_CONST static constexpr
// Tables that a thread indexes at run time live in global read-only memory on both vendors.
#define ISOBIT_TABLE static __device__ const

// Asserts field offsets, because the host also lays out the structs of launch parameters. NVRTC
// 13.0 has no constant expression for an offset, so only clang checks them; every module of the
// tree is compiled with clang.
#define ISOBIT_OFFSET(type, field) __builtin_offsetof(type, field)
#if defined(__clang__)
#define ISOBIT_LAYOUT(condition) static_assert(condition)
#else
#define ISOBIT_LAYOUT(condition) static_assert(true)
#endif

namespace isobit {

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using i16 = short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;

#if defined(__clang__)
ISOBIT_FN u32 to_bits(float x) { return __builtin_bit_cast(u32, x); }
ISOBIT_FN u64 to_bits(double x) { return __builtin_bit_cast(u64, x); }
ISOBIT_FN float from_bits(u32 x) { return __builtin_bit_cast(float, x); }
ISOBIT_FN double from_bits(u64 x) { return __builtin_bit_cast(double, x); }
ISOBIT_FN float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ISOBIT_FN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
ISOBIT_FN float sqrt(float x) { return __builtin_sqrtf(x); }
ISOBIT_FN double sqrt(double x) { return __builtin_sqrt(x); }
ISOBIT_FN float rint(float x) { return __builtin_rintf(x); }
ISOBIT_FN double rint(double x) { return __builtin_rint(x); }
ISOBIT_FN float floor(float x) { return __builtin_floorf(x); }
ISOBIT_FN double floor(double x) { return __builtin_floor(x); }
ISOBIT_FN float ceil(float x) { return __builtin_ceilf(x); }
ISOBIT_FN double ceil(double x) { return __builtin_ceil(x); }
ISOBIT_FN float trunc(float x) { return __builtin_truncf(x); }
ISOBIT_FN double trunc(double x) { return __builtin_trunc(x); }
ISOBIT_FN float abs(float x) { return __builtin_fabsf(x); }
ISOBIT_FN double abs(double x) { return __builtin_fabs(x); }
ISOBIT_FN float copysign(float x, float s) { return __builtin_copysignf(x, s); }
ISOBIT_FN double copysign(double x, double s) { return __builtin_copysign(x, s); }
#else
ISOBIT_FN u32 to_bits(float x) { return __float_as_uint(x); }
ISOBIT_FN u64 to_bits(double x) { return (u64)__double_as_longlong(x); }
ISOBIT_FN float from_bits(u32 x) { return __uint_as_float(x); }
ISOBIT_FN double from_bits(u64 x) { return __longlong_as_double((i64)x); }
ISOBIT_FN float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
ISOBIT_FN double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
ISOBIT_FN float sqrt(float x) { return __fsqrt_rn(x); }
ISOBIT_FN double sqrt(double x) { return __dsqrt_rn(x); }
ISOBIT_FN float rint(float x) { return ::rintf(x); }
ISOBIT_FN double rint(double x) { return ::rint(x); }
ISOBIT_FN float floor(float x) { return ::floorf(x); }
ISOBIT_FN double floor(double x) { return ::floor(x); }
ISOBIT_FN float ceil(float x) { return ::ceilf(x); }
ISOBIT_FN double ceil(double x) { return ::ceil(x); }
ISOBIT_FN float trunc(float x) { return ::truncf(x); }
ISOBIT_FN double trunc(double x) { return ::trunc(x); }
ISOBIT_FN float abs(float x) { return ::fabsf(x); }
ISOBIT_FN double abs(double x) { return ::fabs(x); }
ISOBIT_FN float copysign(float x, float s) { return ::copysignf(x, s); }
ISOBIT_FN double copysign(double x, double s) { return ::copysign(x, s); }
#endif

ISOBIT_FN bool is_nan(float x) { return x != x; }
ISOBIT_FN bool is_nan(double x) { return x != x; }

} // namespace isobit
