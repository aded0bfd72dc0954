// The loops of every elementwise kernel, over a functor and its operand types. `f(In...)` computes
// one element of the destination.
//
// - `contiguous`: operands without gaps, moved 16 bytes at a time.
// - `strided<V>`: any layout of up to MAX_RANK dimensions. A unit of work is V elements along the
//   innermost dimension. With V > 1, an operand either is contiguous along that dimension or
//   repeats one element (a broadcast). An operand of a kernel with two or more inputs may be a
//   scalar, whose bits are in the walk.
//
// An input may be the destination itself: each thread reads an element before it overwrites it, and
// no other thread reads that element.
#pragma once

#include "device_lib/limits.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

#define ISOBIT_METHOD __device__ inline __attribute__((always_inline))

namespace isobit {

ISOBIT_CONST int ELEMENTWISE_BLOCK = 256;
ISOBIT_CONST int MAX_RANK = 8;

// How a launch walks its operands (the destination first). Dimensions are outermost first. The host
// creates this struct: `Walk` in elementwise.rs.
template <int OPERANDS>
struct Walk {
    // Units of work in the launch, less than 2^31.
    u32 units;
    u32 rank;
    // Bit i: operand i repeats one element along the innermost dimension.
    u32 broadcast;
    // Bit i: operand i is a scalar. It has no address and no strides; its bits are the first of
    // them.
    u32 scalars;
    // Units along each dimension, and the constants that divide by that count: q = (high half of n
    // * magic + n) >> shift, for n below 2^31 (Granlund and Montgomery, "Division by invariant
    // integers using multiplication", 1994).
    u32 size[MAX_RANK];
    u32 magic[MAX_RANK];
    u32 shift[MAX_RANK];
    // Bytes from one unit to the next along each dimension.
    u64 stride[OPERANDS][MAX_RANK];
};

// Must match launch/elementwise.rs, whose walk has four operands.
static_assert(sizeof(Walk<4>) == 368);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Walk<1>, size) == 16 && ISOBIT_OFFSET(Walk<1>, stride) == 112);

template <int... I>
struct Indices {};

// Packs that a thread processes at a time: enough bytes in flight to hide memory latency, and no
// more code than needed. One-byte types have 16 elements per pack, so the code of one pack is
// already long.
template <typename T>
constexpr int unroll_of = sizeof(T) == 1 ? 1 : 2;

// The same for a transcendental. Its code is long, but 16-bit types have code short enough for two
// packs (exp, tanh and log of f16 and bf16 then take 5 to 17 % less time on an H200).
template <typename T>
constexpr int recipe_unroll_of = sizeof(T) == 2 ? 2 : 1;

