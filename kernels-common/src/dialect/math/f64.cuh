// Every f64 recipe.
#pragma once

#include "f64_activations.cuh"
#include "f64_erf.cuh"
#include "f64_exp.cuh"
#include "f64_hyperbolic.cuh"
#include "f64_inverse_trig.cuh"
#include "f64_log.cuh"
#include "f64_pow.cuh"
#include "f64_root.cuh"
#include "f64_trig.cuh"
