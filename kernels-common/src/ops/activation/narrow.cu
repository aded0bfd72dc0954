// Functions of sums, of f8e4m3, f16 and bf16.
#include "dialect/math/narrow.cuh"

#define ISOBIT_ACTIVATION_RECIPE(NAME) round_to<T>(narrow::NAME<T>(to_f32(x)))

#include "ops/activation/activation.cuh"
