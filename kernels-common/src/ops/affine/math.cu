// powf, elu and celu: transcendental functions with a parameter in the compute type. They use the
// recipes of the module's prelude.
#include "ops/function.cuh"

namespace isobit::with_parameter {

#define ISOBIT_PARAMETER_OP(NAME, RECIPE)                                                                              \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        compute_t<T> parameter;                                                                                        \
        ISOBIT_METHOD T operator()(T x) const { return ISOBIT_RECIPE_2(RECIPE, x, parameter); }                        \
    };
ISOBIT_PARAMETER_OP(powf, pow)
ISOBIT_PARAMETER_OP(elu, elu)
ISOBIT_PARAMETER_OP(celu, celu)
#undef ISOBIT_PARAMETER_OP

} // namespace isobit::with_parameter

#define ISOBIT_PARAMETER(NAME, OP, T)                                                                                  \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, isobit::u64 n, isobit::compute_t<isobit::T> parameter) {                \
        using namespace isobit;                                                                                        \
        contiguous_function<recipe_unroll_of<T>>(with_parameter::OP<T>{parameter}, n, dst, src);                       \
    }
#define ISOBIT_PARAMETER_STRIDED(NAME, OP, T)                                                                          \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, isobit::Walk<2> walk, isobit::compute_t<isobit::T> parameter) {         \
        using namespace isobit;                                                                                        \
        strided_function<2>(with_parameter::OP<T>{parameter}, walk, dst, src);                                         \
    }
