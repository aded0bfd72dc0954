// powf and elu of f32.
#include "dialect/math/f32.cuh"

#define ISOBIT_PARAMETER_RECIPE(NAME) math::NAME(x, parameter)

#include "ops/affine/math.cuh"
