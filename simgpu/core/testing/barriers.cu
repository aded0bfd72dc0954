// Barriers that some threads do not reach, for both vendors. A thread may return before a barrier.
// It must not go around one: CUDA's rule, which HIP takes over.
#define KERNEL extern "C" __attribute__((global)) void
typedef unsigned u32;

#ifdef __AMDGCN__
static __attribute__((device)) inline u32 thread() { return __builtin_amdgcn_workitem_id_x(); }
static __attribute__((device)) inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static __attribute__((device)) inline void add(u32* to, u32 n) {
    __hip_atomic_fetch_add(to, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
#else
static __attribute__((device)) inline u32 thread() { return __nvvm_read_ptx_sreg_tid_x(); }
static __attribute__((device)) inline void barrier() { __syncthreads(); }
static __attribute__((device)) inline void add(u32* to, u32 n) { __nvvm_atom_add_gen_i((int*)to, n); }
#endif

// Without a finding.

KERNEL no_thread_leaves(const u32* in, u32* out, u32 rounds) {
    if (rounds > 2) barrier();
    for (u32 i = 0; i < rounds; ++i) barrier();
    out[thread()] = in[thread()];
}

KERNEL part_of_a_wave_returns(const u32* in, u32* out, u32) {
    if (thread() % 2 == 1) return;
    barrier();
    out[thread()] = in[thread()];
}

KERNEL part_of_a_wave_works_and_returns(const u32* in, u32* out, u32) {
    if (thread() % 2 == 1) {
        add(out + 1000, in[thread()]);
        return;
    }
    barrier();
    out[thread()] = in[thread()];
    barrier();
    out[thread()] += 3;
}

KERNEL whole_waves_return(const u32* in, u32* out, u32) {
    if (thread() >= 128) return;
    barrier();
    out[thread()] = in[thread()];
}

KERNEL waves_return_in_the_middle(const u32* in, u32* out, u32) {
    if (thread() >= 75) return;
    barrier();
    out[thread()] = in[thread()];
    barrier();
    out[thread()] += 1;
}

KERNEL return_after_a_barrier(const u32* in, u32* out, u32) {
    barrier();
    if (thread() % 3 == 1) return;
    barrier();
    if (thread() % 3 == 2) return;
    barrier();
    out[thread()] = in[thread()];
}

KERNEL return_in_a_loop(const u32* in, u32* out, u32 rounds) {
    for (u32 i = 0; i < rounds; ++i) {
        if (thread() == 3 * i + 1) return;
        barrier();
    }
    out[thread()] = in[thread()];
}

KERNEL work_and_return_in_a_loop(const u32* in, u32* out, u32 rounds) {
    for (u32 i = 0; i < rounds; ++i) {
        if (thread() == 3 * i + 1) {
            add(out + 1000, i);
            return;
        }
        barrier();
    }
    out[thread()] = in[thread()];
}

KERNEL return_before_a_loop(const u32* in, u32* out, u32 rounds) {
    if (thread() % 2 == 1) return;
    u32 sum = 0;
    for (u32 i = 0; i < rounds; ++i) {
        sum += in[thread() + i];
        barrier();
    }
    out[thread()] = sum;
}

KERNEL return_instead_of_a_barrier(const u32* in, u32* out, u32) {
    if (thread() % 2 == 1) {
        barrier();
        out[thread()] = in[thread()];
    }
}

// With a finding.

KERNEL one_branch(const u32* in, u32* out, u32) {
    if (thread() % 2 == 1) barrier();
    out[thread()] = in[thread()];
}

KERNEL one_branch_and_a_later_barrier(const u32* in, u32* out, u32) {
    if (thread() % 2 == 1) barrier();
    barrier();
    if (thread() < 20) out[thread()] = in[thread()];
}

KERNEL both_branches(const u32* in, u32* out, u32) {
    if (thread() % 2 == 1) {
        add(out + 1000, 1);
        barrier();
        out[thread()] = in[thread()];
    } else {
        barrier();
        add(out + 1001, 5);
    }
}

KERNEL different_trip_counts(const u32* in, u32* out, u32) {
    for (u32 i = 0; i < in[thread()] % 4; ++i) barrier();
    out[thread()] = 1;
}

KERNEL one_branch_in_a_loop(const u32* in, u32* out, u32 rounds) {
    for (u32 i = 0; i < rounds; ++i) {
        if ((thread() + i) % 2 == 1) barrier();
        out[i * 256 + thread()] = in[thread()];
    }
}

KERNEL a_branch_after_a_return(const u32* in, u32* out, u32) {
    if (thread() % 4 == 0) return;
    if (thread() % 2 == 1) barrier();
    out[thread()] = in[thread()];
}