namespace elementwise_detail {

template <int N, typename F, typename... In>
ISOBIT_FN auto map(const F &f, const Pack<N, In> &...x) {
    Pack<N, decltype(f(x.v[0]...))> y;
#pragma unroll
    for (int i = 0; i < N; i++)
        y.v[i] = f(x.v[i]...);
    return y;
}

// Loads U packs of V elements, one block width apart. Only packs less than `left` packs away exist.
// The first pack always exists and is read in place of the others, so that no load waits for a
// branch.
template <int V, int U, typename T>
ISOBIT_FN Pack<V * U, T> load_tile(const T *from, u32 left) {
    Pack<V * U, T> x;
#pragma unroll
    for (int u = 0; u < U; u++) {
        const u32 away = (u32)(u * ELEMENTWISE_BLOCK);
        const Pack<V, T> part = load<V>(from + (away < left ? away * V : 0));
#pragma unroll
        for (int i = 0; i < V; i++)
            x.v[u * V + i] = part.v[i];
    }
    return x;
}

template <int V, int N, typename T>
ISOBIT_FN Pack<V, T> part_of(const Pack<N, T> &x, int u) {
    Pack<V, T> part;
#pragma unroll
    for (int i = 0; i < V; i++)
        part.v[i] = x.v[u * V + i];
    return part;
}

template <int V, int U, typename T>
ISOBIT_FN void store_tile(T *to, const Pack<V * U, T> &x, u32 left) {
#pragma unroll
    for (int u = 0; u < U; u++)
        if (u == 0 || (u32)(u * ELEMENTWISE_BLOCK) < left)
            store(to + u * ELEMENTWISE_BLOCK * V, part_of<V>(x, u));
}

template <int U>
struct Offsets {
    u64 at[U];
};

// Reads an input's elements of U units. SCALAR says whether the kernel's inputs may be scalars:
// without it, an input has to be read from memory, and the code for a scalar is left out.
template <int V, int U, bool SCALAR, typename T>
ISOBIT_FN Pack<V * U, T> gather(const T *base, const Offsets<U> &offsets, bool broadcast, bool scalar, u64 bits) {
    Pack<V * U, T> x;
    const auto at = [&](int u) { return (const T *)((const u8 *)base + offsets.at[u]); };
    if (SCALAR && scalar) {
        const T one = element_of_bits<T>(bits);
#pragma unroll
        for (int i = 0; i < V * U; i++)
            x.v[i] = one;
    } else if (V > 1 && broadcast) {
#pragma unroll
        for (int u = 0; u < U; u++) {
            const T one = *at(u);
#pragma unroll
            for (int i = 0; i < V; i++)
                x.v[u * V + i] = one;
        }
    } else {
#pragma unroll
        for (int u = 0; u < U; u++) {
            const Pack<V, T> part = load<V>(at(u));
#pragma unroll
            for (int i = 0; i < V; i++)
                x.v[u * V + i] = part.v[i];
        }
    }
    return x;
}

// Computes those of the U units from `first`, one block width apart, that the walk contains. Reads
// the first unit in place of the missing ones.
template <int V, int U, typename F, typename Out, int... I, typename... In>
ISOBIT_FN void units(const F &f, const Walk<1 + (int)sizeof...(In)> &walk, u32 first, Indices<I...>, Out *dst,
                     const In *...in) {
    constexpr int OPERANDS = 1 + (int)sizeof...(In);
    Offsets<U> offsets[OPERANDS];
    u32 left[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        const u32 unit = first + (u32)(u * ELEMENTWISE_BLOCK);
        left[u] = unit < walk.units ? unit : first;
#pragma unroll
        for (int o = 0; o < OPERANDS; o++)
            offsets[o].at[u] = 0;
    }
#pragma unroll 1
    for (u32 d = walk.rank - 1; d > 0; d--) {
#pragma unroll
        for (int u = 0; u < U; u++) {
            const u32 high = (u32)((u64)left[u] * walk.magic[d] >> 32);
            const u32 q = (high + left[u]) >> walk.shift[d];
            const u32 r = left[u] - q * walk.size[d];
            left[u] = q;
#pragma unroll
            for (int o = 0; o < OPERANDS; o++)
                offsets[o].at[u] += r * walk.stride[o][d];
        }
    }
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
        for (int o = 0; o < OPERANDS; o++)
            offsets[o].at[u] += left[u] * walk.stride[o][0];
    const auto is_in = [](u32 operands, int o) { return (operands >> o & 1) != 0; };
    const auto y = map<V * U>(
        f, gather<V, U, (OPERANDS > 2)>(in, offsets[1 + I], is_in(walk.broadcast, 1 + I), is_in(walk.scalars, 1 + I),
                                        walk.stride[1 + I][0])...);
#pragma unroll
    for (int u = 0; u < U; u++)
        if (u == 0 || first + (u32)(u * ELEMENTWISE_BLOCK) < walk.units)
            store((Out *)((u8 *)dst + offsets[0].at[u]), part_of<V>(y, u));
}

} // namespace elementwise_detail

// Computes `n` elements in packs of V that are aligned to 16 bytes, U packs per thread at a time.
template <int V, int U, typename F, typename Out, typename... In>
ISOBIT_FN void contiguous(const F &f, u64 n, Out *dst, const In *...in) {
    using namespace elementwise_detail;
    constexpr u64 TILE = (u64)ELEMENTWISE_BLOCK * U;
    const u64 packs = n / V;
    const u64 step = grid_dim_x() * TILE;
    for (u64 tile = block_x() * TILE; tile < packs; tile += step) {
        const u32 count = packs - tile < TILE ? (u32)(packs - tile) : (u32)TILE;
        if (thread_x() < count) {
            const u64 i = (tile + thread_x()) * V;
            const u32 left = count - thread_x();
            store_tile<V, U>(dst + i, map<V * U>(f, load_tile<V, U>(in + i, left)...), left);
        }
    }
    if (V > 1) {
        const u64 i = packs * V + thread_x();
        if (block_x() == 0 && i < n)
            dst[i] = f(in[i]...);
    }
}

// Computes `walk.units` units, U units per thread at a time.
template <int V, int U, int... I, typename F, typename Out, typename... In>
ISOBIT_FN void strided(Indices<I...> indices, const F &f, const Walk<1 + (int)sizeof...(In)> &walk, Out *dst,
                       const In *...in) {
    using namespace elementwise_detail;
    constexpr u32 TILE = ELEMENTWISE_BLOCK * U;
    const u64 step = (u64)grid_dim_x() * TILE;
    for (u64 tile = (u64)block_x() * TILE; tile < walk.units; tile += step) {
        const u32 first = (u32)tile + thread_x();
        if (first < walk.units)
            units<V, U>(f, walk, first, indices, dst, in...);
    }
}

} // namespace isobit
