// Flags: a thread writes data and then a flag, which others wait for before they read the data.
#include "shim.h"

// From the first warp to the others of its block, in shared and in global memory.
KERNEL void flag_in_block(u32* data, u32* out) {
    SHARED u32 shared[WARP], flag;
    if (thread() == 0) flag = 0;
    barrier();
    u32* own = data + block() * WARP;
    if (warp() == 0) {
        shared[lane()] = 3 * lane();
        own[lane()] = 5 * lane() + block();
        warp_barrier();
        if (lane() == 0) release_block(&flag, 1u);
        out[index()] = 0;
    } else {
        while (acquire_block(&flag) == 0) {}
        out[index()] = shared[lane()] + own[lane()];
    }
}

// From the first block to the others. The flag is written by one thread, after a barrier.
#define FLAG(scope)                                                                                      \
    KERNEL void flag_##scope(u32* data, u32* flag, u32* out) {                                           \
        if (block() == 0) {                                                                              \
            data[thread()] = 7 * thread();                                                               \
            barrier();                                                                                   \
            if (thread() == 0) release_##scope(flag, 1u);                                                \
            out[index()] = 0;                                                                            \
        } else {                                                                                         \
            if (thread() == 0)                                                                           \
                while (acquire_##scope(flag) == 0) {}                                                    \
            barrier();                                                                                   \
            out[index()] = data[thread()] + block();                                                     \
        }                                                                                                \
    }
FLAG(gpu)
FLAG(system)

// The same with fences around relaxed accesses.
KERNEL void flag_fences(u32* data, u32* flag, u32* out) {
    if (block() == 0) {
        data[thread()] = 7 * thread();
        fence();
        barrier();
        if (thread() == 0) relaxed(flag, 1);
        out[index()] = 0;
    } else {
        if (thread() == 0) {
            while (relaxed(flag) == 0) {}
            fence();
        }
        barrier();
        out[index()] = data[thread()] + block();
    }
}

// Every thread waits for itself.
KERNEL void flag_every_thread(u32* data, u32* flags, u32* out) {
    if (block() == 0) {
        data[thread()] = 11 * thread();
        release_gpu(&flags[thread()], 1u);
        out[index()] = 0;
    } else {
        while (acquire_gpu(&flags[thread()]) == 0) {}
        out[index()] = data[thread()] + block();
    }
}

// A chain: each block continues the sums of the one before it.
KERNEL void flag_chain(u32* sums, u32* turn) {
    if (thread() == 0)
        while (acquire_gpu(turn) != block()) {}
    barrier();
    sums[thread()] = sums[thread()] * 3 + block();
    barrier();
    if (thread() == 0) release_gpu(turn, block() + 1);
}

// The first block waits for the last.
KERNEL void flag_from_the_last_block(u32* data, u32* flag, u32* out) {
    if (block() == blocks() - 1) {
        data[thread()] = 13 * thread();
        barrier();
        if (thread() == 0) release_gpu(flag, 1u);
    } else if (block() == 0) {
        if (thread() == 0)
            while (acquire_gpu(flag) == 0) {}
        barrier();
        out[thread()] = data[thread()];
    }
}
