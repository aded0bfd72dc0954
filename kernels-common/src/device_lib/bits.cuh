// Bit counting, bit search, and bytes in another order.
#pragma once

#include "device_lib/base.cuh"

namespace isobit {

// The number of bits in a word.
ISOBIT_CONST u32 WORD_BITS = 32;

#if defined(__clang__)
ISOBIT_FN u32 count_bits(u32 x) { return (u32)__builtin_popcount(x); }
ISOBIT_FN u32 lowest_bit(u32 x) { return (u32)__builtin_ctz(x); }
#else
ISOBIT_FN u32 count_bits(u32 x) { return (u32)__popc((i32)x); }
ISOBIT_FN u32 lowest_bit(u32 x) { return (u32)__ffs((i32)x) - 1; }
#endif

// A word of four bytes of two words. SELECT has a hexadecimal digit for each, the lowest first: 0
// to 3 for a byte of `low`, 4 to 7 for one of `high`.
template <u32 SELECT>
ISOBIT_FN u32 permute_bytes(u32 low, u32 high) {
#if defined(__CUDA_ARCH__)
    u32 result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "n"(SELECT));
    return result;
#elif defined(__AMDGCN__)
    constexpr u32 BYTES = (SELECT & 0xf) | (SELECT & 0xf0) << 4 | (SELECT & 0xf00) << 8 | (SELECT & 0xf000) << 12;
    return __builtin_amdgcn_perm(high, low, BYTES);
#else
    const u64 both = (u64)high << 32 | low;
    u32 result = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        result |= (u32)(both >> ((SELECT >> (4 * i) & 7) * 8) & 255) << (8 * i);
    return result;
#endif
}

// Four bytes of two words: those at the four bytes of `indices`, each 0 to 7.
ISOBIT_FN u32 look_up_bytes(u32 low, u32 high, u32 indices) {
#if defined(__CUDA_ARCH__)
    // The instruction takes digits instead of bytes.
    const u32 pairs = indices | indices >> 4;
    u32 result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(permute_bytes<0x3120>(pairs, 0)));
    return result;
#elif defined(__AMDGCN__)
    return __builtin_amdgcn_perm(high, low, indices);
#else
    const u64 both = (u64)high << 32 | low;
    u32 result = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        result |= (u32)(both >> ((indices >> (8 * i) & 7) * 8) & 255) << (8 * i);
    return result;
#endif
}

} // namespace isobit
