// The position of an element of an upsampled dimension in the source: PyTorch's arithmetic, in the
// compute type.
#pragma once

#include "device_lib/cast.cuh"
#include "ops/element_walk.cuh"

namespace isobit {

// One dimension; the host's `Scale` in upsample/mod.rs. `step` is the distance from one element of
// the result to the next, in elements of the source, and exact in the compute type.
struct Scale {
    u64 from;
    u64 to;
    double step;
    u32 align_corners;
};

// Must match ops/upsample/mod.rs.
static_assert(sizeof(Scale) == 32);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Scale, step) == 16 && ISOBIT_OFFSET(Scale, align_corners) == 24);

// The element at or below a position, limited to the last element. `I` is u32 for sizes below 2^31.
template <typename I, typename C>
ISOBIT_FN I element_at(C position, I size) {
    const I i = saturate<I>(floor(position));
    return i < size ? i : size - 1;
}

template <typename I>
ISOBIT_FN I nearest_element(const Scale &s, I i) {
    return element_at<I>((float)i * (float)s.step, (I)s.from);
}

// The elements between which an element of the result lies, and their weights.
template <typename I, typename C>
struct Between {
    I low;
    I high;
    C low_weight;
    C high_weight;
};

template <typename C, typename I>
ISOBIT_FN Between<I, C> between(const Scale &s, I i) {
    if (s.from == s.to)
        return Between<I, C>{i, i, 1, 0};
    const C step = (C)s.step, size = (C)i;
    C position = s.align_corners != 0 ? step * size : step * (size + (C)0.5) - (C)0.5;
    position = position > 0 ? position : 0;
    const I low = element_at<I>(position, (I)s.from);
    C weight = position - (C)low;
    weight = weight > 0 ? weight < 1 ? weight : 1 : 0;
    return Between<I, C>{low, low + 1 < (I)s.from ? low + 1 : low, 1 - weight, weight};
}

template <typename C>
ISOBIT_FN C blend(C low, C high, C low_weight, C high_weight) {
    return fma(high, high_weight, low * low_weight);
}

} // namespace isobit
