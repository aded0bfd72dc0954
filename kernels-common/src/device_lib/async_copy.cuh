// Copies from global to shared memory that need no registers on the way, where a target has them
// (NVIDIA from sm_80 on): they are started, and waited for before the barrier that lets other
// threads read. Elsewhere they are ordinary copies, and there is nothing to wait for.
#pragma once

#include "device_lib/vector.cuh"

namespace isobit {

// 8 bytes, both places aligned to as many.
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

// 16 bytes, both places aligned to as many.
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

// Waits for what this thread has started.
ISOBIT_FN void copies_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

} // namespace isobit
