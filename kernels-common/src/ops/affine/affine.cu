// x * mul + add.
#include "device_lib/arith.cuh"
#include "ops/function.cuh"

namespace isobit {

template <typename T>
struct Affine {
    compute_t<T> factor, summand;
    ISOBIT_METHOD T operator()(T x) const { return arith::affine(x, factor, summand); }
};

} // namespace isobit

#define ISOBIT_AFFINE(NAME, T)                                                                                         \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, isobit::u64 n, isobit::compute_t<isobit::T> factor,                     \
         isobit::compute_t<isobit::T> summand) {                                                                       \
        using namespace isobit;                                                                                        \
        contiguous_function<unroll_of<T>>(Affine<T>{factor, summand}, n, dst, src);                                    \
    }
#define ISOBIT_AFFINE_STRIDED(NAME, T)                                                                                 \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, isobit::Walk<2> walk, isobit::compute_t<isobit::T> factor,              \
         isobit::compute_t<isobit::T> summand) {                                                                       \
        using namespace isobit;                                                                                        \
        strided_function<4>(Affine<T>{factor, summand}, walk, dst, src);                                               \
    }
