// pow of f8e4m3, f16 and bf16.
#include "dialect/math/narrow.cuh"

#define ISOBIT_POW_RECIPE round_to<T>(narrow::pow<T>(to_f32(a), to_f32(b)))

#include "ops/binary/pow.cuh"
