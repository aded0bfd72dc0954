// Functions of the narrow types that are f32 recipes: the f32 results of these are so close to the
// true value that they round correctly (those of atan2, hypot and celu to within 1 ulp), but for
// the inputs of f16 that are moved.
#pragma once
#include "device_lib/math/f32_atan2.cuh"
#include "device_lib/math/f32_hypot.cuh"
#include "device_lib/math/f32_inverse_hyperbolic.cuh"
#include "device_lib/math/f32_piecewise.cuh"
#include "device_lib/math/f32_softplus.cuh"
#include "device_lib/math/narrow_activations.cuh"
#include "device_lib/math/narrow_common.cuh"

namespace isobit::narrow {

template <typename T>
ISOBIT_FN float asinh(float x) {
    float a = moved<T>(abs(x), 0x1.af4p-3f, 0x1.af401p-3f);
    a = moved<T>(a, 0x1.c7cp3f, 0x1.c7bffp3f);
    return with_sign(math::asinh(a), x);
}

template <typename T>
ISOBIT_FN float acosh(float x) {
    return math::acosh(moved<T>(x, 0x1.39p0f, 0x1.39001p0f));
}

template <typename T>
ISOBIT_FN float atanh(float x) {
    return math::atanh(x);
}

template <typename T>
ISOBIT_FN float softplus(float x) {
    return math::softplus(moved<T>(x, -0x1.0cp-14f, -0x1.0dp-14f));
}

template <typename T>
ISOBIT_FN float mish(float x) {
    x = moved<T>(x, 0x1.a14p-10f, 0x1.a1401p-10f);
    x = moved<T>(x, 0x1.924p0f, 0x1.92401p0f);
    x = moved<T>(x, -0x1.efcp-12f, -0x1.efbffp-12f);
    x = moved<T>(x, -0x1.4p-11f, -0x1.3ffffp-11f);
    x = moved<T>(x, -0x1.294p3f, -0x1.293ffp3f);
    return math::mish(x);
}

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

template <typename T>
ISOBIT_FN float celu(float x, float alpha) {
    return math::celu(x, alpha);
}

template <typename T>
ISOBIT_FN float atan2(float y, float x) {
    return math::atan2(y, x);
}

template <typename T>
ISOBIT_FN float hypot(float x, float y) {
    return math::hypot(x, y);
}

} // namespace isobit::narrow
