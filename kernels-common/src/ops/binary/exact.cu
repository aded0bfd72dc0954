// The binary operations whose results IEEE 754 or integer arithmetic determines exactly.
#include "device_lib/arith.cuh"
#include "ops/binary/binary.cuh"
#include "ops/binary/byte.cuh"

namespace isobit::binary {

#define ISOBIT_BINARY_OP(NAME)                                                                                         \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD T operator()(T a, T b) const { return arith::NAME(a, b); }                                       \
    };
ISOBIT_BINARY_OP(add)
ISOBIT_BINARY_OP(sub)
ISOBIT_BINARY_OP(mul)
ISOBIT_BINARY_OP(maximum)
ISOBIT_BINARY_OP(minimum)
ISOBIT_BINARY_OP(nextafter)
ISOBIT_BINARY_OP(bitwise_and)
ISOBIT_BINARY_OP(bitwise_or)
ISOBIT_BINARY_OP(bitwise_xor)
ISOBIT_BINARY_OP(bitwise_left_shift)
ISOBIT_BINARY_OP(bitwise_right_shift)
#undef ISOBIT_BINARY_OP

// Bytes have no sign: rounding down is truncating.
#define ISOBIT_DIVISION(NAME, OF_BYTES)                                                                                \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD T operator()(T a, T b) const {                                                                   \
            if constexpr (is_same<T, u8>)                                                                              \
                return OF_BYTES(a, b);                                                                                 \
            else                                                                                                       \
                return arith::NAME(a, b);                                                                              \
        }                                                                                                              \
    };
ISOBIT_DIVISION(div, byte_quotient)
ISOBIT_DIVISION(rem, byte_remainder)
ISOBIT_DIVISION(floor_div, byte_quotient)
ISOBIT_DIVISION(floor_mod, byte_remainder)
#undef ISOBIT_DIVISION

} // namespace isobit::binary

#define ISOBIT_BINARY(NAME, OP, T) ISOBIT_BINARY_CONTIGUOUS(NAME, OP, T, unroll_of<T>)
#define ISOBIT_BINARY_ROWS(NAME, OP, T) ISOBIT_BINARY_WALK(NAME, OP, T, pack_size<T>(), unroll_of<T>)
#define ISOBIT_BINARY_STRIDED(NAME, OP, T) ISOBIT_BINARY_WALK(NAME, OP, T, 1, 4)
