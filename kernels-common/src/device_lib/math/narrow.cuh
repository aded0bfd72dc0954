// All transcendental functions of f16, bf16 and f8e4m3. `isobit::narrow::name<T>(x)` takes the
// exact value of the input and returns an f32 that rounds, once, to the correctly rounded value in
// T. docs/numerics/narrow.md has the recipes and their proof.
#pragma once
#include "device_lib/math/narrow_activations.cuh"
#include "device_lib/math/narrow_common.cuh"
#include "device_lib/math/narrow_erf.cuh"
#include "device_lib/math/narrow_exp.cuh"
#include "device_lib/math/narrow_hyperbolic.cuh"
#include "device_lib/math/narrow_inverse_hyperbolic.cuh"
#include "device_lib/math/narrow_inverse_trig.cuh"
#include "device_lib/math/narrow_log.cuh"
#include "device_lib/math/narrow_of_f32.cuh"
#include "device_lib/math/narrow_plane.cuh"
#include "device_lib/math/narrow_pow.cuh"
#include "device_lib/math/narrow_root.cuh"
#include "device_lib/math/narrow_softplus.cuh"
#include "device_lib/math/narrow_trig.cuh"
