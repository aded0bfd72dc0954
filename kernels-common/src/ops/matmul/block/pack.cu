// Packs an operand of a block product, for products that read it more than once: a block takes a
// segment of 64 lines, and each team 8 of them.
#include "device_lib/index.cuh"
#include "ops/matmul/block/pack.cuh"

namespace isobit {

// The host's `Side` in matmul/block.rs.
struct BlockSide {
    BlockLines lines;
    // Bytes of a packed matrix.
    u64 packed;
    Divisor line_blocks, all_segments;
    // Of the operand.
    Index<1> batch;
};

// Must match ops/matmul/block.rs.
static_assert(sizeof(BlockSide) == 240);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BlockSide, packed) == 40 && ISOBIT_OFFSET(BlockSide, line_blocks) == 48 &&
              ISOBIT_OFFSET(BlockSide, batch) == 72);

template <typename T>
ISOBIT_FN void matmul_pack(const T *from, u8 *packed, const BlockSide &p) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    __shared__ vector_detail::words4 shared_rows[PACK_BLOCK / TILE_TEAM][PACK_ELEMENTS<T> * sizeof(T) / 16];
    __shared__ PackShared shared;
    const u32 above = divide(block_x(), p.line_blocks), line_block = block_x() - above * p.line_blocks.size;
    const u32 batch = divide(above, p.all_segments), segment = above - batch * p.all_segments.size;
    const PackedMatrix matrix = packed_matrix(packed + batch * p.packed, p.lines.lines, p.lines.segments);
    if (segment == 0 && line_block == 0)
        clear_zeros<PLANES>(matrix);
    const u64 k0 = (u64)segment * BLOCK_SEGMENT;
    const u32 team = thread_x() / TILE_TEAM, group = line_block * (PACK_LINES / CHUNK_LINES) + team;
    if (group >= matrix.groups)
        return;
    const u32 line0 = group * CHUNK_LINES;
    from += offsets_of(p.batch, batch).at[0] + line0 * p.lines.line_stride + k0 * p.lines.k_stride;
    float x[PACK_EACH];
    read_lines(x, (T *)shared_rows[team], from, p.lines, p.lines.lines - line0, p.lines.k - k0);
    pack_part<T>(matrix, group, segment, x, shared);
}

} // namespace isobit

// BLOCKS that fit on a multiprocessor together: one more costs f32 registers that it needs.
#define ISOBIT_MATMUL_PACK(NAME, T, BLOCKS)                                                                            \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS) NAME(const T *from, u8 *packed, const BlockSide p) {                           \
        matmul_pack(from, packed, p);                                                                                  \
    }                                                                                                                  \
    }
