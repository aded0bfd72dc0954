// Functions of two arguments.
#include "dialect/arith.cuh"
#include "dialect/elementwise.cuh"

namespace isobit::binary {

// A functor for each operation, named as the operation.
#define ISOBIT_BINARY_EXACT(NAME)                                                                                      \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD T operator()(T a, T b) const { return arith::NAME(a, b); }                                       \
    };
ISOBIT_BINARY_EXACT(add)
ISOBIT_BINARY_EXACT(sub)
ISOBIT_BINARY_EXACT(mul)
ISOBIT_BINARY_EXACT(div)
ISOBIT_BINARY_EXACT(rem)
ISOBIT_BINARY_EXACT(maximum)
ISOBIT_BINARY_EXACT(minimum)
#undef ISOBIT_BINARY_EXACT

} // namespace isobit::binary

#define ISOBIT_BINARY(NAME, OP, T)                                                                                     \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *lhs, const isobit::T *rhs, isobit::u64 n) {                                  \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<T>(), unroll_of<T>>(binary::OP<T>{}, n, dst, lhs, rhs);                                   \
    }
#define ISOBIT_BINARY_WALK(NAME, OP, T, V, U)                                                                          \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *lhs, const isobit::T *rhs, isobit::Walk<3> walk) {                           \
        using namespace isobit;                                                                                        \
        strided<V, U>(Indices<0, 1>{}, binary::OP<T>{}, walk, dst, lhs, rhs);                                          \
    }
#define ISOBIT_BINARY_ROWS(NAME, OP, T) ISOBIT_BINARY_WALK(NAME, OP, T, pack_size<T>(), unroll_of<T>)
#define ISOBIT_BINARY_STRIDED(NAME, OP, T) ISOBIT_BINARY_WALK(NAME, OP, T, 1, 4)
