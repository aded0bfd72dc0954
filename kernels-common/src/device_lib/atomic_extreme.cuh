// Relaxed atomic loads, sums, minima, maxima and swaps of words in global memory, for results that
// threads change where they lie. Integers alone: their sums, minima and maxima are the same in any
// order of the threads. Apart from atomic.cuh, because few modules need them.
#pragma once

#include "device_lib/base.cuh"

namespace isobit {

#if defined(__AMDGCN__)
ISOBIT_FN u32 atomic_load(const u32 *at) {
    return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
ISOBIT_FN u64 atomic_load(const u64 *at) {
    return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
ISOBIT_FN u32 compare_and_swap(u32 *at, u32 expected, u32 x) {
    __hip_atomic_compare_exchange_strong(at, &expected, x, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_AGENT);
    return expected;
}
ISOBIT_FN void add_to(u32 *at, u32 x) { __hip_atomic_fetch_add(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
ISOBIT_FN void add_to(u64 *at, u64 x) { __hip_atomic_fetch_add(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
#define ISOBIT_ATOMIC_EXTREMES(WORD, MIN, MAX)                                                                         \
    ISOBIT_FN void lower_to(WORD *at, WORD x) {                                                                        \
        __hip_atomic_fetch_min(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                                     \
    }                                                                                                                  \
    ISOBIT_FN void raise_to(WORD *at, WORD x) {                                                                        \
        __hip_atomic_fetch_max(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                                     \
    }
#else
// A volatile load is a relaxed one of the whole system to PTX.
ISOBIT_FN u32 atomic_load(const u32 *at) { return *(const volatile u32 *)at; }
ISOBIT_FN u64 atomic_load(const u64 *at) { return *(const volatile u64 *)at; }
#if defined(__clang__)
ISOBIT_FN u32 compare_and_swap(u32 *at, u32 expected, u32 x) {
    return (u32)__nvvm_atom_cas_gen_i((i32 *)at, (i32)expected, (i32)x);
}
ISOBIT_FN void add_to(u32 *at, u32 x) { __nvvm_atom_add_gen_i((i32 *)at, (i32)x); }
ISOBIT_FN void add_to(u64 *at, u64 x) { __nvvm_atom_add_gen_ll((i64 *)at, (i64)x); }
#define ISOBIT_ATOMIC_EXTREMES(WORD, MIN, MAX)                                                                         \
    ISOBIT_FN void lower_to(WORD *at, WORD x) { MIN(at, x); }                                                          \
    ISOBIT_FN void raise_to(WORD *at, WORD x) { MAX(at, x); }
#else
ISOBIT_FN u32 compare_and_swap(u32 *at, u32 expected, u32 x) { return atomicCAS(at, expected, x); }
ISOBIT_FN void add_to(u32 *at, u32 x) { atomicAdd(at, x); }
ISOBIT_FN void add_to(u64 *at, u64 x) { atomicAdd(at, x); }
#define ISOBIT_ATOMIC_EXTREMES(WORD, MIN, MAX)                                                                         \
    ISOBIT_FN void lower_to(WORD *at, WORD x) { atomicMin(at, x); }                                                    \
    ISOBIT_FN void raise_to(WORD *at, WORD x) { atomicMax(at, x); }
#endif
#endif

ISOBIT_ATOMIC_EXTREMES(i32, __nvvm_atom_min_gen_i, __nvvm_atom_max_gen_i)
ISOBIT_ATOMIC_EXTREMES(u32, __nvvm_atom_min_gen_ui, __nvvm_atom_max_gen_ui)
ISOBIT_ATOMIC_EXTREMES(i64, __nvvm_atom_min_gen_ll, __nvvm_atom_max_gen_ll)
ISOBIT_ATOMIC_EXTREMES(u64, __nvvm_atom_min_gen_ull, __nvvm_atom_max_gen_ull)
#undef ISOBIT_ATOMIC_EXTREMES

} // namespace isobit
