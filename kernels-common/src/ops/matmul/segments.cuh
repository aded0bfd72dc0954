// The order of products and convolutions: k is cut into segments of 256; a segment's value starts
// from +0 and takes its products by fma in ascending order; the result is the first segment's value
// and then the others, in ascending order.
#pragma once

#include "device_lib/limits.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

ISOBIT_CONST u32 PRODUCT_SEGMENT = 256;

// -0 leaves every value as it is when it is added, -0 included: the sum of no segments, and the
// product of no elements.
template <typename C>
ISOBIT_FN C nothing() {
    return (C)-0.0;
}

} // namespace isobit
