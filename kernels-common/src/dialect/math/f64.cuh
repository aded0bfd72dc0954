// Every f64 recipe.
#pragma once

#include "dialect/math/f64_activations.cuh"
#include "dialect/math/f64_erf.cuh"
#include "dialect/math/f64_exp.cuh"
#include "dialect/math/f64_hyperbolic.cuh"
#include "dialect/math/f64_inverse_trig.cuh"
#include "dialect/math/f64_log.cuh"
#include "dialect/math/f64_pow.cuh"
#include "dialect/math/f64_root.cuh"
#include "dialect/math/f64_trig.cuh"
