// How the kernels that unfold the input while they fetch it find its elements: a thread keeps the
// positions of its outputs for all k, and a table in shared memory, which the block refills when
// its entries are used up, holds the offsets that belong to each k.
#pragma once

#include "ops/conv/conv.cuh"

namespace isobit {

// An offset from an output's first position in the input, in elements and in positions.
struct alignas(16) ConvOffset {
    u64 src;
    i32 h, w;
};

// The offsets for SIZE neighbours along k, from an output's first position in the input and from a
// channel's first weight.
template <u32 SIZE>
struct ConvTable {
    ConvOffset offset[SIZE];
    u64 kernel[SIZE];
};

// Fills the table for the k's from `k` on. Blocks have as many threads as the table has entries.
template <u32 SIZE>
ISOBIT_FN void fill_table(ConvTable<SIZE> &table, const Conv &p, const ConvLine &h, const ConvLine &w, u64 k, u64 end) {
    const u32 i = thread_x();
    k += i;
    // Beyond the last k, the position is outside the input.
    table.offset[i] = ConvOffset{0, CONV_OUTSIDE, 0};
    table.kernel[i] = 0;
    if (k >= end)
        return;
    const u64 taps = (u64)h.taps * w.taps;
    const bool narrow = ((k | taps) >> 30) == 0;
    const u64 channel = narrow ? (u32)k / (u32)taps : k / taps;
    const u64 rest = k - channel * taps;
    const u32 tap_h = (u32)(narrow ? (u32)rest / w.taps : rest / w.taps), tap_w = (u32)(rest - (u64)tap_h * w.taps);
    const i32 at_h = (i32)tap_h * h.per_tap, at_w = (i32)tap_w * w.per_tap;
    const u64 at = channel * p.src_channel + (u64)(i64)at_h * p.src_space[0] + (u64)(i64)at_w * p.src_space[1];
    table.offset[i] = ConvOffset{at, at_h, at_w};
    table.kernel[i] = channel * p.kernel_in + (u64)(h.tap + tap_h * h.tap_step) * p.kernel_space[0] +
                      (u64)(w.tap + tap_w * w.tap_step) * p.kernel_space[1];
}

// Reads an offset by one access.
template <u32 SIZE>
ISOBIT_FN ConvOffset conv_offset(const ConvTable<SIZE> &table, u32 i) {
    const Pack<4, u32> words = load<4>((const u32 *)&table.offset[i]);
    return ConvOffset{(u64)words.v[0] | (u64)words.v[1] << 32, (i32)words.v[2], (i32)words.v[3]};
}

// The first position of an output in the input, and its offset. `w` is outside if the output does
// not exist.
struct ConvPosition {
    i32 h, w, at;
};

ISOBIT_FN ConvPosition conv_position(const Conv &p, const ConvLine &h, const ConvLine &w, u32 output) {
    const ConvOutput o = conv_output(p, h, w, output);
    const i32 at_h = h.position + (i32)(o.h * (u32)h.per_output), at_w = w.position + (i32)(o.w * (u32)w.per_output);
    const u32 at = o.image * (u32)p.src_image + (u32)at_h * (u32)p.src_space[0] + (u32)at_w * (u32)p.src_space[1];
    return ConvPosition{at_h, o.inside ? at_w : CONV_OUTSIDE, (i32)at};
}

// Whether an output sees an element of the input through a tap, and not its padding.
ISOBIT_FN bool conv_sees(const Conv &p, i32 from_h, i32 from_w, const ConvOffset &tap) {
    return (u32)from_h + (u32)tap.h < p.axis[0].size && (u32)from_w + (u32)tap.w < p.axis[1].size;
}

} // namespace isobit
