// Kernels with one fault each, next to the same kernel without the fault. Every parameter has 8
// bytes.
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED static __attribute__((shared))
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
typedef unsigned u32;
typedef unsigned long long u64;

DEVICE u32 thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE u32 block() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE u32 index() { return block() * 256 + thread(); }
DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE u32 lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
DEVICE u32 shuffle_xor(u32 x, u32 mask) { return __builtin_amdgcn_ds_bpermute((lane() ^ mask) << 2, x); }

KERNEL void copy(const u32* in, u32* out, u64 n) {
    if (index() < n) out[index()] = in[index()];
}

KERNEL void store_past_the_end(const u32* in, u32* out, u64 n) {
    if (index() <= n) out[index()] = 7;
}

KERNEL void load_before_the_start(const u32* in, u32* out, u64 n) {
    if (index() < n) out[index()] = in[(long)index() - 1];
}

KERNEL void store_bytes(const u32* in, unsigned char* out, u64 n) {
    if (index() < n) out[index()] = (unsigned char)index();
}

template <bool BARRIERS> DEVICE void reduce(const u32* in, u32* out) {
    SHARED u32 partial[256];
    partial[thread()] = in[index()];
    barrier();
    for (u32 step = 128; step > 0; step >>= 1) {
        if (thread() < step) partial[thread()] += partial[thread() + step];
        if (BARRIERS) barrier();
    }
    if (thread() == 0) out[block()] = partial[0];
}

KERNEL void reduce_with_barriers(const u32* in, u32* out) { reduce<true>(in, out); }
KERNEL void reduce_without_barriers(const u32* in, u32* out) { reduce<false>(in, out); }

// Sums 256 values under the wrong assumption that waves are 32 wide.
KERNEL void waves_of_32(const u32* in, u32* out) {
    SHARED u32 partial[8];
    u32 x = in[index()];
    for (u32 mask = 16; mask > 0; mask >>= 1) x += shuffle_xor(x, mask);
    if (lane() == 0) partial[thread() / 32] = x;
    barrier();
    if (thread() == 0) {
        u32 sum = 0;
        for (u32 i = 0; i < 8; ++i) sum += partial[i];
        out[block()] = sum;
    }
}

KERNEL void every_block_writes_one_word(const u32* in, u32* out) {
    if (thread() == 0) out[0] = block();
}

KERNEL void lanes_of_one_store_disagree(const u32* in, u32* out) { out[thread() / 2] = thread(); }
KERNEL void lanes_of_one_store_agree(const u32* in, u32* out) { out[thread() / 2] = thread() / 2; }

KERNEL void unaligned_load(const u32* in, u32* out) {
    out[thread()] = *(const u32*)((const char*)in + 4 * thread() + 2);
}

KERNEL void unaligned_volatile_load(const u32* in, u32* out) {
    out[thread()] = *(const volatile u32*)((const char*)in + 4 * thread() + 2);
}

KERNEL void misaligned_atomic(u32* out) {
    __hip_atomic_fetch_add((u32*)((char*)out + 4 * thread() + 2), 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL void barrier_for_half(const u32* in, u32* out) {
    if (thread() % 2 == 0) __builtin_amdgcn_s_barrier();
    out[thread()] = in[thread()];
}

KERNEL void barrier_for_half_before_a_buffer(const u32* in, u32* out) {
    auto buffer = __builtin_amdgcn_make_buffer_rsrc(out, 0, 1024, 0x27000);
    if (thread() % 2 == 0) __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_raw_buffer_store_b32(thread(), buffer, 4 * thread(), 0, 0);
}

template <bool ATOMIC> DEVICE void last_block(const u32* in, u32* out, u32* count) {
    SHARED u32 last;
    if (thread() < 64) out[block() * 64 + thread()] = in[block() * 64 + thread()];
    barrier();
    if (thread() == 0) {
        u32 before;
        if (ATOMIC) before = __hip_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        else before = block();
        last = before == 3;
    }
    barrier();
    if (last && thread() < 64) {
        u32 sum = 0;
        for (u32 b = 0; b < 4; ++b) sum += out[b * 64 + thread()];
        out[256 + thread()] = sum;
    }
}

// Four blocks; the block that finishes last sums the results of all.
KERNEL void last_block_by_atomic(const u32* in, u32* out, u32* count) { last_block<true>(in, out, count); }
KERNEL void last_block_by_number(const u32* in, u32* out, u32* count) { last_block<false>(in, out, count); }

// Loads of three words that are made as one of four, as compilers make them where the alignment
// shows that the fourth word cannot fault. With `first` 4 it lies past the end of seven words.
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
KERNEL void three_words_as_four(const u32* in, u32* out, u64 first) {
    u32x4 words = *(const u32x4*)(in + first + 4 * thread());
    for (u32 i = 0; i < 4; ++i) out[4 * thread() + i] = words[i];
}

KERNEL void three_shared_words_as_four(const u32* in, u32* out, u64 first) {
    SHARED __attribute__((aligned(16))) u32 seven[7];
    if (thread() < 7) seven[thread()] = in[thread()];
    barrier();
    u32x4 words = *(const u32x4*)(seven + first);
    for (u32 i = 0; i < 4 && thread() == 0; ++i) out[i] = words[i];
}

// Stores four words where `out` has room for three.
KERNEL void store_four_words(const u32* in, u32* out, u64 first) {
    u32x4 words = {in[0], in[1], in[2], in[3]};
    *(u32x4*)(out + first + 4 * thread()) = words;
}
