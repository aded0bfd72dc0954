// Shared code of the convolution kernels: the problem description, and how outputs and taps meet
// the input. A convolution is a matrix product: its rows are the outputs of all images, its columns
// are the output channels of a group, and k counts input channels and taps, row-major.
//
// The outputs of a transposed convolution fall into phases; their number along each dimension is
// the stride. All outputs of one phase meet the same taps, and on those taps the phase is a plain
// convolution with stride 1 whose taps run backwards. A plain convolution has one phase.
#pragma once

#include "device_lib/index.cuh"
#include "ops/matmul/segments.cuh"

namespace isobit {

// Neighbouring outputs along w that a thread computes, in kernels without tiles. Must match
// ops/conv/launch.rs. With more, positions that follow from CONV_OUTSIDE would come round to those
// inside.
ISOBIT_CONST u32 CONV_RUN = 4;

// One spatial dimension; the host's `Axis` in conv/axis.rs.
struct ConvAxis {
    // Of the input and of the outputs; below 2^30.
    u32 size, outputs;
    u32 taps;
    // Where the first output meets the input through the first tap. For a transposed convolution:
    // the first output, counted with the padding that is cut off.
    i32 position;
    u32 stride, dilation;
    // For a transposed convolution: the greatest common divisor of stride and dilation; and, with
    // both divided by it, the inverse of the dilation modulo the stride.
    u32 common, inverse;
    // Outputs of the first phase, which has the most, and the number of phases.
    Divisor per_phase, phases;
};

// Must match ops/conv/axis.rs.
static_assert(sizeof(ConvAxis) == 56);
ISOBIT_LAYOUT(ISOBIT_OFFSET(ConvAxis, position) == 12 && ISOBIT_OFFSET(ConvAxis, stride) == 16);
ISOBIT_LAYOUT(ISOBIT_OFFSET(ConvAxis, per_phase) == 32);

// The host's `Conv` in conv/launch.rs. Strides count elements; the indices are those of d, h and w.
struct Conv {
    ConvAxis axis[3];
    u32 transposed;
    // Per group.
    u32 channels_in, channels_out;
    // Outputs of a phase in all images, as if each phase had as many as the first one.
    u32 outputs;
    // Blocks along channels and along outputs. `segments` is the number of segments of k that this
    // launch computes separately, 1 if it computes complete results.
    Divisor channel_tiles, output_tiles, segments;
    // Runs of neighbouring outputs in a row along w, and groups of neighbouring rows in a plane;
    // see conv_thin() and conv_sliding().
    Divisor runs, row_groups;
    // Nonzero if four weights along k, or four results along w, can be moved at once.
    u32 kernel_vectors, dst_vectors;
    // Nonzero if neighbours along k are closer in the weights than neighbouring channels.
    u32 along_k;
    // How a position along d and one along h are one number; see conv_row().
    u32 row_shift, row_room, row_guards;
    u64 src_image, src_group, src_channel, src_space[3];
    u64 kernel_group, kernel_out, kernel_in, kernel_space[3];
    u64 dst_image, dst_group, dst_channel, dst_space[3];
    // How the offset of a factor changes from a tap of a phase to the next one along d, h and w.
    u64 src_tap[3], kernel_tap[3];
};

// Must match ops/conv/launch.rs.
static_assert(sizeof(Conv) == 464);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Conv, transposed) == 168 && ISOBIT_OFFSET(Conv, channel_tiles) == 184);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Conv, kernel_vectors) == 244 && ISOBIT_OFFSET(Conv, src_image) == 272);

// The work of a block. `unit` counts groups and phases.
struct ConvBlock {
    u32 channel_tile, output_tile, segment, unit, group, phase[3];
};

// Returns the quotient and leaves the remainder in `n`.
ISOBIT_FN u32 take(u32 &n, const Divisor &d) {
    const u32 q = divide(n, d);
    n -= q * d.size;
    return q;
}

ISOBIT_FN ConvBlock conv_block(const Conv &p) {
    ConvBlock b;
    b.channel_tile = block_x();
    b.output_tile = take(b.channel_tile, p.channel_tiles);
    b.segment = take(b.output_tile, p.output_tiles);
    b.unit = take(b.segment, p.segments);
    b.phase[2] = b.unit;
    b.phase[1] = take(b.phase[2], p.axis[2].phases);
    b.phase[0] = take(b.phase[1], p.axis[1].phases);
    b.group = take(b.phase[0], p.axis[0].phases);
    return b;
}

