// min(max(x, low), high), with the limits in the compute type.
#include "device_lib/arith.cuh"
#include "ops/function.cuh"

namespace isobit {

template <typename T>
struct Clamp {
    compute_t<T> low, high;
    ISOBIT_METHOD T operator()(T x) const {
        if constexpr (is_float<T>) {
            return from_compute<T>(arith::smaller(arith::larger(to_compute(x), low), high));
        } else {
            return arith::minimum(arith::maximum(x, low), high);
        }
    }
};

} // namespace isobit

#define ISOBIT_CLAMP(NAME, T)                                                                                          \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, isobit::u64 n, isobit::compute_t<isobit::T> low,                        \
         isobit::compute_t<isobit::T> high) {                                                                          \
        using namespace isobit;                                                                                        \
        contiguous_function<unroll_of<T>>(Clamp<T>{low, high}, n, dst, src);                                           \
    }
#define ISOBIT_CLAMP_STRIDED(NAME, T)                                                                                  \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, isobit::Walk<2> walk, isobit::compute_t<isobit::T> low,                 \
         isobit::compute_t<isobit::T> high) {                                                                          \
        using namespace isobit;                                                                                        \
        strided_function<4>(Clamp<T>{low, high}, walk, dst, src);                                                      \
    }
