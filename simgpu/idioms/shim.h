// What the idioms need from CUDA's and HIP's headers, for clang alone. The vendors' headers define
// these operations with the same instructions.
#pragma once
typedef unsigned u32;
typedef unsigned long long u64;
typedef _Float16 half;
#define KERNEL extern "C" __attribute__((global)) __attribute__((launch_bounds(256)))
#define SHARED static __attribute__((shared))
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))

template <typename To, typename From> DEVICE To bits(From x) { return __builtin_bit_cast(To, x); }

#ifdef __NVPTX__
constexpr u32 WARP = 32;
DEVICE u32 thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE u32 blocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE u32 lane() { return __nvvm_read_ptx_sreg_laneid(); }
DEVICE void barrier() { __syncthreads(); }
DEVICE void warp_barrier() { asm volatile("bar.warp.sync -1;" ::: "memory"); }
DEVICE void fence() { __nvvm_membar_gl(); }
DEVICE u32 shuffle(u32 x, u32 from) { return __nvvm_shfl_sync_idx_i32(~0u, x, from, 31); }
DEVICE u64 ballot(bool x) { return __nvvm_vote_ballot_sync(~0u, x); }

#define ATOMIC(name, type, kind, letter)                                                                 \
    DEVICE type name(type* p, type x) {                                                                  \
        type old;                                                                                        \
        asm volatile("atom." kind " %0, [%1], %2;" : "=" letter(old) : "l"(p), letter(x) : "memory");    \
        return old;                                                                                      \
    }
ATOMIC(atomic_add, u32, "add.u32", "r")
ATOMIC(atomic_add, u64, "add.u64", "l")
ATOMIC(atomic_add, float, "add.f32", "f")
ATOMIC(atomic_add, double, "add.f64", "d")
ATOMIC(atomic_min, u32, "min.u32", "r")
ATOMIC(atomic_max, u32, "max.u32", "r")
ATOMIC(atomic_min, int, "min.s32", "r")
ATOMIC(atomic_max, int, "max.s32", "r")
ATOMIC(atomic_and, u32, "and.b32", "r")
ATOMIC(atomic_or, u32, "or.b32", "r")
ATOMIC(atomic_xor, u32, "xor.b32", "r")
ATOMIC(atomic_exchange, u32, "exch.b32", "r")
DEVICE u32 atomic_swap(u32* p, u32 expected, u32 x) {
    u32 old;
    asm volatile("atom.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(p), "r"(expected), "r"(x) : "memory");
    return old;
}
DEVICE u64 atomic_swap(u64* p, u64 expected, u64 x) {
    u64 old;
    asm volatile("atom.cas.b64 %0, [%1], %2, %3;" : "=l"(old) : "l"(p), "l"(expected), "l"(x) : "memory");
    return old;
}

#define ORDERED(scope, name)                                                                             \
    DEVICE u32 acquire_##scope(const u32* p) {                                                           \
        u32 x;                                                                                           \
        asm volatile("ld.acquire." name ".u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");                 \
        return x;                                                                                        \
    }                                                                                                    \
    DEVICE u64 acquire_##scope(const u64* p) {                                                           \
        u64 x;                                                                                           \
        asm volatile("ld.acquire." name ".u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");                 \
        return x;                                                                                        \
    }                                                                                                    \
    DEVICE void release_##scope(u32* p, u32 x) {                                                         \
        asm volatile("st.release." name ".u32 [%0], %1;" ::"l"(p), "r"(x) : "memory");                   \
    }                                                                                                    \
    DEVICE void release_##scope(u64* p, u64 x) {                                                         \
        asm volatile("st.release." name ".u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");                   \
    }
ORDERED(block, "cta")
ORDERED(gpu, "gpu")
ORDERED(system, "sys")
DEVICE u32 relaxed(const u32* p) {
    u32 x;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
DEVICE void relaxed(u32* p, u32 x) { asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory"); }
#else
constexpr u32 WARP = __AMDGCN_WAVEFRONT_SIZE;
DEVICE u32 thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE u32 block() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE u32 threads() { return __builtin_amdgcn_workgroup_size_x(); }
DEVICE u32 blocks() { return __builtin_amdgcn_grid_size_x() / threads(); }
DEVICE u32 lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)) % WARP; }
DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE void warp_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
DEVICE void fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
DEVICE u32 shuffle(u32 x, u32 from) { return __builtin_amdgcn_ds_bpermute(4 * from, x); }
#if __AMDGCN_WAVEFRONT_SIZE == 64
DEVICE u64 ballot(bool x) { return __builtin_amdgcn_ballot_w64(x); }
#else
DEVICE u64 ballot(bool x) { return __builtin_amdgcn_ballot_w32(x); }
#endif

#define ATOMIC(name, type, call)                                                                         \
    DEVICE type name(type* p, type x) { return call(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
ATOMIC(atomic_add, u32, __hip_atomic_fetch_add)
ATOMIC(atomic_add, u64, __hip_atomic_fetch_add)
ATOMIC(atomic_add, float, __hip_atomic_fetch_add)
ATOMIC(atomic_add, double, __hip_atomic_fetch_add)
ATOMIC(atomic_min, u32, __hip_atomic_fetch_min)
ATOMIC(atomic_max, u32, __hip_atomic_fetch_max)
ATOMIC(atomic_min, int, __hip_atomic_fetch_min)
ATOMIC(atomic_max, int, __hip_atomic_fetch_max)
ATOMIC(atomic_and, u32, __hip_atomic_fetch_and)
ATOMIC(atomic_or, u32, __hip_atomic_fetch_or)
ATOMIC(atomic_xor, u32, __hip_atomic_fetch_xor)
ATOMIC(atomic_exchange, u32, __hip_atomic_exchange)
template <typename T> DEVICE T atomic_swap(T* p, T expected, T x) {
    __hip_atomic_compare_exchange_strong(p, &expected, x, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return expected;
}

#define ORDERED(scope, name)                                                                             \
    template <typename T> DEVICE T acquire_##scope(const T* p) {                                         \
        return __hip_atomic_load(p, __ATOMIC_ACQUIRE, name);                                             \
    }                                                                                                    \
    template <typename T> DEVICE void release_##scope(T* p, T x) {                                       \
        __hip_atomic_store(p, x, __ATOMIC_RELEASE, name);                                                \
    }
ORDERED(block, __HIP_MEMORY_SCOPE_WORKGROUP)
ORDERED(gpu, __HIP_MEMORY_SCOPE_AGENT)
ORDERED(system, __HIP_MEMORY_SCOPE_SYSTEM)
DEVICE u32 relaxed(const u32* p) { return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
DEVICE void relaxed(u32* p, u32 x) { __hip_atomic_store(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
#endif

DEVICE u32 index() { return block() * threads() + thread(); }
DEVICE u32 warp() { return thread() / WARP; }
