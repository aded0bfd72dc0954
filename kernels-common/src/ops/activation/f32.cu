// Functions of sums, of f32.
#include "dialect/math/f32.cuh"

#define ISOBIT_ACTIVATION_RECIPE(NAME) math::NAME(x)

#include "ops/activation/activation.cuh"
