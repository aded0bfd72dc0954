// The binary operations whose results IEEE 754 or integer arithmetic determines exactly.
#include "device_lib/arith.cuh"
#include "ops/binary/binary.cuh"

namespace isobit::binary {

#define ISOBIT_BINARY_OP(NAME)                                                                                         \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD T operator()(T a, T b) const { return arith::NAME(a, b); }                                       \
    };
ISOBIT_BINARY_OP(add)
ISOBIT_BINARY_OP(sub)
ISOBIT_BINARY_OP(mul)
ISOBIT_BINARY_OP(div)
ISOBIT_BINARY_OP(rem)
ISOBIT_BINARY_OP(maximum)
ISOBIT_BINARY_OP(minimum)
ISOBIT_BINARY_OP(floor_div)
ISOBIT_BINARY_OP(floor_mod)
ISOBIT_BINARY_OP(nextafter)
ISOBIT_BINARY_OP(bitwise_and)
ISOBIT_BINARY_OP(bitwise_or)
ISOBIT_BINARY_OP(bitwise_xor)
ISOBIT_BINARY_OP(bitwise_left_shift)
ISOBIT_BINARY_OP(bitwise_right_shift)
#undef ISOBIT_BINARY_OP

} // namespace isobit::binary

#define ISOBIT_BINARY(NAME, OP, T) ISOBIT_BINARY_CONTIGUOUS(NAME, OP, T, unroll_of<T>)
#define ISOBIT_BINARY_ROWS(NAME, OP, T) ISOBIT_BINARY_WALK(NAME, OP, T, pack_size<T>(), unroll_of<T>)
#define ISOBIT_BINARY_STRIDED(NAME, OP, T) ISOBIT_BINARY_WALK(NAME, OP, T, 1, 4)
