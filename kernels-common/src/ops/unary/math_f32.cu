// The transcendental unaries of f32.
#include "dialect/math/f32.cuh"

#define ISOBIT_UNARY_RECIPE(NAME) math::NAME(x)

#include "ops/unary/math.cuh"
