// Hopper's matrix units as they are at full speed: four warps (a warpgroup) start products of
// chunks in shared memory, which run while the warps do something else; whole pieces of memory come
// to shared memory by one copy; and signals in shared memory tell when copies have arrived. Only
// code for sm_90a, which runs on Hopper alone, has them.
//
// A signal counts phases: it changes from one to the next when all arrivals of the phase, and all
// bytes that it expects, are there.
#pragma once

#include "device_lib/digit_tile.cuh"
#include "device_lib/thread.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ISOBIT_WARPGROUP
#endif

namespace isobit {

#if defined(ISOBIT_WARPGROUP)
ISOBIT_CONST bool HAS_WARPGROUP = true;

ISOBIT_FN u32 shared_address(const void *at) {
    u32 address;
    asm("{ .reg .u64 s; cvta.to.shared.u64 s, %1; cvt.u32.u64 %0, s; }" : "=r"(address) : "l"(at));
    return address;
}

// Signals begin in phase 0. `arrivals` end a phase.
ISOBIT_FN void signal_init(u64 *signal, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(shared_address(signal)), "r"(arrivals) : "memory");
}
// To be called after all signal_init(), before the block's barrier.
ISOBIT_FN void signals_ready() { asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory"); }
ISOBIT_FN void signal_arrive(u64 *signal) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(shared_address(signal)) : "memory");
}
// Arrives, and lets the phase wait for bytes too.
ISOBIT_FN void signal_arrive_expecting(u64 *signal, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(signal)), "r"(bytes)
                 : "memory");
}
// Waits for the end of a phase, of which only the lowest bit counts.
ISOBIT_FN void signal_wait(u64 *signal, u32 phase) {
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again; }"
                 :
                 : "r"(shared_address(signal)), "r"(phase & 1)
                 : "memory");
}

// Starts a copy of a multiple of 16 bytes, which arrive at the signal. Both addresses must be
// aligned to 16 bytes.
ISOBIT_FN void piece_start(void *shared, const void *from, u32 bytes, u64 *signal) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"(shared_address(shared)), "l"(from), "r"(bytes), "r"(shared_address(signal))
                 : "memory");
}

// Makes what this thread has written to shared memory, or what its copies of async_copy.cuh have
// brought there, visible to products that start after a later signal.
ISOBIT_FN void written_for_products() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }

// The bitwise or of a word of all lanes of a warp.
ISOBIT_FN u32 any_of_warp(u32 word) {
    u32 all;
    asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(all) : "r"(word) : "memory");
    return all;
}

// A barrier of some warps of a block: those that wait, and those that only arrive.
template <u32 THREADS>
ISOBIT_FN void part_barrier(u32 number) {
    asm volatile("bar.sync %0, %1;" : : "r"(number), "n"(THREADS) : "memory");
}
template <u32 THREADS>
ISOBIT_FN void part_arrive(u32 number) {
    asm volatile("bar.arrive %0, %1;" : : "r"(number), "n"(THREADS) : "memory");
}

// Gives registers of the calling warpgroup back, or takes what others gave back: a multiple of 8.
// The block must have as many threads as three warpgroups, and every warpgroup must call one of
// them.
template <u32 REGISTERS>
ISOBIT_FN void registers_down() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(REGISTERS));
}
template <u32 REGISTERS>
ISOBIT_FN void registers_up() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(REGISTERS));
}

// Where chunks of a plane lie in shared memory, for the unit: those of a group of lines follow each
// other along k, and groups are `GROUP` bytes apart.
template <u32 GROUP>
ISOBIT_FN u64 chunks_at(const u8 *shared) {
    return (u64)(shared_address(shared) >> 4 & 0x3fff) | (u64)(CHUNK_BYTES >> 4) << 16 | (u64)(GROUP >> 4) << 32;
}

// Products may start after this, if registers of their sums were used before.
ISOBIT_FN void products_begin() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
ISOBIT_FN void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); }
// Waits for all products; `sum` may be used afterwards.
template <u32 W, u32 N>
ISOBIT_FN void products_wait(i32 (&sum)[W][N][4]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
#pragma unroll
    for (u32 w = 0; w < W; w++)
#pragma unroll
        for (u32 j = 0; j < N; j++)
            asm volatile(""
                         : "+r"(sum[w][j][0]), "+r"(sum[w][j][1]), "+r"(sum[w][j][2]), "+r"(sum[w][j][3])
                         :
                         : "memory");
}

// Starts the products of 64 lines of `a` and 8 N lines of `b` over a step of k; if FIRST, sums
// begin here. Warp w of the group has rows 16 w to 16 w + 15, in the places of int_tile.cuh.
// Factors of `a` in registers were tried: f32 runs 2 % faster at 8192^3 on an H100, bf16 2 %
// slower.
#define ISOBIT_SUMS(j) "+r"(sum[j][0]), "+r"(sum[j][1]), "+r"(sum[j][2]), "+r"(sum[j][3])
template <bool FIRST>
ISOBIT_FN void products_start(i32 (&sum)[8][4], u64 a, u64 b) {
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, add; }"
                 : ISOBIT_SUMS(0), ISOBIT_SUMS(1), ISOBIT_SUMS(2), ISOBIT_SUMS(3), ISOBIT_SUMS(4), ISOBIT_SUMS(5),
                   ISOBIT_SUMS(6), ISOBIT_SUMS(7)
                 : "l"(a), "l"(b), "n"(FIRST ? 0 : 1)
                 : "memory");
}
template <bool FIRST>
ISOBIT_FN void products_start(i32 (&sum)[12][4], u64 a, u64 b) {
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %50, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n96k32.s32.s8.s8 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, "
                 "%48, %49, add; }"
                 : ISOBIT_SUMS(0), ISOBIT_SUMS(1), ISOBIT_SUMS(2), ISOBIT_SUMS(3), ISOBIT_SUMS(4), ISOBIT_SUMS(5),
                   ISOBIT_SUMS(6), ISOBIT_SUMS(7), ISOBIT_SUMS(8), ISOBIT_SUMS(9), ISOBIT_SUMS(10), ISOBIT_SUMS(11)
                 : "l"(a), "l"(b), "n"(FIRST ? 0 : 1)
                 : "memory");
}
#undef ISOBIT_SUMS
#else
ISOBIT_CONST bool HAS_WARPGROUP = false;
#endif

} // namespace isobit
