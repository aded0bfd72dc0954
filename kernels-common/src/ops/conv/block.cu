// What surrounds the products of convolutions as block products: the weights as a matrix, results
// that go to their places, and those that are chains.
#include "ops/conv/unfold.cuh"
#include "ops/matmul/block/tile.cuh"

namespace isobit {

// Threads per block, channels of which a thread moves a result, and columns and rows that a block
// looks at for chains.
ISOBIT_CONST u32 UNFOLD_BLOCK = 128, FOLD_CHANNELS = 8, CHAIN_COLUMNS = 64, CHAIN_ROWS = 64;

template <typename T>
ISOBIT_FN void conv_unfold_kernel(const T *kernel, T *to, const ConvUnfolded &p) {
    const Conv &c = p.conv;
    const ConvPhase phase = conv_phase(p.conv, p.phase);
    u32 k_block = block_x();
    u32 channel = take(k_block, c.segments);
    const u64 k = (u64)k_block * UNFOLD_BLOCK + thread_x();
    const u64 line = channel;
    const u32 group = take(channel, c.channel_tiles);
    if (k >= p.products)
        return;
    const ConvFactor f = conv_factor(p, phase, k);
    const u64 at = group * c.kernel_group + channel * c.kernel_out + f.channel * c.kernel_in +
                   conv_weight(c, phase, f.tap);
    to[line * p.products + k] = f.fills ? T{} : kernel[at];
}

// Moves the results of all phases, which `from` has one after the other, to their places. Threads
// take the outputs in the order of the result: stores of one phase alone would fill parts of
// sectors. `from` has nothing for phases without taps; if there are any, `products` is 0.
template <typename T>
ISOBIT_FN void conv_fold(const T *from, const T *bias, T *dst, const ConvUnfolded &p) {
    const Conv &c = p.conv;
    const ConvColumns at = conv_columns(p, block_x());
    const u32 number = at.block * UNFOLD_BLOCK + thread_x();
    // From w to d: the phase, the output in it and the output's number.
    u32 phase[3], of_phase[3], output[3], rest = number;
    bool inside = number < p.per_matrix;
#pragma unroll
    for (u32 i = 0; i < 3; i++) {
        const u32 d = 2 - i;
        const ConvAxis &axis = c.axis[d];
        phase[d] = rest;
        of_phase[d] = take(phase[d], axis.phases);
        rest = take(of_phase[d], axis.per_phase);
        output[d] = phase[d] + of_phase[d] * (c.transposed != 0 ? axis.stride : 1);
        inside = inside && output[d] < axis.outputs;
    }
    if (!inside)
        return;
    const u32 image = rest, first = at.k_block * FOLD_CHANNELS;
    u64 phases = 0, column = image, to = image * c.dst_image;
#pragma unroll
    for (u32 d = 0; d < 3; d++) {
        phases = phases * c.axis[d].phases.size + phase[d];
        column = column * c.axis[d].per_phase.size + of_phase[d];
        to += output[d] * c.dst_space[d];
    }
    from += phases * p.of_phase + ((u64)at.group * c.channels_out + first) * p.columns + column;
    dst += at.group * c.dst_group + first * c.dst_channel + to;
    if (p.products == 0 && conv_taps(conv_phase(c, phase)) == 0) {
#pragma unroll
        for (u32 channel = 0; channel < FOLD_CHANNELS; channel++)
            if (first + channel < c.channels_out)
                dst[channel * c.dst_channel] = from_compute<T>(0.0f + conv_bias(c, bias, at.group, first + channel));
        return;
    }
#pragma unroll
    for (u32 channel = 0; channel < FOLD_CHANNELS; channel++)
        if (first + channel < c.channels_out)
            dst[channel * c.dst_channel] = from[channel * p.columns];
}

// All bits that the threads of a block tell.
ISOBIT_FN u32 any_of_block(u32 (&told)[UNFOLD_BLOCK], u32 own) {
    told[thread_x()] = own;
    barrier();
    u32 all = 0;
#pragma unroll
    for (u32 i = 0; i < UNFOLD_BLOCK; i += 4) {
        const Pack<4, u32> some = load<4>(told + i);
        all |= some.v[0] | some.v[1] | some.v[2] | some.v[3];
    }
    barrier();
    return all;
}

// Columns whose flags a block looks at: packed ones or, if these were never in memory, pixels.
struct ChainColumns {
    u8 *packed;
    bool are_pixels;
};
// The flags of the parts from which a thread's share of the columns of an item comes.
template <u32 PLANES>
ISOBIT_FN u32 flags_of_columns(const ConvUnfolded &p, const ConvPhase &phase, const ConvColumns &at,
                               const ChainColumns &columns) {
    const u32 segments = (u32)(p.products / BLOCK_SEGMENT);
    u32 flags = 0;
    if (columns.are_pixels) {
        const ConvStart start = column_start(p, phase, at, at.block * CHAIN_COLUMNS + thread_x() % CHAIN_COLUMNS);
        const SeenPixels seen = SeenPixels::of(columns.packed, p, at.group, start);
        TapSegment tap = TapSegment::of(p, phase, 0);
        for (u32 segment = 0; segment < segments; segment++, step_segment(tap, p, phase)) {
            const SegmentPixel pixel = segment_pixel(p, phase, seen, tap);
            if (pixel.sees && segment % (UNFOLD_BLOCK / CHAIN_COLUMNS) == thread_x() / CHAIN_COLUMNS)
                flags |= flags_of<PLANES>(seen.matrix)[pixel.part];
        }
        return flags;
    }
    const PackedMatrix matrix = packed_matrix(columns.packed + at.matrix * p.packed, p.per_matrix, segments);
    constexpr u32 GROUPS = CHAIN_COLUMNS / CHUNK_LINES;
    for (u32 i = thread_x(); i < segments * GROUPS; i += UNFOLD_BLOCK) {
        const u32 group = at.block * GROUPS + i % GROUPS;
        if (group < matrix.groups)
            flags |= flags_of<PLANES>(matrix)[part_of(matrix, group, i / GROUPS)];
    }
    return flags;
}
// Whether a column has an infinity or a NaN.
template <u32 PLANES>
ISOBIT_FN bool is_special_column(const ConvUnfolded &p, const ConvPhase &phase, const ConvColumns &at,
                                 const ChainColumns &columns, u32 column) {
    const u32 segments = (u32)(p.products / BLOCK_SEGMENT);
    if (!columns.are_pixels) {
        const PackedMatrix matrix = packed_matrix(columns.packed + at.matrix * p.packed, p.per_matrix, segments);
        return is_special<PLANES>(TileSide{matrix, 0}, column);
    }
    const SeenPixels seen = SeenPixels::of(columns.packed, p, at.group, column_start(p, phase, at, column));
    TapSegment tap = TapSegment::of(p, phase, 0);
    bool special = false;
    for (u32 segment = 0; segment < segments; segment++, step_segment(tap, p, phase)) {
        const SegmentPixel pixel = segment_pixel(p, phase, seen, tap);
        if (pixel.sees)
            special |= steps_of<PLANES>(seen.matrix, 0)[pixel.part * CHUNK_LINES + pixel.line] == SPECIAL_STEP;
    }
    return special;
}

// Stores the results that have a factor that is infinite or a NaN, of the columns of an item at a
// time. They are seldom, so a few blocks look at the flags of all parts.
template <typename T>
ISOBIT_FN void conv_chains(const T *src, const T *weights, const T *bias, T *dst, u8 *packed_kernel, u8 *packed,
                           const ConvUnfolded &p) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    alignas(16) __shared__ u32 told[UNFOLD_BLOCK];
    __shared__ u32 special_columns[CHAIN_COLUMNS], special_rows[CHAIN_ROWS];
    const Conv &c = p.conv;
    const ConvPhase phase = conv_phase(p.conv, p.phase);
    const u32 segments = (u32)(p.products / BLOCK_SEGMENT);
    const ChainColumns columns = {packed, p.pixels != 0};
    u32 of_group = 0xffffffffu, row_flags = 0;
#pragma unroll 1
    for (u32 item = block_x(); item < p.items; item += grid_dim_x()) {
        const ConvColumns at = conv_columns(p, item);
        const PackedMatrix rows = packed_matrix(packed_kernel + at.group * p.packed_kernel, c.channels_out, segments);
        if (of_group != at.group) {
            row_flags = 0;
            for (u64 i = thread_x(); i < parts_of_level(rows); i += UNFOLD_BLOCK)
                row_flags |= flags_of<PLANES>(rows)[i];
            of_group = at.group;
        }
        const u32 flags = row_flags | flags_of_columns<PLANES>(p, phase, at, columns);
        if ((any_of_block(told, flags) & PART_SPECIAL) == 0)
            continue;
        if (thread_x() < CHAIN_COLUMNS)
            special_columns[thread_x()] =
                is_special_column<PLANES>(p, phase, at, columns, at.block * CHAIN_COLUMNS + thread_x());
#pragma unroll 1
        for (u32 row0 = 0; row0 < c.channels_out; row0 += CHAIN_ROWS) {
            if (thread_x() < CHAIN_ROWS)
                special_rows[thread_x()] = is_special<PLANES>(TileSide{rows, row0 / CHUNK_LINES}, thread_x());
            barrier();
#pragma unroll 1
            for (u32 i = thread_x(); i < CHAIN_ROWS * CHAIN_COLUMNS; i += UNFOLD_BLOCK) {
                const u32 channel = row0 + i / CHAIN_COLUMNS, column = at.block * CHAIN_COLUMNS + i % CHAIN_COLUMNS;
                if (channel >= c.channels_out || (special_rows[i / CHAIN_COLUMNS] | special_columns[i % CHAIN_COLUMNS]) == 0)
                    continue;
                const ConvStart start = column_start(p, phase, at, column);
                if (!start.output.inside)
                    continue;
                const T *row = weights + ((u64)at.group * c.channels_out + channel) * p.products;
                const float value = conv_chain(p, phase, row, Seen<T>::of(src + at.group * c.src_group, p, start));
                const u64 place = result_place(p, phase, at.group, column, start.output);
                dst[place + channel * result_row(p)] = from_compute<T>(value + conv_bias(c, bias, at.group, channel));
            }
            barrier();
        }
    }
}

} // namespace isobit

#define ISOBIT_CONV_UNFOLD_KERNEL(NAME, T)                                                                             \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128) NAME(const T *kernel, T *to, const ConvUnfolded p) { conv_unfold_kernel(kernel, to, p); }       \
    }

#define ISOBIT_CONV_FOLD(NAME, T)                                                                                      \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128) NAME(const T *from, const T *bias, T *dst, const ConvUnfolded p) {                              \
        conv_fold(from, bias, dst, p);                                                                                 \
    }                                                                                                                  \
    }

#define ISOBIT_CONV_CHAINS(NAME, T)                                                                                    \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128)                                                                                                 \
    NAME(const T *src, const T *weights, const T *bias, T *dst, u8 *packed_kernel, u8 *packed, const ConvUnfolded p) { \
        conv_chains(src, weights, bias, dst, packed_kernel, packed, p);                                                \
    }                                                                                                                  \
    }
