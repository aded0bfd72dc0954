// pow of f64.
#include "dialect/math/f64.cuh"

#define ISOBIT_POW_RECIPE math::pow(a, b)

#include "ops/binary/pow.cuh"
