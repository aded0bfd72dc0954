// pow of integers.
#include "dialect/arith_int.cuh"

#define ISOBIT_POW_RECIPE arith::int_pow(a, b)

#include "ops/binary/pow.cuh"
