// Marks the elements that a result keeps: those that are not 0, or those of a sorted row at which
// another value begins. Each block takes a tile. It writes one bit per element, so that what
// follows does not read the elements again, and the number of bits that are set.
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
    // The tile of the first block.
    u64 first;
    // Nonzero: marks where a value begins that differs from the one before.
    u32 begins;
    // Nonzero: the elements are contiguous, and aligned to 16 bytes.
    u32 packs;
    u32 wide;
};

// Must match ops/compact/tiles.rs.
static_assert(sizeof(Mark) == 280);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Mark, walk) == 16 && ISOBIT_OFFSET(Mark, n) == 248);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Mark, begins) == 264 && ISOBIT_OFFSET(Mark, wide) == 272);

template <typename U>
ISOBIT_FN void mark(const U *src, u16 *words, u64 *counts, const Mark &m) {
    constexpr u32 W = 16 / sizeof(U);
    alignas(16) __shared__ u8 kept[TILE];
    __shared__ u32 sums[2 * BLOCK];
    const u64 tile = m.first + block_x(), start = tile * TILE;
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
    const bool packs = m.packs != 0 && start + TILE <= m.n;
    u32 own_count = 0;
    if (packs && words == nullptr) {
        // Only their number is wanted, whichever thread has them.
#pragma unroll
        for (u32 c = 0; c < EACH / W; c++) {
            const Pack<W, U> x = load<W>(src + start + (c * BLOCK + me) * W);
#pragma unroll
            for (u32 v = 0; v < W; v++)
                own_count += (x.v[v] & magnitude) != 0;
        }
    } else if (packs) {
#pragma unroll
        for (u32 c = 0; c < EACH / W; c++) {
            const u32 i = (c * BLOCK + me) * W;
            const Pack<W, U> x = load<W>(src + start + i);
            Pack<W, u8> bits;
#pragma unroll
            for (u32 v = 0; v < W; v++)
                bits.v[v] = (x.v[v] & magnitude) != 0;
            store(kept + i, bits);
        }
    } else {
#pragma unroll 4
        for (u32 c = 0; c < EACH; c++)
            kept[c * BLOCK + me] = is_kept(start + c * BLOCK + me);
    }
    if (!packs || words != nullptr) {
        barrier();
        const Pack<EACH, u8> own = load<EACH>(kept + me * EACH);
        u32 bits = 0;
#pragma unroll
        for (u32 v = 0; v < EACH; v++)
            bits |= (u32)own.v[v] << v;
        if (words != nullptr)
            words[tile * BLOCK + me] = (u16)bits;
        own_count = count_bits(bits);
    }
    u32 total;
    sum_before(own_count, sums, BLOCK, total);
    if (me == 0) {
        counts[tile] = total;
        // What comes before the end of the last tile is the count of all.
        if (start + TILE >= m.n)
            counts[tile + 1] = 0;
    }
}

} // namespace isobit::compact

#define ISOBIT_COMPACT_MARK(NAME, U)                                                                                   \
    ISOBIT_KERNEL(isobit::compact::BLOCK)                                                                              \
    NAME(const isobit::U *src, isobit::u16 *words, isobit::u64 *counts, const isobit::compact::Mark m) {               \
        isobit::compact::mark<isobit::U>(src, words, counts, m);                                                       \
    }
