// Kernels whose accesses are ordered although they do not look so, next to kernels with a race.
// Every parameter has 8 bytes.
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED static __attribute__((shared))
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
#define RELAXED __ATOMIC_RELAXED
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define SYSTEM __HIP_MEMORY_SCOPE_SYSTEM
#define WORKGROUP __HIP_MEMORY_SCOPE_WORKGROUP
typedef unsigned short u16;
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

// Atomics that the target does not have, which the compiler makes of compare-and-swaps. Every
// thread adds 1 to the cell of its remainder.
template <class T> DEVICE void add(T* cells, u64 n) {
    __hip_atomic_fetch_add(cells + thread() % n, T(1), RELAXED, AGENT);
}
KERNEL void add_f16(_Float16* cells, u64 n) { add(cells, n); }
KERNEL void add_f32(float* cells, u64 n) { add(cells, n); }
KERNEL void add_f64(double* cells, u64 n) { add(cells, n); }
KERNEL void add_u8(unsigned char* cells, u64 n) { add(cells, n); }
KERNEL void add_u16(u16* cells, u64 n) { add(cells, n); }
KERNEL __attribute__((optnone)) void add_f64_unoptimised(double* cells, u64 n) { add(cells, n); }
KERNEL void sub_f32(float* cells, u64 n) { __hip_atomic_fetch_sub(cells + thread() % n, 1.0f, RELAXED, AGENT); }
// The address space of the cells is not known.
KERNEL void sub_f64(double** cells, u64 n) { __hip_atomic_fetch_sub(*cells + thread() % n, 1.0, RELAXED, SYSTEM); }

template <class T> DEVICE void in_group_memory(T* out, u64 n) {
    SHARED T cells[4];
    if (thread() < n) cells[thread()] = 0;
    barrier();
    __hip_atomic_fetch_sub(cells + thread() % n, T(1), RELAXED, WORKGROUP);
    barrier();
    if (thread() < n) out[block() * n + thread()] = cells[thread()];
}
KERNEL void shared_f16(_Float16* out, u64 n) { in_group_memory(out, n); }
KERNEL void shared_f32(float* out, u64 n) { in_group_memory(out, n); }
KERNEL void shared_f64(double* out, u64 n) { in_group_memory(out, n); }

// The loop in the source. The program's own first load is a plain one.
DEVICE void add_by_swaps(double* cell, double value) {
    u64* bits = (u64*)cell;
    u64 old = *bits, assumed;
    do {
        assumed = old;
        u64 sum = __builtin_bit_cast(u64, __builtin_bit_cast(double, assumed) + value);
        __hip_atomic_compare_exchange_strong(bits, &old, sum, RELAXED, RELAXED, AGENT);
    } while (old != assumed);
}
KERNEL void guide_f64(double* cells, u64 n) { add_by_swaps(cells + thread() % n, 1); }
KERNEL __attribute__((optnone)) void guide_unoptimised(double* cells, u64 n) { add_by_swaps(cells + thread() % n, 1); }

// A maximum, which leaves its loop before the first swap if the value is not larger.
KERNEL void largest(float* cells, u64 n) {
    u32* bits = (u32*)(cells + thread() % n);
    float value = (float)(index() * 37 % 1024);
    u32 old = *bits;
    while (__builtin_bit_cast(float, old) < value) {
        u32 assumed = old;
        __hip_atomic_compare_exchange_strong(bits, &old, __builtin_bit_cast(u32, value), RELAXED, RELAXED, AGENT);
        if (old == assumed) break;
    }
}

// A sparse product: many groups add to each row.
KERNEL void rows(const float* values, const u32* row, float* out) {
    float value = values[index()];
    __hip_atomic_fetch_add(out + row[index()], value, RELAXED, AGENT);
}

// Every thread adds and then reads the sum, which the others still change.
KERNEL void add_and_read(double* sum, double* out) {
    add_by_swaps(sum, 1);
    out[index()] = *sum;
}
// As before, with an atomic that the target has.
KERNEL void count_and_read(u32* count, u32* out) {
    __hip_atomic_fetch_add(count, 1, RELAXED, AGENT);
    out[index()] = *count;
}
// A thread of the last wave resets what the waves before it add to, without a barrier.
KERNEL void reset_and_add(double* sum, u64 n) {
    if (index() == 255) *sum = 0;
    add(sum, n);
}

