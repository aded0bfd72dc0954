// Packs the input of a convolution for block products, a column for each output: from the input
// itself, or from its pixels, which are packed already. The latter needs segments of one tap, whose
// integers are those of a pixel.
#include "ops/conv/unfold.cuh"
#include "ops/matmul/block/pack.cuh"

namespace isobit {

// Columns that a block takes from pixels, eight by two teams.
ISOBIT_CONST u32 SPREAD_COLUMNS = PACK_BLOCK / CHUNK_LINES;
ISOBIT_CONST u32 IN_LINE = BLOCK_SEGMENT / CHUNK_K;
static_assert(IN_LINE * CHUNK_LINES == 2 * TILE_TEAM);

template <typename T>
ISOBIT_FN void conv_pack(const T *src, u8 *packed, const ConvUnfolded &p) {
    constexpr u32 PLANES = Digits<T>::COUNT, AT_ONCE = PACK_BLOCK / PACK_LINES;
    // The rows of neighbouring teams lie in different banks.
    constexpr u32 TEAM_BYTES = (PACK_ELEMENTS<T> + CHUNK_LINES) * sizeof(T);
    __shared__ vector_detail::words4 shared_rows[PACK_BLOCK / TILE_TEAM][TEAM_BYTES / 16];
    __shared__ PackShared shared;
    __shared__ ConvOffset offsets[BLOCK_SEGMENT];
    const ConvPhase phase = conv_phase(p.conv, p.phase);
    const ConvColumns at = conv_columns(p, block_x());
    const PackedMatrix matrix =
        packed_matrix(packed + at.matrix * p.packed, p.per_matrix, (u32)(p.products / BLOCK_SEGMENT));
    if (at.k_block == 0 && at.block == 0)
        clear_zeros<PLANES>(matrix);
    if (thread_x() < BLOCK_SEGMENT)
        offsets[thread_x()] = offset_of(p, phase, conv_factor(p, phase, (u64)at.k_block * BLOCK_SEGMENT + thread_x()));
    barrier();
    const u32 column = thread_x() % PACK_LINES;
    const ConvStart start = column_start(p, phase, at, at.block * PACK_LINES + column);
    const Seen<T> seen = Seen<T>::of(src + at.group * p.conv.src_group, p, start);
    T *rows = (T *)shared_rows[column / CHUNK_LINES] + column % CHUNK_LINES;
    const u32 used = used_of(p, phase, at.k_block), k0 = thread_x() / PACK_LINES;
#pragma unroll 8
    for (u32 k = k0; k < used; k += AT_ONCE)
        rows[row_place<T>(k)] = seen_at(p, seen, offset_at(offsets, k));
#pragma unroll 1
    for (u32 k = k0 + (used + AT_ONCE - 1 - k0) / AT_ONCE * AT_ONCE; k < BLOCK_SEGMENT; k += AT_ONCE)
        rows[row_place<T>(k)] = T{};
    barrier();
    const u32 team = thread_x() / TILE_TEAM, group = at.block * (PACK_LINES / CHUNK_LINES) + team;
    if (group >= matrix.groups)
        return;
    float x[PACK_EACH];
    take_rows(x, (const T *)shared_rows[team]);
    pack_part<T>(matrix, group, at.k_block, x, shared);
}

// A line of a segment, in a packed matrix.
struct PackedLine {
    PackedMatrix matrix;
    u64 part;
    u32 line;
};
// Copies a thread's chunk of all planes of a level; zeros unless it `exists`.
template <u32 PLANES>
ISOBIT_FN void copy_chunks(const PackedLine &to, const PackedLine &from, u32 level, u32 chunk, bool exists) {
    Pack<4, u32> words[PLANES] = {};
#pragma unroll
    for (u32 plane = 0; plane < PLANES; plane++)
        if (exists)
            words[plane] = load<4>((const u32 *)(parts_of<PLANES>(from.matrix, level) + from.part * PART_BYTES<PLANES> +
                                                 plane * PLANE_BYTES + chunk * CHUNK_BYTES + from.line * CHUNK_K));
#pragma unroll
    for (u32 plane = 0; plane < PLANES; plane++)
        store((u32 *)(parts_of<PLANES>(to.matrix, level) + to.part * PART_BYTES<PLANES> + plane * PLANE_BYTES +
                      chunk * CHUNK_BYTES + to.line * CHUNK_K),
              words[plane]);
}

// Each thread copies a chunk of a line, of several segments. A part has the flags of all parts from
// which it has lines: flags may be set that no line of it needs.
template <typename T>
ISOBIT_FN void conv_spread(u8 *pixels, u8 *packed, const ConvUnfolded &p) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    // The flags of each team's lines, of two segments in turns, so that one barrier is enough.
    alignas(16) __shared__ u32 told[2][PACK_BLOCK / TILE_TEAM][CHUNK_LINES];
    const ConvPhase phase = conv_phase(p.conv, p.phase);
    const ConvColumns at = conv_columns(p, block_x());
    const u32 segments = (u32)(p.products / BLOCK_SEGMENT);
    const PackedMatrix matrix = packed_matrix(packed + at.matrix * p.packed, p.per_matrix, segments);
    if (at.k_block == 0 && at.block == 0)
        clear_zeros<PLANES>(matrix);
    const u32 line = thread_x() % CHUNK_LINES, chunk = thread_x() / CHUNK_LINES % IN_LINE;
    const u32 group = at.block * (SPREAD_COLUMNS / CHUNK_LINES) + thread_x() / (2 * TILE_TEAM);
    if (group >= matrix.groups)
        return;
    const SeenPixels seen =
        SeenPixels::of(pixels, p, at.group, column_start(p, phase, at, group * CHUNK_LINES + line));
    const u32 end = segments - at.k_block * p.each < p.each ? segments : (at.k_block + 1) * p.each;
    TapSegment tap = TapSegment::of(p, phase, at.k_block * p.each);
#pragma unroll 1
    for (u32 segment = at.k_block * p.each; segment < end; segment++, step_segment(tap, p, phase)) {
        const SegmentPixel pixel = segment_pixel(p, phase, seen, tap);
        const PackedLine from = {seen.matrix, pixel.part, pixel.line}, to = {matrix, part_of(matrix, group, segment), line};
        const u32 flags = pixel.sees ? flags_of<PLANES>(seen.matrix)[pixel.part] : 0;
        copy_chunks<PLANES>(to, from, 0, chunk, pixel.sees);
        u32(&own)[CHUNK_LINES] = told[segment % 2][thread_x() / TILE_TEAM];
        // Both teams of eight lines tell the same.
        if (chunk % (IN_LINE / 2) == 0)
            own[line] = flags;
        const bool leads = chunk == 0;
        if (leads) {
            const u64 at_line = to.part * CHUNK_LINES + line, from_line = from.part * CHUNK_LINES + from.line;
            scales_of<PLANES>(matrix, 0)[at_line] = pixel.sees ? scales_of<PLANES>(seen.matrix, 0)[from_line] : 1.0f;
            steps_of<PLANES>(matrix, 0)[at_line] = pixel.sees ? steps_of<PLANES>(seen.matrix, 0)[from_line] : 0;
            steps_of<PLANES>(matrix, 1)[at_line] = pixel.sees ? steps_of<PLANES>(seen.matrix, 1)[from_line] : 0;
        }
        team_barrier();
        const u32 all = any_of_lines(own);
        if (leads && line == 0)
            flags_of<PLANES>(matrix)[to.part] = all;
        if ((all & PART_WIDE) != 0)
            copy_chunks<PLANES>(to, from, 1, chunk, (flags & PART_WIDE) != 0);
    }
}

} // namespace isobit

// BLOCKS that fit on a multiprocessor together.
#define ISOBIT_CONV_PACK(NAME, T, BLOCKS)                                                                              \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS) NAME(const T *src, u8 *packed, const ConvUnfolded p) {                         \
        conv_pack(src, packed, p);                                                                                     \
    }                                                                                                                  \
    }

#define ISOBIT_CONV_SPREAD(NAME, T)                                                                                    \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(u8 *pixels, u8 *packed, const ConvUnfolded p) { conv_spread<T>(pixels, packed, p); }       \
    }
