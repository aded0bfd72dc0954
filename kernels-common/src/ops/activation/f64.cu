// Functions of sums, of f64.
#include "dialect/math/f64.cuh"

#define ISOBIT_ACTIVATION_RECIPE(NAME) math::NAME(x)

#include "ops/activation/activation.cuh"
