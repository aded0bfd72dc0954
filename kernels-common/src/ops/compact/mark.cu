// Marks the elements that a result keeps: those that are not 0, or those of a sorted row at which
// another value begins. Each block takes a tile. It writes one bit per element, so that what
// follows does not read the elements again, and the number of bits that are set. If that number
// alone is wanted, a block takes several tiles, because its sum takes as long as one.
#include "device_lib/bits.cuh"
#include "ops/compact/tile.cuh"
#include "ops/sort/sort_keys.cuh"

namespace isobit::compact {

// The host's `Mark`.
struct Mark {
    // Equal elements have the same key.
    Order order;
    Walk walk;
    u64 n;
    // The number of the first block among those of all launches.
    u64 first;
    // Nonzero: marks where a value begins that differs from the one before.
    u32 begins;
    // Nonzero: the elements are contiguous, and aligned to 16 bytes.
    u32 packs;
    u32 wide;
    // The tiles of a block: one, unless no bits are written.
    u32 each;
};

// Must match ops/compact/tiles.rs.
static_assert(sizeof(Mark) == 280);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Mark, walk) == 16 && ISOBIT_OFFSET(Mark, n) == 248);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Mark, begins) == 264 && ISOBIT_OFFSET(Mark, each) == 276);

// Which elements of 16 bytes have a bit of `magnitude`: a bit for each, the first one's lowest.
// Small elements are looked at several in a word: one at a time, marking f16 took longer than
// reading it.
template <typename U>
ISOBIT_FN u32 bits_of_pack(const U *from, U magnitude) {
    constexpr u32 W = 16 / sizeof(U);
    u32 bits = 0;
    if constexpr (sizeof(U) >= 4) {
        const Pack<W, U> x = load<W>(from);
#pragma unroll
        for (u32 v = 0; v < W; v++)
            bits |= (x.v[v] & magnitude) != 0 ? 1u << v : 0;
    } else {
        constexpr bool IS_BYTE = sizeof(U) == 1;
        constexpr u32 EVERY = IS_BYTE ? 0x01010101u : 0x00010001u, BELOW_TOP = IS_BYTE ? 0x7f7f7f7fu : 0x7fff7fffu;
        const Pack<4, u32> x = load<4>((const u32 *)from);
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            const u32 word = x.v[k] & (magnitude * EVERY);
            // The top bit of each element that is not 0, from a carry or its own.
            const u32 tops = (((word & BELOW_TOP) + BELOW_TOP) | word) & ~BELOW_TOP;
            // The product moves them side by side, to the top.
            bits |= (tops * (IS_BYTE ? 0x00204081u : 0x00008001u)) >> (IS_BYTE ? 28 : 30) << (k * W / 4);
        }
    }
    return bits;
}

// The marks of a thread's elements, from bytes that have those of W each.
template <u32 W>
ISOBIT_FN u32 joined(const u8 *marks) {
    constexpr u32 N = EACH / W;
    const Pack<N, u8> of = load<N>(marks);
    u32 bits = 0;
#pragma unroll
    for (u32 v = 0; v < N; v++)
        bits |= (u32)of.v[v] << (v * W);
    return bits;
}

template <typename U>
ISOBIT_FN void mark(const U *src, u16 *words, u64 *counts, const Mark &m) {
    constexpr u32 W = 16 / sizeof(U);
    // The marks of each pack, or of each element.
    alignas(16) __shared__ u8 kept[TILE];
    __shared__ u32 sums[2 * BLOCK];
    const u64 block = m.first + block_x(), first = block * m.each * TILE;
    const u32 me = thread_x();
    // Zeros of both signs are 0; any other bits are not.
    const U sign = (U)((U)1 << (8 * sizeof(U) - 1));
    const U magnitude = m.order.kind == SORT_UNSIGNED || m.order.kind == SORT_SIGNED ? (U)~(U)0 : (U)~sign;

    const auto is_kept = [&](u64 i) {
        if (i >= m.n)
            return false;
        if (m.begins == 0)
            return (src[offset_of(m.walk, i, m.wide != 0)] & magnitude) != 0;
        return i == 0 || key_of<U>(src[i], m.order) != key_of<U>(src[i - 1], m.order);
    };
    u32 own_count = 0;
#pragma unroll 1
    for (u32 t = 0; t < m.each; t++) {
        const u64 start = first + t * TILE;
        const bool packs = m.packs != 0 && start + TILE <= m.n;
        u32 bits = 0;
        if (packs && (W == EACH || words == nullptr)) {
            // Every thread has the elements of its own word, or any: only their number is wanted.
#pragma unroll
            for (u32 c = 0; c < EACH / W; c++) {
                bits = bits_of_pack(src + start + (c * BLOCK + me) * W, magnitude);
                own_count += count_bits(bits);
            }
        } else {
            if (packs) {
#pragma unroll
                for (u32 c = 0; c < EACH / W; c++)
                    kept[c * BLOCK + me] = (u8)bits_of_pack(src + start + (c * BLOCK + me) * W, magnitude);
            } else {
#pragma unroll 4
                for (u32 c = 0; c < EACH; c++)
                    kept[c * BLOCK + me] = is_kept(start + c * BLOCK + me);
            }
            barrier();
            bits = packs ? joined<W>(kept + me * (EACH / W)) : joined<1>(kept + me * EACH);
            own_count += count_bits(bits);
            if (t + 1 < m.each)
                barrier();
        }
        if (words != nullptr)
            words[block * BLOCK + me] = (u16)bits;
    }
    u32 total;
    sum_before(own_count, sums, BLOCK, total);
    if (me == 0)
        counts[block] = total;
}

} // namespace isobit::compact

#define ISOBIT_COMPACT_MARK(NAME, U)                                                                                   \
    ISOBIT_KERNEL_RESIDENT(isobit::compact::BLOCK, 8)                                                                  \
    NAME(const isobit::U *src, isobit::u16 *words, isobit::u64 *counts, const isobit::compact::Mark m) {               \
        isobit::compact::mark<isobit::U>(src, words, counts, m);                                                       \
    }
