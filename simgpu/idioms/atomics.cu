// Atomic operations: integers, floating-point numbers, and the loops of compare-and-swap that the
// vendors' guides give for what has no instruction.
#include "shim.h"

KERNEL void atomic_integers(const u32* in, u32* out, u64 n) {
    u32 i = index();
    if (i >= n) return;
    atomic_add(&out[0], in[i]);
    atomic_min(&out[1], in[i]);
    atomic_max(&out[2], in[i]);
    atomic_and(&out[3], in[i]);
    atomic_or(&out[4], in[i]);
    atomic_xor(&out[5], in[i]);
    atomic_min((int*)&out[6], (int)in[i]);
    atomic_max((int*)&out[7], (int)in[i]);
    atomic_add((u64*)&out[8], (u64)in[i] << 20);
}

// A histogram in shared memory, which is then added to the one of the grid.
KERNEL void atomic_histogram(const u32* in, u32* out, u64 n) {
    SHARED u32 bins[64];
    if (thread() < 64) bins[thread()] = 0;
    barrier();
    for (u32 i = index(); i < n; i += blocks() * threads()) atomic_add(&bins[in[i] % 64], 1);
    barrier();
    if (thread() < 64) atomic_add(&out[thread()], bins[thread()]);
}

KERNEL void atomic_floats(const u32* in, float* single, double* twice, u64 n) {
    SHARED float sum;
    if (thread() == 0) sum = 0;
    barrier();
    u32 i = index();
    if (i < n) {
        atomic_add(&sum, (float)(in[i] % 16));
        atomic_add(&twice[i % 4], (double)(in[i] % 16));
    }
    barrier();
    if (thread() == 0) atomic_add(single, sum);
}

// The loop of CUDA's programming guide. Its first read is not atomic.
KERNEL void atomic_double_by_swap(const u32* in, double* out, u64 n) {
    u32 i = index();
    if (i >= n) return;
    u64* address = (u64*)out;
    u64 old = *address, assumed;
    do {
        assumed = old;
        old = atomic_swap(address, assumed, bits<u64>(bits<double>(assumed) + (double)(in[i] % 16)));
    } while (assumed != old);
}

// Halves have no compare-and-swap of their own: the loop replaces the word around one.
KERNEL void atomic_half_by_swap(const u32* in, half* out, u64 n) {
    u32 i = index();
    if (i >= n) return;
    u32 which = i % 2;
    u32* word = (u32*)out;
    u32 old = *word, assumed;
    do {
        assumed = old;
        half sum = bits<half>((unsigned short)(assumed >> 16 * which)) + (half)(in[i] % 2);
        u32 rest = assumed & (which ? 0xffffu : 0xffff0000u);
        old = atomic_swap(word, assumed, rest | (u32)bits<unsigned short>(sum) << 16 * which);
    } while (assumed != old);
}

// The maximum of floats, whose order is that of integers, or the reverse of it if they are
// negative.
KERNEL void atomic_float_maximum(const u32* in, float* out, u64 n) {
    u32 i = index();
    if (i >= n) return;
    float x = (float)(int)in[i] / 3;
    if (x >= 0) atomic_max((int*)out, bits<int>(x));
    else atomic_min((u32*)out, bits<u32>(x));
}

// A lock: one thread of each block changes words that are not atomic.
KERNEL void atomic_lock(u32* lock, u32* words, u64 n) {
    if (thread() != 0) return;
    while (atomic_swap(lock, 0u, 1u) != 0) {}
    fence();
    for (u32 i = 0; i < n; i++) words[i] += i + block();
    fence();
    atomic_exchange(lock, 0);
}
