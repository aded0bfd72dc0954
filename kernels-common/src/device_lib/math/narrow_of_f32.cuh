// Functions of the narrow types that are f32 recipes: the f32 results of these are so close to the
// true value that they round correctly, but for the inputs of f16 that are moved.
#pragma once
#include "device_lib/math/f32_piecewise.cuh"
#include "device_lib/math/narrow_activations.cuh"
#include "device_lib/math/narrow_common.cuh"

namespace isobit::narrow {

template <typename T>
ISOBIT_FN float hard_sigmoid(float x) {
    return math::hard_sigmoid(x);
}

// The result is x/2 plus a small term near 0, as for silu.
template <typename T>
ISOBIT_FN float hard_swish(float x) {
    x = moved<T>(x, 0x1.004p-2f, 0x1.00401p-2f);
    x = moved<T>(x, 0x1.ffcp-1f, 0x1.ffc01p-1f);
    return times_share<T>(at_least(x, -3.0f), math::hard_sigmoid(x), x);
}

template <typename T>
ISOBIT_FN float selu(float x) {
    return math::selu(x);
}

} // namespace isobit::narrow
