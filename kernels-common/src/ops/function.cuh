// The loops of functions of one argument: by a table for 8-bit floats, with loads ahead for recipes
// of f32, and as elementwise.cuh has them for the others. A function of two arguments is one of one
// argument if the other is a scalar.
//
// A function of 8-bit floats has 256 results: each thread of a block computes one, and the block
// then looks its elements up, in six instructions each. Computed for each element, functions of
// f8e4m3 took up to 3.4 times as long as moving the elements on an H100, and their kernels were
// longer.
//
// A table of bytes is 64 words, two in each bank of shared memory, so a warp's look-up takes two
// cycles at most. A table with a word for each result would have eight in each bank.
#pragma once

#include "device_lib/elementwise.cuh"

namespace isobit {

template <typename T>
constexpr bool has_table = is_float<T> && sizeof(T) == 1;

ISOBIT_CONST int TABLE_ELEMENTS = 256;
static_assert(TABLE_ELEMENTS == ELEMENTWISE_BLOCK, "one result per thread");

template <typename T>
struct Table {
    const u8 *results;
    ISOBIT_METHOD T operator()(T x) const { return T{results[x.bits]}; }
};

// All threads of the block must call it.
template <typename T, typename F>
ISOBIT_FN Table<T> tabulate(const F &f, u8 *results) {
    results[thread_x()] = f(T{(u8)thread_x()}).bits;
    barrier();
    return {results};
}

// A recipe of f32 takes about as long as moving its elements, so a kernel that does both by turns
// waits for each. Some of these took 5 to 20 % longer than moving their elements on an H100.
template <typename T, int PACKS>
constexpr bool loads_ahead = is_same<T, float> && PACKS == 1;

// Computes `n` elements in packs that are aligned to 16 bytes. Each thread loads its next pack
// before it computes one: the host has it take several (`ahead_blocks` in launch/elementwise.rs).
// `n` is at most 2^30, because counting in 32 bits takes ten instructions less for a pack.
template <typename F, typename T>
ISOBIT_FN void contiguous_ahead(const F &f, u64 n, T *dst, const T *src) {
    constexpr int V = pack_size<T>();
    const u32 packs = (u32)n / V;
    const u32 step = grid_dim_x() * ELEMENTWISE_BLOCK;
    const u32 first = block_x() * ELEMENTWISE_BLOCK;
    u32 i = first + thread_x();
    Pack<V, T> x;
    if (i < packs)
        x = load<V>(src + (u64)i * V);
#pragma unroll 1
    for (u32 tile = first; tile < packs; tile += step) {
        const u32 next = i + step;
        Pack<V, T> ahead;
        if (next < packs)
            ahead = load<V>(src + (u64)next * V);
        // Without it ptxas moves the load behind the last use of x, to have its registers.
        team_barrier();
        if (i < packs)
            store(dst + (u64)i * V, elementwise_detail::map<V>(f, x));
        x = ahead;
        i = next;
    }
    const u32 last = packs * V + thread_x();
    if (block_x() == 0 && last < n)
        dst[last] = f(src[last]);
}

// Computes `n` elements in packs that are aligned to 16 bytes.
template <int PACKS, typename F, typename T>
ISOBIT_FN void contiguous_function(const F &f, u64 n, T *dst, const T *src) {
    if constexpr (has_table<T>) {
        __shared__ u8 results[TABLE_ELEMENTS];
        contiguous_ahead(tabulate<T>(f, results), n, dst, src);
    } else if constexpr (loads_ahead<T, PACKS>) {
        contiguous_ahead(f, n, dst, src);
    } else {
        contiguous<pack_size<T>(), PACKS>(f, n, dst, src);
    }
}

// Computes the elements of any layout, ELEMENTS per thread at a time.
template <int ELEMENTS, typename F, typename T>
ISOBIT_FN void strided_function(const F &f, const Walk<2> &walk, T *dst, const T *src) {
    if constexpr (has_table<T>) {
        __shared__ u8 results[TABLE_ELEMENTS];
        strided<1, 4>(Indices<0>{}, tabulate<T>(f, results), walk, dst, src);
    } else {
        strided<1, ELEMENTS>(Indices<0>{}, f, walk, dst, src);
    }
}

// Results for a scalar and an element, by the bits in which they differ: whichever of them is the
// scalar, one loop serves.
template <typename T, typename Out>
struct PairTable {
    const u8 *results;
    ISOBIT_METHOD Out operator()(T a, T b) const { return element_of_bits<Out>(results[a.bits ^ b.bits]); }
};

// Computes the elements of any layout for a function of two arguments, U units of V elements per
// thread at a time.
template <int V, int U, typename F, typename Out, typename T>
ISOBIT_FN void strided_pairs(const F &f, const Walk<3> &walk, Out *dst, const T *lhs, const T *rhs) {
    if constexpr (has_table<T>) {
        // The whole block decides alike. Of two scalars, the left one counts as an element.
        if (walk.scalars != 0) {
            __shared__ u8 results[TABLE_ELEMENTS];
            const bool left = walk.scalars == 1 << 1;
            const u8 scalar = (u8)walk.stride[left ? 1 : 2][0], element = (u8)(scalar ^ thread_x());
            results[thread_x()] = (u8)bits_of_element(f(T{left ? scalar : element}, T{left ? element : scalar}));
            barrier();
            strided<V, U>(Indices<0, 1>{}, PairTable<T, Out>{results}, walk, dst, lhs, rhs);
            return;
        }
    }
    strided<V, U>(Indices<0, 1>{}, f, walk, dst, lhs, rhs);
}

} // namespace isobit
