// Every transcendental of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "f32_activations.cuh"
#include "f32_erf.cuh"
#include "f32_exp.cuh"
#include "f32_hyperbolic.cuh"
#include "f32_inverse_trig.cuh"
#include "f32_log.cuh"
#include "f32_pow.cuh"
#include "f32_root.cuh"
#include "f32_trig.cuh"
