// Convolutions as block products (docs/numerics/conv.md, section 3): the weights are a matrix with
// a row per output channel, the input one with a column per output of a phase. Along k they have
// the products of a result, in which each row of segments is filled with zeros.
#pragma once

#include "ops/conv/conv.cuh"
#include "ops/matmul/block/chain.cuh"
#include "ops/matmul/block/digits.cuh"

namespace isobit {

// The host's `Unfolded` in conv/block.rs.
struct ConvUnfolded {
    Conv conv;
    u32 phase[3];
    // Products of a row of segments, with what fills it, and without.
    u64 filled, row;
    // Products of a result with what fills them, 0 if there are none; for results of all phases,
    // those of the phase with the fewest.
    u64 products;
    // If results do not go to their places yet, columns from one row of them to the next, else 0;
    // and elements from one phase to the next.
    u64 columns, of_phase;
    // Bytes of a packed matrix of columns, and of one of weights.
    u64 packed, packed_kernel;
    // The work of all blocks, if fewer take it in turns.
    u32 items;
    // Columns of a matrix: of all images, or of one.
    u32 per_matrix;
    Divisor column_blocks, k_blocks, matrices;
    // Segments that a block takes, one after the other.
    u32 each;
    // Of the input whose pixels are packed: segments, pixels and their number in a row and in a
    // plane of an image, bytes from one image and from one group to the next, and the pixel at the
    // position 0.
    u32 pixel_segments, pixels, pixel_row, pixel_plane;
    u64 pixel_image, pixel_group, pixel_first;
};

// Must match ops/conv/block.rs.
static_assert(sizeof(ConvUnfolded) == 624);
ISOBIT_LAYOUT(ISOBIT_OFFSET(ConvUnfolded, phase) == 464 && ISOBIT_OFFSET(ConvUnfolded, filled) == 480);
ISOBIT_LAYOUT(ISOBIT_OFFSET(ConvUnfolded, column_blocks) == 544 && ISOBIT_OFFSET(ConvUnfolded, pixel_image) == 600);

// The matrix of columns of a block's work, and which segments and columns of it.
struct ConvColumns {
    u32 block, k_block, matrix, of_group, group;
};
ISOBIT_FN ConvColumns conv_columns(const ConvUnfolded &p, u32 number) {
    ConvColumns at;
    at.block = number;
    at.k_block = take(at.block, p.column_blocks);
    at.matrix = take(at.k_block, p.k_blocks);
    at.of_group = at.matrix;
    at.group = take(at.of_group, p.matrices);
    return at;
}

// Goes on to the next tap.
ISOBIT_FN void step_tap(ConvTap &tap, const ConvPhase &phase) {
    if (++tap.w < phase.w.taps)
        return;
    tap.w = 0;
    if (++tap.h < phase.h.taps)
        return;
    tap.h = 0;
    tap.d++;
}

// Which channel and tap the factors of a product are of, unless it fills.
struct ConvFactor {
    u64 channel;
    ConvTap tap;
    bool fills;
};
ISOBIT_FN u64 quotient(u64 a, u64 b) { return (a | b) <= 0xffffffffu ? (u32)a / (u32)b : a / b; }
ISOBIT_FN ConvFactor conv_factor(const ConvUnfolded &p, const ConvPhase &phase, u64 k) {
    const u64 row = quotient(k, p.filled), at = k - row * p.filled, number = row * p.row + at;
    if (at >= p.row || number >= conv_k(p.conv, phase))
        return ConvFactor{0, {}, true};
    const u64 tap = quotient(number, p.conv.channels_in);
    return ConvFactor{number - tap * p.conv.channels_in, conv_tap(phase, tap), false};
}

// Returns the products of a segment before what fills it.
ISOBIT_FN u32 used_of(const ConvUnfolded &p, const ConvPhase &phase, u32 segment) {
    const u64 k0 = (u64)segment * BLOCK_SEGMENT, row = quotient(k0, p.filled), at = k0 - row * p.filled;
    const u64 of_row = p.row - at, all = conv_k(p.conv, phase) - (row * p.row + at);
    const u64 left = of_row < all ? of_row : all;
    return left < BLOCK_SEGMENT ? (u32)left : BLOCK_SEGMENT;
}

// Where an output meets the input first. `w` is outside if the output does not exist.
struct ConvStart {
    ConvOutput output;
    ConvPlace at;
};
ISOBIT_FN ConvStart conv_start(const ConvUnfolded &p, const ConvPhase &phase, u32 number, bool exists) {
    ConvOutput o = conv_output(p.conv, phase, number);
    o.inside = o.inside && exists;
    ConvPlace at = conv_first(phase, o);
    at.w = o.inside ? at.w : CONV_OUTSIDE;
    return {o, at};
}
// The output of a column.
ISOBIT_FN ConvStart column_start(const ConvUnfolded &p, const ConvPhase &phase, const ConvColumns &at, u32 column) {
    return conv_start(p, phase, at.of_group * p.per_matrix + column, column < p.per_matrix);
}

// Where the result of a column and of the group's first channel goes, and how far from each other
// those of neighbouring channels are.
ISOBIT_FN u64 result_place(const ConvUnfolded &p, const ConvPhase &phase, u32 group, u32 column, const ConvOutput &o) {
    return p.columns != 0 ? group * (p.conv.channels_out * p.columns) + column
                          : group * p.conv.dst_group + conv_dst(p.conv, phase, o);
}
ISOBIT_FN u64 result_row(const ConvUnfolded &p) { return p.columns != 0 ? p.columns : p.conv.dst_channel; }

// Where the input of a factor is, seen from there. The row is outside for what fills.
ISOBIT_FN ConvOffset offset_of(const ConvUnfolded &p, const ConvPhase &phase, const ConvFactor &f) {
    const ConvPlace reach = conv_reach(phase, f.tap);
    return ConvOffset{f.channel * p.conv.src_channel + conv_src(p.conv, reach),
                      f.fills ? (u32)CONV_OUTSIDE : conv_row(p.conv, reach), (u32)reach.w};
}
// Whether an output sees the input there.
ISOBIT_FN bool start_sees(const ConvUnfolded &p, const ConvStart &start, u32 row, u32 w) {
    return conv_inside(p.conv, conv_row(p.conv, start.at) + row, (u32)start.at.w + w);
}

// The elements that an output sees; `src` is the group's input.
template <typename T>
struct Seen {
    const T *src;
    ConvStart start;
    u64 first;
    ISOBIT_FN Seen of(const T *src, const ConvUnfolded &p, const ConvStart &start) {
        src += start.output.image * p.conv.src_image;
        return {src, start, conv_src(p.conv, start.at)};
    }
};
template <typename T>
ISOBIT_FN T seen_at(const ConvUnfolded &p, const Seen<T> &seen, const ConvOffset &offset) {
    return start_sees(p, seen.start, offset.row, offset.w) ? seen.src[seen.first + offset.src] : T{};
}

// The packed pixels of a group's input that an output sees, and the pixel at its start.
struct SeenPixels {
    PackedMatrix matrix;
    ConvStart start;
    u32 first;
    ISOBIT_FN SeenPixels of(u8 *pixels, const ConvUnfolded &p, u32 group, const ConvStart &start) {
        u8 *at = pixels + start.output.image * p.pixel_image + group * p.pixel_group;
        return {packed_matrix(at, p.pixels, p.pixel_segments), start, (u32)p.pixel_first + pixel_at(p, start.at)};
    }
    // The number of a pixel, from that of the position 0; modulo 2^32, below which all pixels are.
    ISOBIT_FN u32 pixel_at(const ConvUnfolded &p, const ConvPlace &at) {
        return (u32)at.d * p.pixel_plane + (u32)at.h * p.pixel_row + (u32)at.w;
    }
};
// Which of them a segment has, all of it or nothing.
struct SegmentPixel {
    u64 part;
    u32 line;
    bool sees;
};

// A segment of one tap, on the way through all of them.
struct TapSegment {
    u32 of_tap;
    ConvTap tap;
    ISOBIT_FN TapSegment of(const ConvUnfolded &p, const ConvPhase &phase, u32 segment) {
        const u32 tap = segment / p.pixel_segments;
        return {segment - tap * p.pixel_segments, conv_tap(phase, tap)};
    }
};
ISOBIT_FN void step_segment(TapSegment &at, const ConvUnfolded &p, const ConvPhase &phase) {
    if (++at.of_tap < p.pixel_segments)
        return;
    at.of_tap = 0;
    step_tap(at.tap, phase);
}
ISOBIT_FN SegmentPixel segment_pixel(const ConvUnfolded &p, const ConvPhase &phase, const SeenPixels &seen,
                                     const TapSegment &at) {
    const ConvPlace reach = conv_reach(phase, at.tap);
    const u32 pixel = seen.first + SeenPixels::pixel_at(p, reach);
    return {part_of(seen.matrix, pixel / CHUNK_LINES, at.of_tap), pixel % CHUNK_LINES,
            start_sees(p, seen.start, conv_row(p.conv, reach), (u32)reach.w)};
}

// The factors of a result one after the other, without the divisions of conv_factor().
struct ConvCursor {
    ConvFactor factor;
    u64 at, left;
};
ISOBIT_FN ConvCursor conv_cursor(const ConvUnfolded &p, const ConvPhase &phase) {
    return {ConvFactor{0, {}, false}, 0, conv_k(p.conv, phase)};
}
ISOBIT_FN void step_cursor(ConvCursor &c, const ConvUnfolded &p, const ConvPhase &phase) {
    if (++c.at == p.filled)
        c.at = 0;
    if (!c.factor.fills) {
        c.left--;
        if (++c.factor.channel == p.conv.channels_in) {
            c.factor.channel = 0;
            step_tap(c.factor.tap, phase);
        }
    }
    c.factor.fills = c.at >= p.row || c.left == 0;
}

// A result of a factor that is infinite or a NaN: a chain over all products and what fills them.
// `weights` is the row of the result's channel.
template <typename T>
ISOBIT_FN float conv_chain(const ConvUnfolded &p, const ConvPhase &phase, const T *weights, const Seen<T> &seen) {
    ConvCursor cursor = conv_cursor(p, phase);
    return chain_of(p.products, [&](float segment, u64 k) {
        const float input = to_compute(seen_at(p, seen, offset_of(p, phase, cursor.factor)));
        step_cursor(cursor, p, phase);
        return fma(to_compute(weights[k]), input, segment);
    });
}

} // namespace isobit
