// Writes parts of a packed matrix, by teams that have the elements of eight lines.
#pragma once

#include "device_lib/index.cuh"
#include "ops/matmul/block/quantize.cuh"

namespace isobit {

// Writes the part of zeros of a matrix, by a block of at least 192 threads.
template <u32 PLANES>
ISOBIT_FN void clear_zeros(const PackedMatrix &matrix) {
    if (thread_x() < PART_BYTES<PLANES> / 16)
        store((u32 *)zeros_of<PLANES>(matrix) + thread_x() * 4, Pack<4, u32>{});
}

// Packs a segment of the eight lines of a team. `x` becomes what the first level leaves.
template <typename T>
ISOBIT_FN void pack_part(const PackedMatrix &matrix, u32 group, u32 segment, float (&x)[PACK_EACH],
                         PackShared &shared) {
    constexpr u32 PLANES = Digits<T>::COUNT;
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

// Which part of which matrix a team packs, if its group exists: a block takes a segment of 64
// lines, and each team 8 of them. The first block of a matrix also clears its zeros.
struct PackPlace {
    PackedMatrix matrix;
    u32 group, segment, batch;
};
template <u32 PLANES>
ISOBIT_FN PackPlace pack_place(u8 *packed, const BlockSide &p) {
    const u32 above = divide(block_x(), p.line_blocks), line_block = block_x() - above * p.line_blocks.size;
    const u32 batch = divide(above, p.all_segments), segment = above - batch * p.all_segments.size;
    const PackedMatrix matrix = packed_matrix(packed + batch * p.packed, p.lines.lines, p.lines.segments);
    if (segment == 0 && line_block == 0)
        clear_zeros<PLANES>(matrix);
    return {matrix, line_block * (PACK_LINES / CHUNK_LINES) + thread_x() / TILE_TEAM, segment, batch};
}

} // namespace isobit
