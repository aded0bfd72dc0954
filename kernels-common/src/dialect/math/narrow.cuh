// Every transcendental of f16, bf16 and f8e4m3: `isobit::narrow::name<T>(x)` takes the exact value of the input and
// returns an f32 that rounds, once, to the correctly rounded value in T. docs/numerics/narrow.md holds the recipes and
// their proof.
#pragma once
#include "narrow_activations.cuh"
#include "narrow_common.cuh"
#include "narrow_erf.cuh"
#include "narrow_exp.cuh"
#include "narrow_hyperbolic.cuh"
#include "narrow_inverse_trig.cuh"
#include "narrow_log.cuh"
#include "narrow_pow.cuh"
#include "narrow_trig.cuh"
