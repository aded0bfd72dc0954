// The transcendental unary operations, with the recipes of the module's prelude.
#include "ops/unary/unary.cuh"

namespace isobit::unary {

#define ISOBIT_UNARY_OP(NAME)                                                                                          \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD T operator()(T x) const { return ISOBIT_RECIPE(NAME, x); }                                       \
    };
ISOBIT_UNARY_OP(rsqrt)
ISOBIT_UNARY_OP(exp)
ISOBIT_UNARY_OP(exp2)
ISOBIT_UNARY_OP(log)
ISOBIT_UNARY_OP(log2)
ISOBIT_UNARY_OP(log1p)
ISOBIT_UNARY_OP(expm1)
ISOBIT_UNARY_OP(sin)
ISOBIT_UNARY_OP(cos)
ISOBIT_UNARY_OP(tan)
ISOBIT_UNARY_OP(tanh)
ISOBIT_UNARY_OP(sinh)
ISOBIT_UNARY_OP(cosh)
ISOBIT_UNARY_OP(asin)
ISOBIT_UNARY_OP(acos)
ISOBIT_UNARY_OP(atan)
ISOBIT_UNARY_OP(erf)
ISOBIT_UNARY_OP(gelu)
ISOBIT_UNARY_OP(gelu_erf)
ISOBIT_UNARY_OP(silu)
ISOBIT_UNARY_OP(sigmoid)
ISOBIT_UNARY_OP(asinh)
ISOBIT_UNARY_OP(acosh)
ISOBIT_UNARY_OP(atanh)
ISOBIT_UNARY_OP(softplus)
ISOBIT_UNARY_OP(mish)
ISOBIT_UNARY_OP(hard_sigmoid)
ISOBIT_UNARY_OP(hard_swish)
ISOBIT_UNARY_OP(selu)
#undef ISOBIT_UNARY_OP

} // namespace isobit::unary

#define ISOBIT_UNARY(NAME, OP, T) ISOBIT_UNARY_CONTIGUOUS(NAME, OP, T, recipe_unroll_of<T>)
#define ISOBIT_UNARY_STRIDED(NAME, OP, T) ISOBIT_UNARY_WALK(NAME, OP, T, 2)
