// Prefix sums: of a block in shared memory, of a block by shuffles, and of a grid in one pass.
#include "shim.h"

// Blocks of 256 by doubling the distance, with two rows of shared memory.
KERNEL void scan_block(const u32* in, u32* out) {
    SHARED u32 row[2][256];
    u32 from = 0;
    row[0][thread()] = in[index()];
    for (u32 step = 1; step < 256; step *= 2) {
        barrier();
        u32 x = row[from][thread()];
        if (thread() >= step) x += row[from][thread() - step];
        from ^= 1;
        row[from][thread()] = x;
    }
    out[index()] = row[from][thread()];
}

DEVICE u32 scan_of_warp(u32 x) {
    for (u32 step = 1; step < WARP; step *= 2) {
        u32 y = shuffle(x, lane() >= step ? lane() - step : lane());
        if (lane() >= step) x += y;
    }
    return x;
}

DEVICE u32 scan_of_block(u32 x) {
    SHARED u32 sums[256 / WARP];
    x = scan_of_warp(x);
    if (lane() == WARP - 1) sums[warp()] = x;
    barrier();
    if (warp() == 0) {
        u32 sum = scan_of_warp(lane() < 256 / WARP ? sums[lane()] : 0);
        if (lane() < 256 / WARP) sums[lane()] = sum;
    }
    barrier();
    return warp() == 0 ? x : x + sums[warp() - 1];
}

KERNEL void scan_shuffles(const u32* in, u32* out) { out[index()] = scan_of_block(in[index()]); }

// A work-efficient tree: up, then down.
KERNEL void scan_tree(const u32* in, u32* out) {
    SHARED u32 tree[256];
    tree[thread()] = in[index()];
    barrier();
    for (u32 step = 1; step < 256; step *= 2) {
        u32 i = (thread() + 1) * 2 * step - 1;
        if (i < 256) tree[i] += tree[i - step];
        barrier();
    }
    for (u32 step = 64; step > 0; step /= 2) {
        u32 i = (thread() + 1) * 2 * step - 1 + step;
        if (i < 256) tree[i] += tree[i - step];
        barrier();
    }
    out[index()] = tree[thread()];
}

// What a tile has published: nothing yet, the sum of itself, the sum of all up to it.
enum { NOTHING, OWN, ALL };

// Decoupled look-back. A tile's number comes from a ticket, so that it waits for running ones only.
KERNEL void scan_look_back(const u32* in, u32* out, u64* states, u32* ticket) {
    SHARED u32 tile, before;
    if (thread() == 0) tile = atomic_add(ticket, 1);
    barrier();
    u32 at = tile * 256 + thread();
    u32 sum = scan_of_block(in[at]);
    if (thread() == 255) {
        release_gpu(&states[tile], (u64)sum << 32 | (tile == 0 ? ALL : OWN));
        u32 earlier = 0;
        for (u32 i = tile; i > 0;) {
            u64 state = acquire_gpu(&states[i - 1]);
            if ((u32)state == NOTHING) continue;
            earlier += (u32)(state >> 32);
            if ((u32)state == ALL) break;
            i--;
        }
        if (tile > 0) release_gpu(&states[tile], (u64)(earlier + sum) << 32 | ALL);
        before = earlier;
    }
    barrier();
    out[at] = sum + before;
}

// The same, with the sum in a word of its own behind a flag and fences.
KERNEL void scan_look_back_with_fences(const u32* in, u32* out, u32* sums, u32* flags, u32* ticket) {
    SHARED u32 tile, before;
    if (thread() == 0) tile = atomic_add(ticket, 1);
    barrier();
    u32 at = tile * 256 + thread();
    u32 sum = scan_of_block(in[at]);
    if (thread() == 255) {
        u32 earlier = 0;
        if (tile > 0) {
            while (relaxed(&flags[tile - 1]) == 0) {}
            fence();
            earlier = sums[tile - 1];
        }
        sums[tile] = earlier + sum;
        fence();
        relaxed(&flags[tile], 1);
        before = earlier;
    }
    barrier();
    out[at] = sum + before;
}