// The first group writes data and sets a flag, for which the others wait.
#define FLAG(NAME, STORE, LOAD, BEFORE, AFTER) \
    KERNEL void NAME(u32* data, u32* flag, u32* out) { \
        if (block() == 0) { \
            data[thread()] = thread() + 7; \
            barrier(); \
            BEFORE; \
            if (thread() == 0) STORE; \
        } else { \
            while (LOAD == 0) {} \
            AFTER; \
            out[index()] = data[thread()]; \
        } \
    }
#define SET(ORDER, SCOPE) __hip_atomic_store(flag, 1, ORDER, SCOPE)
#define GET(ORDER, SCOPE) __hip_atomic_load(flag, ORDER, SCOPE)
#define FENCE(ORDER, SCOPE) __builtin_amdgcn_fence(ORDER, SCOPE)
FLAG(flag_agent, SET(__ATOMIC_RELEASE, AGENT), GET(__ATOMIC_ACQUIRE, AGENT), , )
FLAG(flag_system, SET(__ATOMIC_RELEASE, SYSTEM), GET(__ATOMIC_ACQUIRE, SYSTEM), , )
FLAG(flag_sequential, SET(__ATOMIC_SEQ_CST, AGENT), GET(__ATOMIC_SEQ_CST, AGENT), , )
FLAG(flag_fences, SET(RELAXED, AGENT), GET(RELAXED, AGENT), FENCE(__ATOMIC_RELEASE, "agent"),
     FENCE(__ATOMIC_ACQUIRE, "agent"))
FLAG(flag_volatile, *(volatile u32*)flag = 1, *(volatile u32*)flag, FENCE(__ATOMIC_SEQ_CST, "agent"),
     FENCE(__ATOMIC_SEQ_CST, "agent"))
// Nobody waits for it.
FLAG(flag_ignored, SET(__ATOMIC_RELEASE, AGENT), 1, , )

// A flag of each wave's own data, without a barrier.
KERNEL void flag_of_a_wave(u32* data, u32* flag, u32* out) {
    if (block() == 0) {
        if (thread() == 0) {
            *data = 5;
            SET(__ATOMIC_RELEASE, AGENT);
        }
    } else {
        while (GET(__ATOMIC_ACQUIRE, AGENT) == 0) {}
        out[index()] = *data;
    }
}

// The flag is set, and the data written after it.
KERNEL void flag_too_early(u32* data, u32* flag, u32* out) {
    if (block() == 0) {
        if (thread() == 0) SET(__ATOMIC_RELEASE, AGENT);
        barrier();
        data[thread()] = thread() + 7;
    } else {
        while (GET(__ATOMIC_ACQUIRE, AGENT) == 0) {}
        out[index()] = data[thread()];
    }
}

// Waves of one group: the first wait for the last.
template <bool WAITS> DEVICE void in_group(u32* data, u32* flag, u32* out) {
    if (thread() >= 64) {
        if (thread() == 192) {
            *data = 5;
            SET(__ATOMIC_RELEASE, WORKGROUP);
        }
    } else {
        if (WAITS) while (GET(__ATOMIC_ACQUIRE, WORKGROUP) == 0) {}
        out[index()] = *data;
    }
}
KERNEL void flag_in_group(u32* data, u32* flag, u32* out) { in_group<true>(data + block(), flag + block(), out); }
KERNEL void flag_in_group_ignored(u32* data, u32* flag, u32* out) {
    in_group<false>(data + block(), flag + block(), out);
}
template <bool WAITS> DEVICE void in_shared(u32* out) {
    SHARED u32 words[2];
    if (thread() < 2) words[thread()] = 0;
    barrier();
    in_group<WAITS>(words, words + 1, out);
}
KERNEL void flag_in_shared(u32* data, u32* flag, u32* out) { in_shared<true>(out); }
KERNEL void flag_in_shared_ignored(u32* data, u32* flag, u32* out) { in_shared<false>(out); }

