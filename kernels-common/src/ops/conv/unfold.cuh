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
    u32 phase[2];
    // Products of a row of segments, with what fills it, and without.
    u64 filled, row;
    // Products of a result with what fills them, 0 if there are none.
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
    // Of the input whose pixels are packed: segments, pixels and their number in a row of an image,
    // bytes from one image and from one group to the next, and the pixel at the position 0.
    u32 pixel_segments, pixels, pixel_row;
    u64 pixel_image, pixel_group, pixel_first;
};

// Must match ops/conv/block.rs.
static_assert(sizeof(ConvUnfolded) == 448);
ISOBIT_LAYOUT(ISOBIT_OFFSET(ConvUnfolded, phase) == 296 && ISOBIT_OFFSET(ConvUnfolded, filled) == 304);
ISOBIT_LAYOUT(ISOBIT_OFFSET(ConvUnfolded, column_blocks) == 368 && ISOBIT_OFFSET(ConvUnfolded, pixel_image) == 424);

// The dimensions of a phase.
struct ConvPhase {
    ConvLine h, w;
};
ISOBIT_FN ConvPhase conv_phase(const ConvUnfolded &p) {
    return {conv_line(p.conv.axis[0], p.conv.transposed != 0, p.phase[0]),
            conv_line(p.conv.axis[1], p.conv.transposed != 0, p.phase[1])};
}

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

// Which channel and taps the factors of a product are of, unless it fills.
struct ConvFactor {
    u64 channel;
    u32 tap_h, tap_w;
    bool fills;
};
ISOBIT_FN u64 quotient(u64 a, u64 b) { return (a | b) <= 0xffffffffu ? (u32)a / (u32)b : a / b; }
ISOBIT_FN ConvFactor conv_factor(const ConvUnfolded &p, const ConvPhase &phase, u64 k) {
    const u64 row = quotient(k, p.filled), at = k - row * p.filled, number = row * p.row + at;
    if (at >= p.row || number >= conv_k(p.conv, phase.h, phase.w))
        return ConvFactor{0, 0, 0, true};
    const u64 tap = quotient(number, p.conv.channels_in);
    const u32 tap_h = (u32)quotient(tap, phase.w.taps);
    return ConvFactor{number - tap * p.conv.channels_in, tap_h, (u32)(tap - (u64)tap_h * phase.w.taps), false};
}

// Returns the products of a segment before what fills it.
ISOBIT_FN u32 used_of(const ConvUnfolded &p, const ConvPhase &phase, u32 segment) {
    const u64 k0 = (u64)segment * BLOCK_SEGMENT, row = quotient(k0, p.filled), at = k0 - row * p.filled;
    const u64 of_row = p.row - at, all = conv_k(p.conv, phase.h, phase.w) - (row * p.row + at);
    const u64 left = of_row < all ? of_row : all;
    return left < BLOCK_SEGMENT ? (u32)left : BLOCK_SEGMENT;
}

// Where an output meets the input first. `w` is outside if the output does not exist.
struct ConvStart {
    ConvOutput output;
    i32 h, w;
};
ISOBIT_FN ConvStart conv_start(const ConvUnfolded &p, const ConvPhase &phase, u32 number, bool exists) {
    ConvOutput o = conv_output(p.conv, phase.h, phase.w, number);
    o.inside = o.inside && exists;
    const i32 w = phase.w.position + (i32)(o.w * (u32)phase.w.per_output);
    return {o, phase.h.position + (i32)(o.h * (u32)phase.h.per_output), o.inside ? w : CONV_OUTSIDE};
}
// The output of a column.
ISOBIT_FN ConvStart column_start(const ConvUnfolded &p, const ConvPhase &phase, const ConvColumns &at, u32 column) {
    return conv_start(p, phase, at.of_group * p.per_matrix + column, column < p.per_matrix);
}

// Where the result of a column and of the group's first channel goes, and how far from each other
// those of neighbouring channels are.
ISOBIT_FN u64 result_place(const ConvUnfolded &p, const ConvPhase &phase, u32 group, u32 column, const ConvOutput &o) {
    return p.columns != 0 ? group * (p.conv.channels_out * p.columns) + column
                          : group * p.conv.dst_group + conv_dst(p.conv, phase.h, phase.w, o);
}
ISOBIT_FN u64 result_row(const ConvUnfolded &p) { return p.columns != 0 ? p.columns : p.conv.dst_channel; }

