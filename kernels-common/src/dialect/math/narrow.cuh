// Every transcendental of f16, bf16 and f8e4m3: `isobit::narrow::name<T>(x)` takes the exact value of the input and
// returns an f32 that rounds, once, to the correctly rounded value in T. docs/numerics/narrow.md holds the recipes and
// their proof.
#pragma once
#include "dialect/math/narrow_activations.cuh"
#include "dialect/math/narrow_common.cuh"
#include "dialect/math/narrow_erf.cuh"
#include "dialect/math/narrow_exp.cuh"
#include "dialect/math/narrow_hyperbolic.cuh"
#include "dialect/math/narrow_inverse_trig.cuh"
#include "dialect/math/narrow_log.cuh"
#include "dialect/math/narrow_pow.cuh"
#include "dialect/math/narrow_root.cuh"
#include "dialect/math/narrow_trig.cuh"
