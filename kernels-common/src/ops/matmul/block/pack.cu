// Packs an operand of a block product, for products that read it more than once: a block takes a
// segment of 64 lines, and each team 8 of them.
#include "device_lib/index.cuh"
#include "ops/matmul/block/quantize.cuh"

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
    if (segment == 0 && line_block == 0 && thread_x() < PART_BYTES<PLANES> / 16)
        store((u32 *)zeros_of<PLANES>(matrix) + thread_x() * 4, Pack<4, u32>{});
    const u64 k0 = (u64)segment * BLOCK_SEGMENT;
    const u32 team = thread_x() / TILE_TEAM, group = line_block * (PACK_LINES / CHUNK_LINES) + team;
    if (group >= matrix.groups)
        return;
    const u32 line0 = group * CHUNK_LINES;
    from += offsets_of(p.batch, batch).at[0] + line0 * p.lines.line_stride + k0 * p.lines.k_stride;
    float x[PACK_EACH];
    read_lines(x, (T *)shared_rows[team], from, p.lines, p.lines.lines - line0, p.lines.k - k0);
    const auto first = quantize<PLANES>(x, shared);

    const u32 line = line_of_thread();
    const u64 part = part_of(matrix, group, segment), at_line = part * CHUNK_LINES + line % CHUNK_LINES;
    store_digits<PLANES>(parts_of<PLANES>(matrix, 0) + part * PART_BYTES<PLANES>, first.words);
    const bool leads = member_of_thread() == 0;
    if (leads) {
        const i32 step = first.step.step;
        const bool far = step < -60 || step > 60;
        shared.flags[line] = (first.wide ? PART_WIDE : 0) | (first.special ? PART_SPECIAL : 0) | (far ? PART_FAR : 0);
        scales_of<PLANES>(matrix, 0)[at_line] = first.special || far ? 0.0f : power_of_two(step);
        steps_of<PLANES>(matrix, 0)[at_line] = first.special ? SPECIAL_STEP : step;
        steps_of<PLANES>(matrix, 1)[at_line] = 0;
    }
    team_barrier();
    const u32 flags = flags_of_team(shared);
    if (thread_x() % TILE_TEAM == 0)
        flags_of<PLANES>(matrix)[part] = flags;
    if ((flags & PART_WIDE) == 0)
        return;
    Step step;
    const auto second = quantize_rests<PLANES>(step, x, shared, first);
    if (leads)
        steps_of<PLANES>(matrix, 1)[at_line] = step.step;
    store_digits<PLANES>(parts_of<PLANES>(matrix, 1) + part * PART_BYTES<PLANES>, second);
}

} // namespace isobit

// BLOCKS that fit on a multiprocessor together: one more costs f32 registers that it needs.
#define ISOBIT_MATMUL_PACK(NAME, T, BLOCKS)                                                                            \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS) NAME(const T *from, u8 *packed, const BlockSide p) {                           \
        matmul_pack(from, packed, p);                                                                                  \
    }                                                                                                                  \
    }
