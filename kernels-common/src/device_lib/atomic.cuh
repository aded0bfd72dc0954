// Relaxed atomic operations on integers in global or shared memory; a barrier or the end of the
// kernel orders them. There are no float atomics, because the order of the additions would change
// the result bits.
#pragma once

#include "device_lib/base.cuh"

namespace isobit {

#if defined(__AMDGCN__)
ISOBIT_FN u32 atomic_add(u32 *at, u32 x) {
    return __hip_atomic_fetch_add(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
ISOBIT_FN u32 atomic_or(u32 *at, u32 x) {
    return __hip_atomic_fetch_or(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
ISOBIT_FN u32 atomic_max(u32 *at, u32 x) {
    return __hip_atomic_fetch_max(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
ISOBIT_FN u64 atomic_max(u64 *at, u64 x) {
    return __hip_atomic_fetch_max(at, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
#elif defined(__clang__)
ISOBIT_FN u32 atomic_add(u32 *at, u32 x) { return (u32)__nvvm_atom_add_gen_i((i32 *)at, (i32)x); }
ISOBIT_FN u32 atomic_or(u32 *at, u32 x) { return (u32)__nvvm_atom_or_gen_i((i32 *)at, (i32)x); }
ISOBIT_FN u32 atomic_max(u32 *at, u32 x) { return __nvvm_atom_max_gen_ui(at, x); }
ISOBIT_FN u64 atomic_max(u64 *at, u64 x) { return __nvvm_atom_max_gen_ull(at, x); }
#else
ISOBIT_FN u32 atomic_add(u32 *at, u32 x) { return atomicAdd(at, x); }
ISOBIT_FN u32 atomic_or(u32 *at, u32 x) { return atomicOr(at, x); }
ISOBIT_FN u32 atomic_max(u32 *at, u32 x) { return atomicMax(at, x); }
ISOBIT_FN u64 atomic_max(u64 *at, u64 x) { return atomicMax(at, x); }
#endif

} // namespace isobit
