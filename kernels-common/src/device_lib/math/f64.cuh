// All transcendental functions of f64.
#pragma once

#include "device_lib/math/f64_activations.cuh"
#include "device_lib/math/f64_atan2.cuh"
#include "device_lib/math/f64_erf.cuh"
#include "device_lib/math/f64_exp.cuh"
#include "device_lib/math/f64_hyperbolic.cuh"
#include "device_lib/math/f64_hypot.cuh"
#include "device_lib/math/f64_inverse_hyperbolic.cuh"
#include "device_lib/math/f64_inverse_trig.cuh"
#include "device_lib/math/f64_log.cuh"
#include "device_lib/math/f64_piecewise.cuh"
#include "device_lib/math/f64_pow.cuh"
#include "device_lib/math/f64_root.cuh"
#include "device_lib/math/f64_softplus.cuh"
#include "device_lib/math/f64_trig.cuh"
