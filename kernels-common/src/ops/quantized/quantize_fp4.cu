// Quantizes to mxfp4, one thread per block.
#include "device_lib/halves.cuh"
#include "ops/quantized/fp4.cuh"
#include "ops/quantized/rounding.cuh"
#include "ops/quantized/values.cuh"

namespace isobit {

// The index of the level nearest to `x / factor`, of two the one nearer to 0. Zeros have no sign.
ISOBIT_FN u32 nearest_fp4(float x, float factor) {
    constexpr float MIDDLES[7] = {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10};
    u32 index = 0;
#pragma unroll
    for (u32 i = 0; i < 7; i++)
        index += abs(x) > MIDDLES[i] * factor ? 1 : 0;
    return index != 0 && x < 0 ? index | 8 : index;
}

ISOBIT_FN void q_quantize_mxfp4(u64 blocks, u32 dtype, const void *from, u8 *to) {
    constexpr u32 THREADS = 128, NO_NUMBER = 0xff;
    const u64 i = (u64)block_x() * THREADS + thread_x();
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
#pragma unroll
    for (u32 l = 0; l < Q_BLOCK / 2; l++)
        place[1 + l] = (u8)(finite ? nearest_fp4(x[l], factor) | nearest_fp4(x[l + Q_BLOCK / 2], factor) << 4 : 0);
}

} // namespace isobit

#define ISOBIT_Q_QUANTIZE_FP4(NAME, F)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(128) NAME(u64 blocks, u32 dtype, const void *from, u8 *to) {                                  \
        q_quantize_##F(blocks, dtype, from, to);                                                                       \
    }                                                                                                                  \
    }
