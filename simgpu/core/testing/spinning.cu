// Threads that wait for threads of other blocks, for both vendors.
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static __attribute__((device)) inline
typedef unsigned u32;
typedef unsigned long long u64;

#ifdef __AMDGCN__
DEVICE u32 thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE u32 block() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE u32 add(u32* to, u32 n) { return __hip_atomic_fetch_add(to, n, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT); }
DEVICE u32 exchange(u32* to, u32 n) { return __hip_atomic_exchange(to, n, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT); }
DEVICE u32 swap_if(u32* to, u32 old, u32 n) {
    __hip_atomic_compare_exchange_strong(to, &old, n, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);
    return old;
}
DEVICE void sleep() { __builtin_amdgcn_s_sleep(1); }
DEVICE u64 now() { return __builtin_readcyclecounter(); }
#else
DEVICE u32 thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE void barrier() { __syncthreads(); }
DEVICE u32 add(u32* to, u32 n) { return __nvvm_atom_add_gen_i((int*)to, n); }
DEVICE u32 exchange(u32* to, u32 n) { return __nvvm_atom_xchg_gen_i((int*)to, n); }
DEVICE u32 swap_if(u32* to, u32 old, u32 n) { return __nvvm_atom_cas_gen_i((int*)to, old, n); }
DEVICE void sleep() { asm volatile("nanosleep.u32 100;"); }
DEVICE u64 now() { return __nvvm_read_ptx_sreg_clock64(); }
#endif

// An atomic that changes nothing.
DEVICE u32 read(u32* from) { return swap_if(from, ~0u, ~0u); }
DEVICE u32 read_volatile(u32* from) { return *(volatile u32*)from; }

// Every block waits for the last one. The words begin with zeros; word 1 counts the blocks.
KERNEL for_the_last(u32* words, u32 blocks) {
    if (block() == blocks - 1) {
        if (thread() == 0) exchange(words, 7);
    } else {
        while (read(words) != 7) {}
    }
    if (thread() == 0) add(words + 1, 1);
}

KERNEL for_the_last_volatile(u32* words, u32 blocks) {
    if (block() == blocks - 1) {
        if (thread() == 0) *(volatile u32*)words = 7;
    } else {
        while (read_volatile(words) != 7) {}
    }
    if (thread() == 0) add(words + 1, 1);
}

KERNEL for_the_last_asleep(u32* words, u32 blocks) {
    if (block() == blocks - 1) {
        if (thread() == 0) exchange(words, 7);
    } else {
        while (read(words) != 7) sleep();
    }
    if (thread() == 0) add(words + 1, 1);
}

// One thread waits, and the rest of its block at a barrier.
KERNEL for_the_last_at_a_barrier(u32* words, u32 blocks) {
    if (thread() == 0) {
        if (block() == blocks - 1) exchange(words, 7);
        else while (read(words) != 7) {}
    }
    barrier();
    if (thread() == 0) add(words + 1, 1);
}

KERNEL ring_up(u32* words, u32 blocks) {
    if (thread() != 0) return;
    while (read(words) != block()) {}
    add(words + 1, 1);
    exchange(words, block() + 1);
}

KERNEL ring_down(u32* words, u32 blocks) {
    if (thread() != 0) return;
    u32 mine = blocks - 1 - block();
    while (read(words) != mine) {}
    add(words + 1, 1);
    exchange(words, mine + 1);
}

// A scan in one pass. Every block publishes its sum (status 1) and then its inclusive prefix
// (status 2), in the low bits of words 16 + block; it looks back at the blocks before it. Its
// number comes from a counter or is its index.
template <bool COUNTED> DEVICE void scan(u32* words) {
    if (thread() != 0) return;
    u32 me = COUNTED ? add(words + 2, 1) : block();
    u32 mine = me * me + 1;
    u32* state = words + 16;
    exchange(state + me, mine << 2 | 1);
    u32 before = 0;
    for (u32 at = me; at-- > 0;) {
        u32 seen;
        do seen = read(state + at);
        while ((seen & 3) == 0);
        before += seen >> 2;
        if ((seen & 3) == 2) break;
    }
    exchange(state + me, (before + mine) << 2 | 2);
    add(words + 1, 1);
}

KERNEL scan_in_one_pass(u32* words, u32) { scan<true>(words); }
KERNEL scan_in_one_pass_by_index(u32* words, u32) { scan<false>(words); }

// All blocks meet three times. Words 16 + round count the blocks of a round.
KERNEL meet(u32* words, u32 blocks) {
    for (u32 round = 0; round < 3; ++round) {
        barrier();
        if (thread() == 0) {
            add(words + 16 + round, 1);
            while (read(words + 16 + round) != blocks) {}
        }
        barrier();
    }
    if (thread() == 0) add(words + 1, 1);
}

// Waits that end by themselves: after a number of tries, or by the clock.
KERNEL tries(u32* words, u32) {
    for (u32 left = 20000; left != 0 && read(words) == 0; --left) {}
    if (thread() == 0) add(words + 1, 1);
}

KERNEL until(u32* words, u32) {
    u64 end = now() + 10000;
    while (read(words) == 0 && now() < end) {}
    if (thread() == 0) add(words + 1, 1);
}

// Deadlocks.

KERNEL never_set(u32* words, u32) {
    if (block() == 1) while (read(words) == 0) {}
    if (thread() == 0) add(words + 1, 1);
}

KERNEL never_set_volatile(u32* words, u32) {
    if (block() == 1) while (read_volatile(words) == 0) {}
    if (thread() == 0) add(words + 1, 1);
}

KERNEL for_each_other(u32* words, u32) {
    u32 other = 1 - block();
    while (read(words + other) == 0) {}
    exchange(words + block(), 1);
}

KERNEL never_unlocked(u32* words, u32) {
    if (thread() != 0) return;
    while (swap_if(words, 0, 1) != 0) {}
    add(words + 1, 1);
}

// All threads of a wave wait for the lock, which one of them holds.
KERNEL never_unlocked_by_a_neighbour(u32* words, u32) {
    while (swap_if(words, 0, 1) != 0) {}
    barrier();
    exchange(words, 0);
}

// The threads of a block poll together.
KERNEL never_set_at_a_barrier(u32* words, u32) {
    static __attribute__((shared)) u32 seen;
    do {
        barrier();
        if (thread() == 0) seen = read(words);
        barrier();
    } while (seen == 0);
}
