// All transcendental functions of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_activations.cuh"
#include "device_lib/math/f32_erf.cuh"
#include "device_lib/math/f32_exp.cuh"
#include "device_lib/math/f32_hyperbolic.cuh"
#include "device_lib/math/f32_inverse_trig.cuh"
#include "device_lib/math/f32_log.cuh"
#include "device_lib/math/f32_pow.cuh"
#include "device_lib/math/f32_root.cuh"
#include "device_lib/math/f32_trig.cuh"
