// Reductions and votes of warps, and the last block that finishes the work of all.
#include "shim.h"

DEVICE u32 sum_of_warp(u32 x) {
    for (u32 step = WARP / 2; step > 0; step /= 2) x += shuffle(x, lane() ^ step);
    return x;
}

DEVICE u32 sum_of_block(u32 x) {
    SHARED u32 sums[256 / WARP];
    x = sum_of_warp(x);
    if (lane() == 0) sums[warp()] = x;
    barrier();
    return sum_of_warp(lane() < 256 / WARP ? sums[lane()] : 0);
}

KERNEL void reduce_shuffles(const u32* in, u32* out, u64 n) {
    u32 sum = 0;
    for (u32 i = index(); i < n; i += blocks() * threads()) sum += in[i];
    sum = sum_of_block(sum);
    if (thread() == 0) atomic_add(out, sum);
}

// In shared memory, and without barriers once a warp is left.
KERNEL void reduce_shared(const u32* in, u32* out) {
    SHARED u32 part[256];
    part[thread()] = in[index()];
    barrier();
    for (u32 step = 128; step >= WARP; step /= 2) {
        if (thread() < step) part[thread()] += part[thread() + step];
        barrier();
    }
    if (thread() < WARP) {
        for (u32 step = WARP / 2; step > 0; step /= 2) {
            u32 x = part[lane()] + part[lane() + step];
            warp_barrier();
            part[lane()] = x;
            warp_barrier();
        }
    }
    if (thread() == 0) out[block()] = part[0];
}

// Keeps the odd numbers: each warp counts its own by a vote and takes room for them at once.
KERNEL void compact_by_ballot(const u32* in, u32* out, u32* count, u64 n) {
    u32 i = index();
    bool keep = i < n && in[i] % 2 == 1;
    u64 votes = ballot(keep);
    u32 room = 0;
    if (lane() == 0 && votes != 0) room = atomic_add(count, (u32)__builtin_popcountll(votes));
    room = shuffle(room, 0);
    if (keep) out[room + __builtin_popcountll(votes & ((1ull << lane()) - 1))] = in[i];
}

// Whether all, and whether any thread of the first half of a block has a number above a limit.
KERNEL void votes(const u32* in, u32* out, u64 limit) {
    SHARED u32 all, any;
    if (thread() == 0) all = 1, any = 0;
    barrier();
    u64 above = ballot(in[index()] > limit);
    if (lane() == 0) {
        if (above != (WARP == 64 ? ~0ull : (1ull << WARP) - 1)) atomic_and(&all, 0);
        if (above != 0) atomic_or(&any, 1);
    }
    barrier();
    if (thread() == 0) out[block()] = all + 2 * any;
}

// The block that draws the last ticket adds the sums of all. It sees them through the fences.
KERNEL void last_block(const u32* in, u32* sums, u32* ticket, u32* out, u64 n) {
    SHARED bool last;
    u32 i = index();
    u32 sum = sum_of_block(i < n ? in[i] : 0);
    if (thread() == 0) {
        sums[block()] = sum;
        fence();
        last = atomic_add(ticket, 1) == blocks() - 1;
    }
    barrier();
    if (!last) return;
    fence();
    sum = 0;
    for (u32 b = thread(); b < blocks(); b += threads()) sum += sums[b];
    sum = sum_of_block(sum);
    if (thread() == 0) {
        *out = sum;
        *ticket = 0;
    }
}