// A dimension within a phase: which taps the phase meets, and where its first output meets the
// input through the first of them.
struct ConvLine {
    u32 tap, tap_step, taps;
    i32 position, per_output, per_tap;
    u32 output, output_step;
};

ISOBIT_FN ConvLine conv_line(const ConvAxis &a, bool transposed, u32 phase) {
    if (!transposed)
        return ConvLine{0, 1, a.taps, a.position, (i32)a.stride, (i32)a.dilation, 0, 1};
    // Output o meets input i through tap t if o = i * stride + t * dilation.
    const u32 o = (u32)a.position + phase;
    const u32 tap_step = a.stride / a.common, rest = o % a.stride;
    const u32 first = (u32)((u64)(rest / a.common) * a.inverse % tap_step);
    ConvLine line{first, tap_step, 0, 0, 1, -(i32)(a.dilation / a.common), phase, a.stride};
    if (rest % a.common == 0 && first < a.taps) {
        line.taps = (a.taps - first - 1) / tap_step + 1;
        line.position = ((i32)o - (i32)(first * a.dilation)) / (i32)a.stride;
    }
    return line;
}

// The dimensions within a phase.
struct ConvPhase {
    ConvLine d, h, w;
};

// Without PLANES, the input and the kernel have one plane, and what is along d is constant.
template <bool PLANES = true>
ISOBIT_FN ConvPhase conv_phase(const Conv &p, const u32 (&phase)[3]) {
    const bool transposed = p.transposed != 0;
    const ConvLine one{0, 1, 1, 0, 1, 1, 0, 1};
    return {PLANES ? conv_line(p.axis[0], transposed, phase[0]) : one, conv_line(p.axis[1], transposed, phase[1]),
            conv_line(p.axis[2], transposed, phase[2])};
}

// The number of taps of a phase, and of products that each of its results sums.
ISOBIT_FN u64 conv_taps(const ConvPhase &phase) { return (u64)(phase.d.taps * phase.h.taps) * phase.w.taps; }
ISOBIT_FN u64 conv_k(const Conv &p, const ConvPhase &phase) { return p.channels_in * conv_taps(phase); }

// A tap of a phase.
struct ConvTap {
    u32 d, h, w;
};

// Returns the tap after as many others, in row-major order.
ISOBIT_FN ConvTap conv_tap(const ConvPhase &phase, u64 number) {
    const u32 taps_w = phase.w.taps, row = number <= 0xffffffffu ? (u32)number / taps_w : (u32)(number / taps_w);
    const u32 plane = phase.d.taps == 1 ? 0 : row / phase.h.taps;
    return ConvTap{plane, row - plane * phase.h.taps, (u32)(number - (u64)row * taps_w)};
}

// The offset of a weight of the group's first channels.
ISOBIT_FN u64 conv_weight(const Conv &p, const ConvPhase &phase, const ConvTap &tap) {
    return (u64)(phase.d.tap + tap.d * phase.d.tap_step) * p.kernel_space[0] +
           (u64)(phase.h.tap + tap.h * phase.h.tap_step) * p.kernel_space[1] +
           (u64)(phase.w.tap + tap.w * phase.w.tap_step) * p.kernel_space[2];
}

// An output: its position in its phase along d, h and w, and whether it exists.
struct ConvOutput {
    u32 image, d, h, w;
    bool inside;
};

// The number of an output along a dimension.
ISOBIT_FN u32 conv_at(const ConvLine &line, u32 i) { return line.output + i * line.output_step; }

// Output `i`, which is number `w` of row `row`.
template <bool PLANES = true>
ISOBIT_FN ConvOutput conv_output_of_row(const Conv &p, const ConvPhase &phase, u32 i, u32 row, u32 w) {
    ConvOutput at;
    at.inside = i < p.outputs;
    at.w = w;
    at.h = row;
    at.image = take(at.h, p.axis[1].per_phase);
    at.d = 0;
    if (PLANES) {
        at.d = at.image;
        at.image = take(at.d, p.axis[0].per_phase);
    }
    at.inside = at.inside && conv_at(phase.d, at.d) < p.axis[0].outputs &&
                conv_at(phase.h, at.h) < p.axis[1].outputs && conv_at(phase.w, at.w) < p.axis[2].outputs;
    return at;
}

ISOBIT_FN ConvOutput conv_output(const Conv &p, const ConvPhase &phase, u32 i) {
    u32 w = i;
    const u32 row = take(w, p.axis[2].per_phase);
    return conv_output_of_row(p, phase, i, row, w);
}

