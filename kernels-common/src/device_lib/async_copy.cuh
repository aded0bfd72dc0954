// Copies from global to shared memory that use no registers, on targets that have them (NVIDIA
// sm_80 and newer). A thread starts these copies and waits for them before the barrier that lets
// other threads read the data. Other targets do ordinary copies and need no wait.
#pragma once

#include "device_lib/vector.cuh"

namespace isobit {

// Starts a copy of 8 bytes. Both addresses must be aligned to 8 bytes.
ISOBIT_FN void copy8_start(void *shared, const void *from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("{ .reg .u64 s; .reg .u32 p; cvta.to.shared.u64 s, %0; cvt.u32.u64 p, s; cp.async.ca.shared.global [p], [%1], 8; }"
                 :
                 : "l"(shared), "l"(from)
                 : "memory");
#else
    store((u32 *)shared, load<2>((const u32 *)from));
#endif
}

// Starts a copy of 16 bytes. Both addresses must be aligned to 16 bytes.
ISOBIT_FN void copy16_start(void *shared, const void *from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("{ .reg .u64 s; .reg .u32 p; cvta.to.shared.u64 s, %0; cvt.u32.u64 p, s; cp.async.cg.shared.global [p], [%1], 16; }"
                 :
                 : "l"(shared), "l"(from)
                 : "memory");
#else
    store((u32 *)shared, load<4>((const u32 *)from));
#endif
}

// Starts a copy of 4, 8 or 16 bytes if `exists`, and otherwise of as many zeros: then nothing is
// read, and `from` may be any multiple of BYTES. Neighbouring threads need no branch to differ in
// it.
template <u32 BYTES>
ISOBIT_FN void copy_or_zero_start(void *shared, const void *from, bool exists) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const u32 bytes = exists ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("{ .reg .u64 s; .reg .u32 p; cvta.to.shared.u64 s, %0; cvt.u32.u64 p, s; cp.async.cg.shared.global [p], [%1], 16, %2; }"
                     :
                     : "l"(shared), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("{ .reg .u64 s; .reg .u32 p; cvta.to.shared.u64 s, %0; cvt.u32.u64 p, s; cp.async.ca.shared.global [p], [%1], %3, %2; }"
                     :
                     : "l"(shared), "l"(from), "r"(bytes), "n"(BYTES)
                     : "memory");
#else
    store((u32 *)shared, exists ? load<(int)BYTES / 4>((const u32 *)from) : Pack<(int)BYTES / 4, u32>{});
#endif
}

// Ends a group of copies that this thread has started since the last call.
ISOBIT_FN void copies_commit() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}

// Waits for this thread's groups of copies, but not for the last GROUPS of them.
template <u32 GROUPS>
ISOBIT_FN void copies_wait_but() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" : : "n"(GROUPS) : "memory");
#endif
}

// Waits for the copies that this thread has started.
ISOBIT_FN void copies_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

} // namespace isobit
