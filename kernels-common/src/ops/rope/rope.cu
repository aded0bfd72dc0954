// Rotary embedding: rotates pairs of elements by angles whose cosines and sines are given.
#include "device_lib/elementwise.cuh"
#include "device_lib/index.cuh"

namespace isobit {

// The host's `Pairs` in rope/mod.rs.
struct Pairs {
    // The offsets of a pair's first element in input, destination, cosines and sines. A unit is the
    // group of pairs that a thread rotates at a time.
    Index<4> index;
    // The distance from the first element of a pair to the second.
    u64 src_partner;
    u64 dst_partner;
    u32 units;
};

// Must match ops/rope/mod.rs.
static_assert(sizeof(Pairs) == 384);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Pairs, src_partner) == 360 && ISOBIT_OFFSET(Pairs, units) == 376);

// `V` pairs in two packs: one with the first elements and one with the second ones, or for
// interleaved pairs with alternating elements.
template <int V, bool INTERLEAVED, typename T>
ISOBIT_FN void rope(const T *src, const T *cosines, const T *sines, T *dst, const Pairs &pairs) {
    using C = compute_t<T>;
    const u64 step = (u64)grid_dim_x() * ELEMENTWISE_BLOCK;
    for (u64 i = (u64)block_x() * ELEMENTWISE_BLOCK + thread_x(); i < pairs.units; i += step) {
        const Offsets<4> at = offsets_of(pairs.index, (u32)i);
        const T *from = src + at.at[0];
        T *to = dst + at.at[1];
        constexpr bool MIXED = INTERLEAVED && V > 1;
        const u64 second_from = MIXED ? V : pairs.src_partner, second_to = MIXED ? V : pairs.dst_partner;
        const Pack<V, T> a = load<V>(from), b = load<V>(from + second_from);
        const Pack<V, T> cosine = load<V>(cosines + at.at[2]), sine = load<V>(sines + at.at[3]);
        Pack<V, T> turned_a, turned_b;
#pragma unroll
        for (int v = 0; v < V; v++) {
            const int first = 2 * v, second = 2 * v + 1;
            const C x = to_compute(!MIXED ? a.v[v] : first < V ? a.v[first % V] : b.v[first % V]);
            const C y = to_compute(!MIXED ? b.v[v] : second < V ? a.v[second % V] : b.v[second % V]);
            const C c = to_compute(cosine.v[v]), s = to_compute(sine.v[v]);
            const T turned_x = from_compute<T>(fma(x, c, -(y * s))), turned_y = from_compute<T>(fma(x, s, y * c));
            if constexpr (MIXED) {
                (first < V ? turned_a : turned_b).v[first % V] = turned_x;
                (second < V ? turned_a : turned_b).v[second % V] = turned_y;
            } else {
                turned_a.v[v] = turned_x;
                turned_b.v[v] = turned_y;
            }
        }
        store(to, turned_a);
        store(to + second_to, turned_b);
    }
}

} // namespace isobit

#define ISOBIT_ROPE(NAME, T, V, INTERLEAVED)                                                                           \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, const isobit::T *cosines, const isobit::T *sines, isobit::T *dst,                       \
         const isobit::Pairs pairs) {                                                                                  \
        isobit::rope<V, INTERLEAVED>(src, cosines, sines, dst, pairs);                                                 \
    }
