// Function pointers, virtual calls and recursion.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device)) __attribute__((noinline))
#define CONSTANT __attribute__((constant))
#define VARIABLE __attribute__((device))
VARIABLE inline unsigned thread() { return __nvvm_read_ptx_sreg_tid_x(); }
VARIABLE inline void barrier() { __syncthreads(); }
#include "../../../core/testing/calls.h"

// A stack whose size depends on the data of each thread.
DEVICE u32 powers(u32 n) {
    u32* p = (u32*)__builtin_alloca(4 * n + 4);
    p[0] = 1;
    for (u32 i = 1; i <= n; ++i) p[i] = 3 * p[i - 1];
    return n == 0 ? p[0] : p[n] + powers(n - 1);
}
KERNEL void allocations(u32* out) { out[thread()] = powers(thread() % 7); }

// Reads a variable of a function that has returned.
DEVICE u32* escaped(u32 n) {
    u32 own[4] = {n, n, n, n};
    u32* volatile at = own;
    return n == 7 ? escaped(6) : at;
}
KERNEL void dangling(u32* out) { out[thread()] = *escaped(thread()); }
KERNEL void store_dangling(u32*) { *escaped(thread()) = 5; }

// A barrier within a recursion, which the threads of a warp reach at different depths, or together.
DEVICE u32 meeting(u32 n) {
    barrier();
    return n == 0 ? 1 : 2 * meeting(n - 1);
}
KERNEL void barriers_together(u32* out) { out[thread()] = meeting(3); }
KERNEL void barriers_apart(u32* out) { out[thread()] = meeting(thread() % 2); }

// The threads of a warp, each at a depth of its own, exchange values in different calls of one
// function. The variable keeps a compiler from turning the recursion into a loop.
DEVICE u32 exchanged(u32 n) {
    volatile u32 own = n;
    u32 other = n == 0 ? __nvvm_shfl_sync_bfly_i32(~0u, 3 * thread(), 1, 31) : exchanged(n - 1);
    return other + own;
}
KERNEL void exchange(u32* out) { out[thread()] = exchanged(thread() % 3); }
