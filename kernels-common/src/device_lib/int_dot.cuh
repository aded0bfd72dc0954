// Exact sums of products of signed bytes. Uses one instruction on targets that have it; every
// target gives the same integer.
#pragma once

#include "device_lib/base.cuh"

// Targets with a dot-product instruction. AMD has two kinds: both factors signed (gfx906 and its
// successors, RDNA2), or a sign flag for each factor (RDNA3 and newer).
#if defined(__AMDGCN__)
#if defined(__GFX11__) || defined(__GFX12__)
#define ISOBIT_DOT4_SIGNS
#elif defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) ||  \
    defined(__gfx942__) || defined(__gfx950__) || defined(__gfx1011__) || defined(__gfx1012__) || defined(__gfx1030__) || \
    defined(__gfx1031__) || defined(__gfx1032__) || defined(__gfx1033__) || defined(__gfx1034__) ||                       \
    defined(__gfx1035__) || defined(__gfx1036__)
#define ISOBIT_DOT4_SIGNED
#endif
#elif defined(__CUDA_ARCH__)
#define ISOBIT_DOT4_PTX
#endif

namespace isobit {

// sum + a0 b0 + a1 b1 + a2 b2 + a3 b3 over the signed bytes of two words, wrapping.
ISOBIT_FN i32 dot4(i32 sum, u32 a, u32 b) {
#if defined(ISOBIT_DOT4_PTX)
    // Inline assembly, because only clang 20 and newer have a builtin for this instruction.
    i32 result;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
#elif defined(ISOBIT_DOT4_SIGNS)
    return __builtin_amdgcn_sudot4(true, (i32)a, true, (i32)b, sum, false);
#elif defined(ISOBIT_DOT4_SIGNED)
    return __builtin_amdgcn_sdot4((i32)a, (i32)b, sum, false);
#else
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        sum = (i32)((u32)sum + (u32)((i32)(i8)(a >> i) * (i32)(i8)(b >> i)));
    return sum;
#endif
}

// Adds the four signed bytes of a word to `sum`.
ISOBIT_FN i32 sum4(i32 sum, u32 a) { return dot4(sum, a, 0x01010101u); }

} // namespace isobit
