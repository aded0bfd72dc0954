// f16, bf16 and f8e4m3 as plain bits, and their conversions. No vendor header declares the same
// types for clang, NVRTC and HIPRTC, so this file defines them. Arithmetic is done in f32, and only
// the conversions below access the bits.
//
// Every conversion into a narrow type rounds once, to nearest even, from the exact value of its
// source. f16 and bf16 overflow to infinity; f8e4m3 (OCP E4M3: no infinities, S.1111.111 is NaN)
// saturates to 448, also from infinity. A NaN stays NaN, with unspecified sign and payload:
// NVIDIA's f16 conversion gives 0x7fff, the portable one 0x7e00.
#pragma once
#include "device_lib/base.cuh"

namespace isobit {

struct f16 {
    u16 bits;
};
struct bf16 {
    u16 bits;
};
struct f8e4m3 {
    u8 bits;
};

// Names a destination type in an overload set (function templates cannot be partially specialised).
template <typename T>
struct type_tag {};

// ---- to f32: exact ----

#if defined(__clang__)
// One instruction on both vendors (cvt.f32.f16, v_cvt_f32_f16); ptxas and LLVM pair these
// instructions on their own.
ISOBIT_FN float to_f32(f16 x) { return (float)__builtin_bit_cast(_Float16, x.bits); }
#else
// nvcc and NVRTC have no half type without a header, but both link libdevice, which has the
// conversions.
extern "C" __device__ float __nv_half2float(u16);
ISOBIT_FN float to_f32(f16 x) { return __nv_half2float(x.bits); }
#endif
ISOBIT_FN float to_f32(bf16 x) { return from_bits((u32)x.bits << 16); }
ISOBIT_FN float to_f32(f8e4m3 x) {
    // The arithmetic shift fills the bits above the exponent with copies of the sign. The mask
    // clears them, except for the sign bit itself.
    u32 bits = (u32)((i32)((u32)x.bits << 24) >> 4) & 0x87f00000u;
    float finite = from_bits(bits) * 0x1p120f;
    return abs(finite) > 448 ? from_bits(0x7fc00000u) : finite;
}
ISOBIT_FN float to_f32(float x) { return x; }

ISOBIT_FN double to_f64(f16 x) { return (double)to_f32(x); }
ISOBIT_FN double to_f64(bf16 x) { return (double)to_f32(x); }
ISOBIT_FN double to_f64(f8e4m3 x) { return (double)to_f32(x); }

// ---- from f32: one rounding ----

namespace narrow_detail {

ISOBIT_FN float round_f32(float x, type_tag<float>) { return x; }

#if defined(__clang__)
ISOBIT_FN f16 round_f32(float x, type_tag<f16>) {
#if defined(__AMDGCN__)
    // A permutation that changes nothing but is opaque to LLVM. Without it, LLVM merges the
    // conversion with the operation that computed x. A product becomes v_fma_mixlo_f16 with an
    // addend of +0, which loses -0 (llvm-project#214544, after LLVM 19); a quotient becomes LLVM's
    // f16 division, which v_rcp_f16 approximates to 0.51 ulp.
    x = from_bits(__builtin_amdgcn_perm(to_bits(x), to_bits(x), 0x03020100u));
#endif
    return f16{__builtin_bit_cast(u16, (_Float16)x)};
}
#else
extern "C" __device__ u16 __nv_float2half_rn(float);
ISOBIT_FN f16 round_f32(float x, type_tag<f16>) { return f16{__nv_float2half_rn(x)}; }
#endif

#if defined(ISOBIT_PTX70) && defined(__clang__) && defined(__NVPTX__)
// The build may define ISOBIT_PTX70 for sm_80 and newer, together with `--cuda-feature=+ptx70` (or
// newer): one instruction instead of five.
ISOBIT_FN bf16 round_f32(float x, type_tag<bf16>) { return bf16{__builtin_bit_cast(u16, __nvvm_f2bf16_rn(x))}; }
#else
ISOBIT_FN bf16 round_f32(float x, type_tag<bf16>) {
    u32 bits = to_bits(x);
    u32 rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return bf16{(u16)((is_nan(x) ? 0x7fc00000u : rounded) >> 16)};
}
#endif

ISOBIT_FN f8e4m3 round_f32(float x, type_tag<f8e4m3>) {
    u32 magnitude = to_bits(x) & 0x7fffffffu;
    u32 within = magnitude > 0x43e00000u ? 0x43e00000u : magnitude;
    // The f8 unit at a value of exponent e, at least -6, is 2^(e-3), which is the f32 unit next to
    // 2^(e+20). So the addition rounds, and leaves the number of units in the low bits. The bits of
    // the result are 8 (e + 6) more; 56 units more make up for the biased exponent, modulo 128.
    u32 exponent = within & 0x7f800000u;
    u32 binade = exponent < 0x3c800000u ? 0x3c800000u : exponent;
    u32 units = to_bits(from_bits(within) + from_bits(binade + (20u << 23) + 56u));
    u32 value = magnitude > 0x7f800000u ? 0x7fu : units + (binade >> 20);
    return f8e4m3{(u8)((value & 0x7fu) | (to_bits(x) >> 24 & 0x80u))};
}

// The f32 that rounds to every narrow type as `x` itself would: `x` cut to 24 bits, with the last
// bit set if anything was cut (rounding to odd, Boldo and Melquiond 2008). This needs two bits more
// than the narrow type has. f32 has them, also in the subnormal range of f16 and bf16.
ISOBIT_FN float odd_f32(double x) {
    float nearest = (float)x;
    double back = (double)nearest;
    u32 cut = to_bits(nearest) - (u32)(abs(back) > abs(x));
    return from_bits(cut | (u32)(back != x));
}

// The same for an integer: at least 10 leading bits remain, the last one is set if anything was
// cut, and the f32 is exact.
ISOBIT_FN float odd_f32(u64 x) {
    u32 shift = (x >> 52) != 0 ? 42u : (x >> 38) != 0 ? 28u : (x >> 24) != 0 ? 14u : 0u;
    u64 cut = x >> shift;
    u32 odd = (u32)cut | (u32)((cut << shift) != x);
    return (float)odd * from_bits((127u + shift) << 23);
}
ISOBIT_FN float odd_f32(i64 x) {
    float magnitude = odd_f32(x < 0 ? 0ull - (u64)x : (u64)x);
    return x < 0 ? -magnitude : magnitude;
}

} // namespace narrow_detail

// `round_to<T>(x)`: the value of type T nearest to x, for T in f16, bf16 and f8e4m3. From f32, T
// may also be float, so that code that is generic over the storage type needs no special case.
template <typename T>
ISOBIT_FN T round_to(float x) {
    return narrow_detail::round_f32(x, type_tag<T>{});
}
template <typename T>
ISOBIT_FN T round_to(double x) {
    return round_to<T>(narrow_detail::odd_f32(x));
}
template <typename T>
ISOBIT_FN T round_to(i64 x) {
    return round_to<T>(narrow_detail::odd_f32(x));
}
template <typename T>
ISOBIT_FN T round_to(u64 x) {
    return round_to<T>(narrow_detail::odd_f32(x));
}
template <typename T>
ISOBIT_FN T round_to(u32 x) {
    return round_to<T>(narrow_detail::odd_f32((u64)x));
}
template <typename T>
ISOBIT_FN T round_to(i32 x) {
    return round_to<T>(narrow_detail::odd_f32((i64)x));
}
// Integers of up to 16 bits are exact in f32.
template <typename T>
ISOBIT_FN T round_to(i16 x) {
    return round_to<T>((float)x);
}
template <typename T>
ISOBIT_FN T round_to(u16 x) {
    return round_to<T>((float)x);
}
template <typename T>
ISOBIT_FN T round_to(i8 x) {
    return round_to<T>((float)x);
}
template <typename T>
ISOBIT_FN T round_to(u8 x) {
    return round_to<T>((float)x);
}

} // namespace isobit
