// The transcendental unaries of f64.
#include "dialect/math/f64.cuh"

#define ISOBIT_UNARY_RECIPE(NAME) math::NAME(x)

#include "ops/unary/math.cuh"
