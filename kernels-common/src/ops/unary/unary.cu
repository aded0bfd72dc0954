// Functions of one argument.
#include "dialect/arith.cuh"
#include "dialect/elementwise.cuh"

namespace isobit::unary {

// A functor for each operation, named as the operation.
#define ISOBIT_UNARY_EXACT(NAME)                                                                                       \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD T operator()(T x) const { return arith::NAME(x); }                                               \
    };
ISOBIT_UNARY_EXACT(neg)
ISOBIT_UNARY_EXACT(abs)
ISOBIT_UNARY_EXACT(sign)
ISOBIT_UNARY_EXACT(sqr)
ISOBIT_UNARY_EXACT(relu)
ISOBIT_UNARY_EXACT(ceil)
ISOBIT_UNARY_EXACT(floor)
ISOBIT_UNARY_EXACT(round)
ISOBIT_UNARY_EXACT(trunc)
ISOBIT_UNARY_EXACT(sqrt)
ISOBIT_UNARY_EXACT(recip)
#undef ISOBIT_UNARY_EXACT

} // namespace isobit::unary

#define ISOBIT_UNARY(NAME, OP, T)                                                                                      \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK) NAME(isobit::T *dst, const isobit::T *src, isobit::u64 n) {               \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<T>(), unroll_of<T>>(unary::OP<T>{}, n, dst, src);                                         \
    }
#define ISOBIT_UNARY_STRIDED(NAME, OP, T)                                                                              \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK) NAME(isobit::T *dst, const isobit::T *src, isobit::Walk<2> walk) {        \
        using namespace isobit;                                                                                        \
        strided<1, 4>(Indices<0>{}, unary::OP<T>{}, walk, dst, src);                                                   \
    }
