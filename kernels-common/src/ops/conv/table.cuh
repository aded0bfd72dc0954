// How the kernels that unfold the input while they fetch it find its elements: a thread keeps the
// positions of its outputs for all k, and a table in shared memory, which the block refills when
// its entries are used up, holds the offsets that belong to each k.
#pragma once

#include "ops/conv/conv.cuh"

namespace isobit {

// The offsets for SIZE neighbours along k, from an output's first position in the input and from a
// channel's first weight.
template <u32 SIZE>
struct ConvTable {
    ConvOffset offset[SIZE];
    u64 kernel[SIZE];
};

// Fills the table for the k's from `k` on. Blocks have as many threads as the table has entries.
template <u32 SIZE>
ISOBIT_FN void fill_table(ConvTable<SIZE> &table, const Conv &p, const ConvPhase &phase, u64 k, u64 end) {
    const u32 i = thread_x();
    k += i;
    // Beyond the last k, the position is outside the input.
    table.offset[i] = ConvOffset{0, (u32)CONV_OUTSIDE, 0};
    table.kernel[i] = 0;
    if (k >= end)
        return;
    const u64 taps = conv_taps(phase);
    const u64 channel = ((k | taps) >> 30) == 0 ? (u32)k / (u32)taps : k / taps;
    const ConvTap tap = conv_tap(phase, k - channel * taps);
    const ConvPlace reach = conv_reach(phase, tap);
    table.offset[i] = ConvOffset{channel * p.src_channel + conv_src(p, reach), conv_row(p, reach), (u32)reach.w};
    table.kernel[i] = channel * p.kernel_in + conv_weight(p, phase, tap);
}

// The first position of an output in the input, and its offset. `w` is outside if the output does
// not exist.
struct ConvPosition {
    u32 row, w;
    i32 at;
};

ISOBIT_FN ConvPosition conv_position(const Conv &p, const ConvPhase &phase, u32 output) {
    const ConvOutput o = conv_output(p, phase, output);
    const ConvPlace first = conv_first(phase, o);
    // Below 2^31, as the host made sure.
    const i32 at = (i32)(o.image * (u32)p.src_image + (u32)conv_src(p, first));
    return ConvPosition{conv_row(p, first), (u32)(o.inside ? first.w : CONV_OUTSIDE), at};
}

// Whether an output sees an element of the input through a tap, and not its padding.
ISOBIT_FN bool conv_sees(const Conv &p, u32 from_row, u32 from_w, const ConvOffset &tap) {
    return conv_inside(p, from_row + tap.row, from_w + tap.w);
}

} // namespace isobit
