// Quantizes to mxfp4 and nvfp4, one thread per block.
#include "device_lib/halves.cuh"
#include "ops/quantized/fp4.cuh"
#include "ops/quantized/rounding.cuh"
#include "ops/quantized/values.cuh"

namespace isobit {

ISOBIT_CONST u32 FP4_THREADS = 128;

// The index of the level nearest to `x / factor`, of two the one nearer to 0; 0 if the factor is 0.
// Zeros have no sign.
ISOBIT_FN u32 nearest_fp4(float x, float factor) {
    constexpr float MIDDLES[7] = {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10};
    u32 index = 0;
#pragma unroll
    for (u32 i = 0; i < 7; i++)
        index += abs(x) > MIDDLES[i] * factor ? 1 : 0;
    return index == 0 || factor == 0 ? 0 : x < 0 ? index | 8 : index;
}

// Writes the indices of elements, or zeros.
template <u32 N>
ISOBIT_FN void put_fp4(u8 *place, const float (&x)[N], float factor, bool finite) {
#pragma unroll
    for (u32 l = 0; l < N / 2; l++)
        place[l] = (u8)(finite ? nearest_fp4(x[l], factor) | nearest_fp4(x[l + N / 2], factor) << 4 : 0);
}

ISOBIT_FN void q_quantize_mxfp4(u64 blocks, u32 dtype, const void *from, u8 *to) {
    constexpr u32 NO_NUMBER = 0xff;
    const u64 i = (u64)block_x() * FP4_THREADS + thread_x();
    if (i >= blocks)
        return;
    float x[Q_BLOCK];
    values_at(x, from, i * Q_BLOCK, dtype);
    // The largest element gets a number from 4 to 8 before it is rounded.
    const u32 largest = to_bits(top_of(x).magnitude) >> 23, exponent = largest > 2 ? largest - 2 : 0;
    const bool finite = all_finite(x);
    const float factor = fp4_detail::half_of_power(exponent);
    u8 *place = to + i * mxfp4::BYTES;
    place[0] = (u8)(finite ? exponent : NO_NUMBER);
    put_fp4(place + 1, x, factor, finite);
}

// Rounds to f8e4m3 as ggml does: halves up, and all from 248 on to the largest number.
ISOBIT_FN u32 fp4_scale_of(float x) {
    constexpr float SMALLEST_NORMAL = 0x1p-6f;
    const u32 small = (u32)round_trunc(x * 512 + 0.5f, 0, 7), bits = ((to_bits(x) >> 19) + 1) / 2 - (120u << 3);
    return x < SMALLEST_NORMAL ? small : bits < 15u << 3 ? bits : 0x7e;
}

ISOBIT_FN void q_quantize_nvfp4(u64 blocks, u32 dtype, const void *from, u8 *to) {
    constexpr u32 SUBS = nvfp4::BLOCK / nvfp4::SUB, NO_NUMBER = 0x7f;
    const u64 i = (u64)block_x() * FP4_THREADS + thread_x();
    if (i >= blocks)
        return;
    float x[nvfp4::SUB];
    bool finite = true;
#pragma unroll 1
    for (u32 j = 0; j < SUBS; j++) {
        values_at(x, from, i * nvfp4::BLOCK + j * nvfp4::SUB, dtype);
        finite = finite && all_finite(x);
    }
    u8 *place = to + i * nvfp4::BYTES;
#pragma unroll 1
    for (u32 j = 0; j < SUBS; j++) {
        values_at(x, from, i * nvfp4::BLOCK + j * nvfp4::SUB, dtype);
        // The largest number of f4e2m1 is 6.
        const u32 scale = fp4_scale_of(top_of(x).magnitude / 6.0f);
        place[j] = (u8)(finite ? scale : NO_NUMBER);
        put_fp4(place + SUBS + j * nvfp4::SUB / 2, x, fp4_detail::half_of_scale(scale), finite);
    }
}

} // namespace isobit

#define ISOBIT_Q_QUANTIZE_FP4(NAME, F)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128) NAME(u64 blocks, u32 dtype, const void *from, u8 *to) {                                  \
        q_quantize_##F(blocks, dtype, from, to);                                                                       \
    }                                                                                                                  \
    }
