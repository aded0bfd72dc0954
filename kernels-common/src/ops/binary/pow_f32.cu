// pow of f32.
#include "dialect/math/f32.cuh"

#define ISOBIT_POW_RECIPE math::pow(a, b)

#include "ops/binary/pow.cuh"
