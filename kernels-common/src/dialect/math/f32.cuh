// Every transcendental of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "dialect/math/f32_activations.cuh"
#include "dialect/math/f32_erf.cuh"
#include "dialect/math/f32_exp.cuh"
#include "dialect/math/f32_hyperbolic.cuh"
#include "dialect/math/f32_inverse_trig.cuh"
#include "dialect/math/f32_log.cuh"
#include "dialect/math/f32_pow.cuh"
#include "dialect/math/f32_root.cuh"
#include "dialect/math/f32_trig.cuh"
