// Makes a block of q8_0 or q8_1 from 32 elements; integer products also quantize their activations
// with this.
#pragma once

#include "device_lib/int_dot.cuh"
#include "device_lib/narrow_types.cuh"
#include "ops/quantized/rounding.cuh"

namespace isobit {

struct Q8Block {
    // The integers, four to a word.
    u32 q[8];
    // The scale, and the sum of the elements after quantization.
    f16 d, s;
};

ISOBIT_FN Q8Block q8_block(const float (&x)[32]) {
    constexpr u32 INFINITE = 0x7f800000u, NO_NUMBER = 0x7e00u;
    float most = 0;
    bool finite = true;
#pragma unroll
    for (u32 i = 0; i < 32; i++) {
        const float a = abs(x[i]);
        most = a > most ? a : most;
        finite = finite && to_bits(a) < INFINITE;
    }
    const float d = most / 127.0f;
    const float inverse = d != 0 ? 1.0f / d : 0.0f;
    Q8Block block;
    i32 sum = 0;
#pragma unroll
    for (u32 w = 0; w < 8; w++) {
        u32 four = 0;
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            four |= ((u32)round_away(x[4 * w + i] * inverse, -128, 127) & 0xff) << (8 * i);
        block.q[w] = finite ? four : 0;
        sum = sum4(sum, four);
    }
    block.d = finite ? round_to<f16>(d) : f16{NO_NUMBER};
    block.s = finite ? round_to<f16>((float)sum * d) : f16{0};
    return block;
}

} // namespace isobit
