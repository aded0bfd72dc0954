// Reductions that need to know something of a sequence before its elements: they find it in the
// first element, or in the result, where an earlier pass has written it.
#pragma once

#include "ops/reduce/ops.cuh"

namespace isobit {

// Whether the lanes of a reduction start from the first element of the sequence and the place of
// the result: `start(first, result)`.
template <typename Op>
constexpr bool starts_from_seed = false;

// Whether the place of the result still matters at the end: `finish(acc, count, result)`.
template <typename Op>
constexpr bool ends_with_seed = false;
template <typename Op>
constexpr bool ends_with_seed<Again<Op>> = ends_with_seed<Op>;

// Whether the kernel for threads along the sequences finds the seed itself, by the reduction
// `Op::First`. It does so for sequences of one segment, which are then read again from the cache.
template <typename Op>
constexpr bool has_first_pass = false;

// Starts a lane. If it is idle, there may be nothing to read, or something that another block
// writes.
template <typename Op>
ISOBIT_FN typename Op::Lane start_lane(const typename Op::In *first, const typename Op::Out *result, bool idle) {
    if constexpr (starts_from_seed<Op>)
        return idle ? typename Op::Lane{} : Op::start(first, result);
    else
        return Op::start();
}

template <typename Op>
ISOBIT_FN typename Op::Out result_of(typename Op::Acc acc, double count, const typename Op::Out *result) {
    if constexpr (ends_with_seed<Op>)
        return Op::finish(acc, count, result);
    else
        return Op::finish(acc, count);
}

} // namespace isobit
