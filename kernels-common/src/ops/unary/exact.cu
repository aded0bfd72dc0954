// The unary operations whose results IEEE 754 or integer arithmetic determines exactly.
#include "device_lib/arith.cuh"
#include "ops/unary/unary.cuh"

namespace isobit::unary {

#define ISOBIT_UNARY_OP(NAME)                                                                                          \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD T operator()(T x) const { return arith::NAME(x); }                                               \
    };
ISOBIT_UNARY_OP(neg)
ISOBIT_UNARY_OP(abs)
ISOBIT_UNARY_OP(sign)
ISOBIT_UNARY_OP(sqr)
ISOBIT_UNARY_OP(relu)
ISOBIT_UNARY_OP(ceil)
ISOBIT_UNARY_OP(floor)
ISOBIT_UNARY_OP(round)
ISOBIT_UNARY_OP(trunc)
ISOBIT_UNARY_OP(round_even)
ISOBIT_UNARY_OP(bitwise_not)
ISOBIT_UNARY_OP(sqrt)
ISOBIT_UNARY_OP(recip)
#undef ISOBIT_UNARY_OP

} // namespace isobit::unary

#define ISOBIT_UNARY(NAME, OP, T) ISOBIT_UNARY_CONTIGUOUS(NAME, OP, T, unroll_of<T>)
#define ISOBIT_UNARY_STRIDED(NAME, OP, T) ISOBIT_UNARY_WALK(NAME, OP, T, 4)