// An offset from there. `h` is outside for what fills.
struct alignas(16) UnfoldOffset {
    i64 at;
    i32 h, w;
};
ISOBIT_FN UnfoldOffset offset_of(const ConvUnfolded &p, const ConvPhase &phase, const ConvFactor &f) {
    const i32 h = (i32)f.tap_h * phase.h.per_tap, w = (i32)f.tap_w * phase.w.per_tap;
    const i64 at = (i64)(f.channel * p.conv.src_channel) + (i64)h * (i64)p.conv.src_space[0] +
                   (i64)w * (i64)p.conv.src_space[1];
    return UnfoldOffset{at, f.fills ? CONV_OUTSIDE : h, w};
}
// Whether an output sees the input there.
ISOBIT_FN bool start_sees(const ConvUnfolded &p, const ConvStart &start, i32 h, i32 w) {
    return (u32)start.h + (u32)h < p.conv.axis[0].size && (u32)start.w + (u32)w < p.conv.axis[1].size;
}

// The elements that an output sees; `src` is the group's input.
template <typename T>
struct Seen {
    const T *src;
    ConvStart start;
    i64 first;
    ISOBIT_FN Seen of(const T *src, const ConvUnfolded &p, const ConvStart &start) {
        src += start.output.image * p.conv.src_image;
        return {src, start, (i64)start.h * (i64)p.conv.src_space[0] + (i64)start.w * (i64)p.conv.src_space[1]};
    }
};
template <typename T>
ISOBIT_FN T seen_at(const ConvUnfolded &p, const Seen<T> &seen, const UnfoldOffset &offset) {
    return start_sees(p, seen.start, offset.h, offset.w) ? seen.src[seen.first + offset.at] : T{};
}
// Reads an offset from shared memory by one access.
ISOBIT_FN UnfoldOffset offset_at(const UnfoldOffset *offsets, u32 i) {
    const Pack<4, u32> words = load<4>((const u32 *)(offsets + i));
    return UnfoldOffset{(i64)((u64)words.v[0] | (u64)words.v[1] << 32), (i32)words.v[2], (i32)words.v[3]};
}

// The packed pixels of a group's input that an output sees, and the pixel at its start.
struct SeenPixels {
    PackedMatrix matrix;
    ConvStart start;
    i64 first;
    ISOBIT_FN SeenPixels of(u8 *pixels, const ConvUnfolded &p, u32 group, const ConvStart &start) {
        u8 *at = pixels + start.output.image * p.pixel_image + group * p.pixel_group;
        const i64 first = (i64)p.pixel_first + (i64)start.h * p.pixel_row + start.w;
        return {packed_matrix(at, p.pixels, p.pixel_segments), start, first};
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
    u32 of_tap, tap_w, tap_h;
    ISOBIT_FN TapSegment of(const ConvUnfolded &p, const ConvPhase &phase, u32 segment) {
        const u32 tap = segment / p.pixel_segments, tap_h = tap / phase.w.taps;
        return {segment - tap * p.pixel_segments, tap - tap_h * phase.w.taps, tap_h};
    }
};
ISOBIT_FN void step_segment(TapSegment &at, const ConvUnfolded &p, const ConvPhase &phase) {
    if (++at.of_tap < p.pixel_segments)
        return;
    at.of_tap = 0;
    if (++at.tap_w < phase.w.taps)
        return;
    at.tap_w = 0;
    at.tap_h++;
}
ISOBIT_FN SegmentPixel segment_pixel(const ConvUnfolded &p, const ConvPhase &phase, const SeenPixels &seen,
                                     const TapSegment &at) {
    const i32 h = (i32)at.tap_h * phase.h.per_tap, w = (i32)at.tap_w * phase.w.per_tap;
    const u32 pixel = (u32)(seen.first + (i64)h * p.pixel_row + w);
    return {part_of(seen.matrix, pixel / CHUNK_LINES, at.of_tap), pixel % CHUNK_LINES, start_sees(p, seen.start, h, w)};
}

// The factors of a result one after the other, without the divisions of conv_factor().
struct ConvCursor {
    ConvFactor factor;
    u64 at, left;
};
ISOBIT_FN ConvCursor conv_cursor(const ConvUnfolded &p, const ConvPhase &phase) {
    return {ConvFactor{0, 0, 0, false}, 0, conv_k(p.conv, phase.h, phase.w)};
}
ISOBIT_FN void step_cursor(ConvCursor &c, const ConvUnfolded &p, const ConvPhase &phase) {
    if (++c.at == p.filled)
        c.at = 0;
    if (!c.factor.fills) {
        c.left--;
        if (++c.factor.channel == p.conv.channels_in) {
            c.factor.channel = 0;
            if (++c.factor.tap_w == phase.w.taps) {
                c.factor.tap_w = 0;
                c.factor.tap_h++;
            }
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
