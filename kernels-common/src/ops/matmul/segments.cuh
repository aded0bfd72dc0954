// The summation order of products and convolutions. k is cut into segments of 256. A segment's
// value starts at +0 and adds its products by fma in ascending order. The result is the value of
// the first segment plus those of the others, in ascending order. A bias is added to that value
// before it is rounded.
#pragma once

#include "device_lib/limits.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

ISOBIT_CONST u32 PRODUCT_SEGMENT = 256;

// Adding -0 changes no value, not even -0. It is the sum of no segments, and the product of no
// elements.
template <typename C>
ISOBIT_FN C nothing() {
    return (C)-0.0;
}

// What a bias, of which each channel has an element, adds to the results of a channel. A null
// pointer is none.
template <typename T>
ISOBIT_FN compute_t<T> bias_of(const T *bias, u64 channel) {
    return bias == nullptr ? nothing<compute_t<T>>() : to_compute(bias[channel]);
}

} // namespace isobit
