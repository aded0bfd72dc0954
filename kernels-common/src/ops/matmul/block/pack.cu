// Packs an operand of a block product, for products that read it more than once: a block takes a
// segment of 64 lines, and each team 8 of them.
#include "ops/matmul/block/pack.cuh"

namespace isobit {

template <typename T>
ISOBIT_FN void matmul_pack(const T *from, u8 *packed, const BlockSide &p) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    __shared__ vector_detail::words4 shared_rows[PACK_BLOCK / TILE_TEAM][PACK_ELEMENTS<T> * sizeof(T) / 16];
    __shared__ PackShared shared;
    const PackPlace at = pack_place<PLANES>(packed, p);
    if (at.group >= at.matrix.groups)
        return;
    const u32 team = thread_x() / TILE_TEAM, line0 = at.group * CHUNK_LINES;
    const u64 k0 = (u64)at.segment * BLOCK_SEGMENT;
    from += offsets_of(p.batch, at.batch).at[0] + line0 * p.lines.line_stride + k0 * p.lines.k_stride;
    float x[PACK_EACH];
    read_lines(x, (T *)shared_rows[team], from, p.lines, p.lines.lines - line0, p.lines.k - k0);
    pack_part<T>(at.matrix, at.group, at.segment, x, shared);
}

} // namespace isobit

// BLOCKS that fit on a multiprocessor together: one more costs f32 registers that it needs.
#define ISOBIT_MATMUL_PACK(NAME, T, BLOCKS)                                                                            \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS) NAME(const T *from, u8 *packed, const BlockSide p) {                           \
        matmul_pack(from, packed, p);                                                                                  \
    }                                                                                                                  \
    }
