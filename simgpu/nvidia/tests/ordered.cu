// Compare-and-swap loops that begin with a plain load, next to kernels with a race. Every parameter
// has 8 bytes.
#define KERNEL extern "C" __attribute__((global)) __attribute__((launch_bounds(256)))
#define SHARED static __attribute__((shared))
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
#define RELAXED __ATOMIC_RELAXED
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;

DEVICE u32 thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 index() { return block() * 256 + thread(); }

// Atomics that the target does not have, which the compiler makes of compare-and-swaps.
KERNEL void sub_f32(float* cells, u64 n) { __atomic_fetch_sub(cells + thread() % n, 1.0f, RELAXED); }
KERNEL void sub_f64(double* cells, u64 n) { __atomic_fetch_sub(cells + thread() % n, 1.0, RELAXED); }
KERNEL void max_f32(float* cells, u64 n) {
    __atomic_fetch_max(cells + thread() % n, (float)(index() * 37 % 1024), RELAXED);
}
KERNEL void add_u16(u16* cells, u64 n) { __atomic_fetch_add(cells + thread() % n, (u16)1, RELAXED); }
KERNEL void add_u8(unsigned char* cells, u64 n) { __atomic_fetch_add(cells + thread() % n, (unsigned char)1, RELAXED); }

KERNEL void shared_f64(double* out, u64 n) {
    SHARED double cells[4];
    if (thread() < n) cells[thread()] = 0;
    __syncthreads();
    __atomic_fetch_sub(cells + thread() % n, 1.0, RELAXED);
    __syncthreads();
    if (thread() < n) out[block() * n + thread()] = cells[thread()];
}

// The loop in the source. The program's own first load is a plain one.
DEVICE void add_by_swaps(double* cell, double value) {
    u64* bits = (u64*)cell;
    u64 old = *bits, assumed;
    do {
        assumed = old;
        u64 sum = __builtin_bit_cast(u64, __builtin_bit_cast(double, assumed) + value);
        old = __nvvm_atom_cas_gen_ll((long long*)bits, assumed, sum);
    } while (assumed != old);
}
KERNEL void guide_f64(double* cells, u64 n) { add_by_swaps(cells + thread() % n, 1); }
static __attribute__((device, noinline, optnone)) long long swapped(long long* bits, long long old, long long next) {
    return __nvvm_atom_cas_gen_ll(bits, old, next);
}
KERNEL __attribute__((optnone)) void guide_unoptimised(double* cells, u64 n) {
    long long* bits = (long long*)(cells + thread() % n);
    long long old = *bits, assumed;
    do {
        assumed = old;
        old = swapped(bits, assumed, __builtin_bit_cast(long long, __builtin_bit_cast(double, assumed) + 1));
    } while (assumed != old);
}

// The same in a function with a frame of its own.
static __attribute__((device, noinline, optnone)) void add_in_frame(long long* bits, u64 depth) {
    if (depth != 0) {
        add_in_frame(bits, depth - 1);
        return;
    }
    long long old = *bits, assumed;
    do {
        assumed = old;
        old = swapped(bits, assumed, __builtin_bit_cast(long long, __builtin_bit_cast(double, assumed) + 1));
    } while (assumed != old);
}
KERNEL void guide_recursive(double* cells, u64 n) { add_in_frame((long long*)(cells + thread() % n), thread() % 2); }

// The addition of a half by swaps of the word that contains it.
KERNEL void add_f16(_Float16* cells, u64 n) {
    u64 at = (u64)(cells + thread() % n);
    u32* word = (u32*)(at & ~3ull);
    u32 shift = (at & 2) * 8, old = *word, assumed;
    do {
        assumed = old;
        _Float16 sum = __builtin_bit_cast(_Float16, (u16)(assumed >> shift)) + (_Float16)1;
        u32 next = assumed & ~(0xffffu << shift) | (u32)__builtin_bit_cast(u16, sum) << shift;
        old = __nvvm_atom_cas_gen_i((int*)word, assumed, next);
    } while (assumed != old);
}

// A maximum, which leaves its loop before the first swap if the value is not larger.
KERNEL void largest(float* cells, u64 n) {
    int* bits = (int*)(cells + thread() % n);
    float value = (float)(index() * 37 % 1024);
    int old = *bits;
    while (__builtin_bit_cast(float, old) < value) {
        int assumed = old;
        old = __nvvm_atom_cas_gen_i(bits, assumed, __builtin_bit_cast(int, value));
        if (old == assumed) break;
    }
}

// Every thread adds and then reads the sum, which the others still change.
KERNEL void add_and_read(double* sum, double* out) {
    add_by_swaps(sum, 1);
    out[index()] = *sum;
}
// As before, with an atomic that the target has.
KERNEL void count_and_read(u32* count, u32* out) {
    __nvvm_atom_add_gen_i((int*)count, 1);
    out[index()] = *count;
}
// A thread of the last warp resets what the warps before it add to, without a barrier.
KERNEL void reset_and_add(double* sum, u64 n) {
    if (index() == 255) *sum = 0;
    add_by_swaps(sum + thread() % n, 1);
}