// The waves wait for the first one, with a loop whose first iteration the compiler peels off:
// its load is then in front of the loop.
template <bool ATOMIC> DEVICE void first_apart(u32* cell, u32* other, u32* out) {
    if (thread() >= 64) {
        u32 value = ATOMIC ? __hip_atomic_load(cell, RELAXED, WORKGROUP) : *cell;
        // Something else happens in front of the loop, so the load does not belong to it.
        if (!ATOMIC) *other = value;
        while (value == 0) value = __hip_atomic_load(cell, RELAXED, WORKGROUP);
        out[index()] = value;
    } else {
        __hip_atomic_fetch_or(cell, 3, RELAXED, WORKGROUP);
    }
}
KERNEL void first_apart_atomic(u32* out, u32** cells, u32* others) {
    first_apart<true>(cells[block() * 64 + thread() % 64], others + index(), out);
}
KERNEL void first_apart_plain(u32* out, u32** cells, u32* others) {
    first_apart<false>(cells[block() * 64 + thread() % 64], others + index(), out);
}
template <bool ATOMIC> DEVICE void first_apart_in_shared(u32* out) {
    SHARED u32 cells[320];
    if (thread() < 64) cells[thread()] = 0;
    barrier();
    first_apart<ATOMIC>(cells + thread() % 64, cells + 64 + thread(), out);
}
KERNEL void first_apart_atomic_in_shared(u32* out) { first_apart_in_shared<true>(out); }
KERNEL void first_apart_plain_in_shared(u32* out) { first_apart_in_shared<false>(out); }

// Each thread appends to one of four lists. The groups have counts of their own, but share the
// lists, unless `SHARED_COUNTS`.
template <bool SHARED_COUNTS> DEVICE void append_to(u32* counts, u32* out) {
    u32 list = thread() % 4;
    u32* count = counts + (SHARED_COUNTS ? 0 : 4 * block()) + list;
    out[1024 * list + __hip_atomic_fetch_add(count, 1, RELAXED, AGENT)] = index();
}
KERNEL void append(u32* counts, u32* out) { append_to<true>(counts, out); }
KERNEL void append_twice(u32* counts, u32* out) { append_to<false>(counts, out); }

// Each group waits for the one before, and adds to what it left.
KERNEL void chain(u32* data, u32* flag, u32* out) {
    if (thread() != 0) return;
    while (GET(__ATOMIC_ACQUIRE, AGENT) != block()) {}
    out[block()] = *data;
    *data += block() + 1;
    __hip_atomic_store(flag, block() + 1, __ATOMIC_RELEASE, AGENT);
}

// A lock that is taken by a compare-and-swap and released by a store.
template <bool LOCKED> DEVICE void count_alone(u32* count, u32* flag) {
    if (thread() % 64 != 0) return;
    if (LOCKED) {
        u32 open = 0;
        while (!__hip_atomic_compare_exchange_strong(flag, &open, 1, __ATOMIC_ACQUIRE, RELAXED, AGENT)) open = 0;
    }
    *count += 1;
    if (LOCKED) __hip_atomic_store(flag, 0, __ATOMIC_RELEASE, AGENT);
}
KERNEL void locked(u32* count, u32* flag) { count_alone<true>(count, flag); }
KERNEL void not_locked(u32* count, u32* flag) { count_alone<false>(count, flag); }
template <bool LOCKED> DEVICE void count_in_shared(u32* out) {
    SHARED u32 words[2];
    if (thread() < 2) words[thread()] = 0;
    barrier();
    count_alone<LOCKED>(words, words + 1);
    barrier();
    if (thread() == 0) out[block()] = words[0];
}
KERNEL void locked_in_shared(u32* out, u32* flag) { count_in_shared<true>(out); }
KERNEL void not_locked_in_shared(u32* out, u32* flag) { count_in_shared<false>(out); }
// One thread takes and releases the lock for its group.
KERNEL void locked_by_groups(u32* data, u32* flag) {
    if (thread() == 0) {
        u32 open = 0;
        while (!__hip_atomic_compare_exchange_strong(flag, &open, 1, __ATOMIC_ACQUIRE, RELAXED, AGENT)) open = 0;
    }
    barrier();
    data[thread()] += 1;
    barrier();
    if (thread() == 0) __hip_atomic_store(flag, 0, __ATOMIC_RELEASE, AGENT);
}
