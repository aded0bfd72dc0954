// Comparisons and tests: 0 or 1 for each pair or element. Narrow floats are compared by their exact
// values in f32. C++'s operators follow IEEE 754: if an operand is NaN, only `ne` is true. So every
// element but a zero is true, also a NaN.
#include "ops/function.cuh"

namespace isobit::compare {

// A functor for each operation, named after it.
#define ISOBIT_COMPARISON(NAME, OPERATOR)                                                                              \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD u8 operator()(T a, T b) const { return to_compute(a) OPERATOR to_compute(b); }                   \
    };
ISOBIT_COMPARISON(eq, ==)
ISOBIT_COMPARISON(ne, !=)
ISOBIT_COMPARISON(lt, <)
ISOBIT_COMPARISON(le, <=)
ISOBIT_COMPARISON(gt, >)
ISOBIT_COMPARISON(ge, >=)
#undef ISOBIT_COMPARISON

// A functor for each logical function.
#define ISOBIT_LOGICAL(NAME, OPERATOR)                                                                                 \
    template <typename T>                                                                                              \
    struct logical_##NAME {                                                                                            \
        ISOBIT_METHOD u8 operator()(T a, T b) const {                                                                  \
            return (u8)(to_compute(a) != 0) OPERATOR(u8)(to_compute(b) != 0);                                          \
        }                                                                                                              \
    };
ISOBIT_LOGICAL(and, &)
ISOBIT_LOGICAL(or, |)
ISOBIT_LOGICAL(xor, ^)
#undef ISOBIT_LOGICAL

// A functor for each test of one element.
#define ISOBIT_TEST(NAME, IS)                                                                                          \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD u8 operator()(T element) const {                                                                 \
            const compute_t<T> x = to_compute(element);                                                                \
            return IS;                                                                                                 \
        }                                                                                                              \
    };
ISOBIT_TEST(isnan, x != x)
ISOBIT_TEST(isinf, x == x && x - x != 0)
ISOBIT_TEST(logical_not, x == 0)
#undef ISOBIT_TEST

} // namespace isobit::compare

#define ISOBIT_COMPARE(NAME, OP, T)                                                                                    \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::u8 *dst, const isobit::T *lhs, const isobit::T *rhs, isobit::u64 n) {                                 \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<T>(), unroll_of<T>>(compare::OP<T>{}, n, dst, lhs, rhs);                                  \
    }
#define ISOBIT_COMPARE_WALK(NAME, OP, T, V, U)                                                                         \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::u8 *dst, const isobit::T *lhs, const isobit::T *rhs, isobit::Walk<3> walk) {                          \
        using namespace isobit;                                                                                        \
        strided_pairs<V, U>(compare::OP<T>{}, walk, dst, lhs, rhs);                                                    \
    }
#define ISOBIT_COMPARE_ROWS(NAME, OP, T) ISOBIT_COMPARE_WALK(NAME, OP, T, pack_size<T>(), unroll_of<T>)
#define ISOBIT_COMPARE_STRIDED(NAME, OP, T) ISOBIT_COMPARE_WALK(NAME, OP, T, 1, 4)

#define ISOBIT_PREDICATE(NAME, OP, T)                                                                                  \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK) NAME(isobit::u8 *dst, const isobit::T *src, isobit::u64 n) {              \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<T>(), unroll_of<T>>(compare::OP<T>{}, n, dst, src);                                       \
    }
#define ISOBIT_PREDICATE_STRIDED(NAME, OP, T)                                                                          \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::u8 *dst, const isobit::T *src, isobit::Walk<2> walk) {                                                \
        using namespace isobit;                                                                                        \
        strided<1, 4>(Indices<0>{}, compare::OP<T>{}, walk, dst, src);                                                 \
    }
