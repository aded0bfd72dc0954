// Bit counting and bit search.
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

} // namespace isobit
