// Threads that work on a tile together, and threads that return before the others.
#include "shim.h"

// A tile of 16 by 16 is transposed in shared memory, with a column more against bank conflicts.
KERNEL void tile_transpose(const u32* in, u32* out, u64 n) {
    SHARED u32 tile[16][17];
    u32 across = n / 16, tx = thread() % 16, ty = thread() / 16, bx = block() % across, by = block() / across;
    tile[ty][tx] = in[(by * 16 + ty) * n + bx * 16 + tx];
    barrier();
    out[(bx * 16 + ty) * n + by * 16 + tx] = tile[tx][ty];
}

KERNEL void tile_product(const u32* a, const u32* b, u32* c, u64 n) {
    SHARED u32 left[16][16], right[16][16];
    u32 across = n / 16, tx = thread() % 16, ty = thread() / 16, bx = block() % across, by = block() / across, sum = 0;
    for (u32 k = 0; k < n; k += 16) {
        left[ty][tx] = a[(by * 16 + ty) * n + k + tx];
        right[ty][tx] = b[(k + ty) * n + bx * 16 + tx];
        barrier();
        for (u32 i = 0; i < 16; i++) sum += left[ty][i] * right[i][tx];
        barrier();
    }
    c[(by * 16 + ty) * n + bx * 16 + tx] = sum;
}

// A stencil: the threads at the ends load the neighbours of the block too.
KERNEL void tile_stencil(const u32* in, u32* out, u64 n) {
    SHARED u32 row[256 + 4];
    u32 i = index();
    row[thread() + 2] = i < n ? in[i] : 0;
    if (thread() < 2) {
        row[thread()] = i >= 2 ? in[i - 2] : 0;
        row[thread() + 258] = i + 256 < n ? in[i + 256] : 0;
    }
    barrier();
    u32 sum = 0;
    for (u32 k = 0; k < 5; k++) sum += row[thread() + k];
    if (i < n) out[i] = sum;
}

// Tiles of 8 threads of a warp.
KERNEL void tile_of_eight(const u32* in, u32* out) {
    u32 x = in[index()];
    for (u32 step = 4; step > 0; step /= 2) x += shuffle(x, lane() ^ step);
    u32 first = shuffle(in[index()], lane() & ~7u);
    if (thread() % 8 == 0) out[index() / 8] = x * 2 + first;
}

// Threads of a warp exchange words of shared memory.
KERNEL void tile_of_warp(const u32* in, u32* out) {
    SHARED u32 words[256];
    words[thread()] = in[index()];
    warp_barrier();
    out[index()] = words[thread() ^ 31];
}

// Whole warps, and then also threads of a warp, return before a barrier of the others.
KERNEL void return_before_barrier(const u32* in, u32* out, u64 n) {
    SHARED u32 words[256];
    if (index() >= n) return;
    words[thread()] = in[index()];
    barrier();
    u32 size = n - block() * 256 < 256 ? n - block() * 256 : 256;
    out[index()] = words[size - 1 - thread()];
}

// What the vendors' guides write instead: every thread reaches the barrier.
KERNEL void no_return_before_barrier(const u32* in, u32* out, u64 n) {
    SHARED u32 words[256];
    bool inside = index() < n;
    if (inside) words[thread()] = in[index()];
    barrier();
    u32 size = n - block() * 256 < 256 ? n - block() * 256 : 256;
    if (inside) out[index()] = words[size - 1 - thread()];
}