// The offset of a result of the group's first channel.
ISOBIT_FN u64 conv_dst(const Conv &p, const ConvPhase &phase, const ConvOutput &at) {
    return at.image * p.dst_image + (u64)conv_at(phase.d, at.d) * p.dst_space[0] +
           (u64)conv_at(phase.h, at.h) * p.dst_space[1] + (u64)conv_at(phase.w, at.w) * p.dst_space[2];
}

// A place in the input, inside or outside.
struct ConvPlace {
    i32 d, h, w;
};

// Where an output meets the input through the first tap of its phase, and how far from there a tap
// is.
ISOBIT_FN ConvPlace conv_first(const ConvPhase &phase, const ConvOutput &at) {
    return ConvPlace{phase.d.position + (i32)(at.d * (u32)phase.d.per_output),
                     phase.h.position + (i32)(at.h * (u32)phase.h.per_output),
                     phase.w.position + (i32)(at.w * (u32)phase.w.per_output)};
}
ISOBIT_FN ConvPlace conv_reach(const ConvPhase &phase, const ConvTap &tap) {
    return ConvPlace{(i32)tap.d * phase.d.per_tap, (i32)tap.h * phase.h.per_tap, (i32)tap.w * phase.w.per_tap};
}

// The offset of a place, from that of the position 0.
ISOBIT_FN u64 conv_src(const Conv &p, const ConvPlace &at) {
    return (u64)(i64)at.d * p.src_space[0] + (u64)(i64)at.h * p.src_space[1] + (u64)(i64)at.w * p.src_space[2];
}

// Positions along d and h in one number, which costs what h alone would: both are bits of it, with
// a guard above each. The guards of a sum of two rows are set if one of its positions is negative,
// and those of the sum and `row_room` if one is at the end of the input or behind it. If the input
// and the kernel have one plane, all bits are those of h.
ISOBIT_FN u32 conv_row(const Conv &p, const ConvPlace &at) { return ((u32)at.d << p.row_shift) + (u32)at.h; }

// A position along w, or a row, outside the input. Adding a position inside the input to it never
// gives a position inside, and no sum of a position and another one equals it.
ISOBIT_CONST i32 CONV_OUTSIDE = -0x7fffffff - 1;

// Whether a row, and a place, is in the input, and not in its padding.
ISOBIT_FN bool conv_row_inside(const Conv &p, u32 row) { return ((row | (row + p.row_room)) & p.row_guards) == 0; }
ISOBIT_FN bool conv_inside(const Conv &p, u32 row, u32 w) { return conv_row_inside(p, row) && w < p.axis[2].size; }

// How far a factor of a product is from an output's first position in the input, in elements and in
// positions.
struct alignas(16) ConvOffset {
    u64 src;
    u32 row, w;
};

// Reads an offset from shared memory by one access.
ISOBIT_FN ConvOffset offset_at(const ConvOffset *offsets, u32 i) {
    const Pack<4, u32> words = load<4>((const u32 *)(offsets + i));
    return ConvOffset{(u64)words.v[0] | (u64)words.v[1] << 32, words.v[2], words.v[3]};
}

// Where segment `segment` of a result keeps its value until all segments are added.
template <typename C>
ISOBIT_FN C *conv_partial(const Conv &p, C *partial, u32 unit, u32 segments, u32 segment, u32 channel, u32 output) {
    return partial + (((u64)unit * segments + segment) * p.channels_out + channel) * p.outputs + output;
}

// What the bias adds to the results of a channel of a group.
template <typename T>
ISOBIT_FN compute_t<T> conv_bias(const Conv &p, const T *bias, u32 group, u32 channel) {
    return bias_of(bias, (u64)group * p.channels_out + channel);
}

// The products of a launch's segment: the first one and their number.
struct ConvPart {
    u64 start, count;
    // False if the phase has fewer segments than other phases.
    bool any;
};

ISOBIT_FN ConvPart conv_part(const Conv &p, const ConvBlock &block, u64 k) {
    const u64 start = (u64)block.segment * PRODUCT_SEGMENT;
    const bool any = start < k || block.segment == 0;
    const u64 left = any ? k - start : 0;
    return ConvPart{start, p.segments.size > 1 && left > PRODUCT_SEGMENT ? PRODUCT_SEGMENT : left, any};
}

} // namespace isobit
