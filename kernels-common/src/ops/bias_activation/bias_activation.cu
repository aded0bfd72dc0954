// Activations of sums, with the recipes of the module's prelude. The sum is rounded to the dtype,
// as `add` does.
#include "device_lib/arith.cuh"
#include "device_lib/elementwise.cuh"

namespace isobit::activation {

#define ISOBIT_ACTIVATION_OP(NAME)                                                                                     \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD T operator()(T a, T b) const {                                                                   \
            const T x = arith::add(a, b);                                                                              \
            return ISOBIT_RECIPE(NAME, x);                                                                             \
        }                                                                                                              \
    };
ISOBIT_ACTIVATION_OP(gelu)
ISOBIT_ACTIVATION_OP(gelu_erf)
ISOBIT_ACTIVATION_OP(silu)
#undef ISOBIT_ACTIVATION_OP

template <typename T>
struct relu {
    ISOBIT_METHOD T operator()(T a, T b) const { return arith::relu(arith::add(a, b)); }
};

} // namespace isobit::activation

#define ISOBIT_ACTIVATION(NAME, OP, T)                                                                                 \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, const isobit::T *bias, isobit::u64 n) {                                 \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<T>(), recipe_unroll_of<T>>(activation::OP<T>{}, n, dst, src, bias);                       \
    }
#define ISOBIT_ACTIVATION_WALK(NAME, OP, T, V, U)                                                                      \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, const isobit::T *bias, isobit::Walk<3> walk) {                          \
        using namespace isobit;                                                                                        \
        strided<V, U>(Indices<0, 1>{}, activation::OP<T>{}, walk, dst, src, bias);                                     \
    }
#define ISOBIT_ACTIVATION_ROWS(NAME, OP, T) ISOBIT_ACTIVATION_WALK(NAME, OP, T, pack_size<T>(), recipe_unroll_of<T>)
#define ISOBIT_ACTIVATION_STRIDED(NAME, OP, T) ISOBIT_ACTIVATION_WALK(NAME, OP, T, 1, 2)
