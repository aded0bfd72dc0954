// powf and elu of f64.
#include "dialect/math/f64.cuh"

#define ISOBIT_PARAMETER_RECIPE(NAME) math::NAME(x, parameter)

#include "ops/affine/math.cuh"
