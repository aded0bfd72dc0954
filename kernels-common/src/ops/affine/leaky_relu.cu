// x above zero, slope * x elsewhere.
#include "ops/function.cuh"

namespace isobit {

template <typename T>
struct LeakyRelu {
    compute_t<T> slope;
    ISOBIT_METHOD T operator()(T x) const {
        const compute_t<T> c = to_compute(x);
        return from_compute<T>(c > 0 ? c : c * slope);
    }
};

} // namespace isobit

#define ISOBIT_LEAKY_RELU(NAME, T)                                                                                     \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, isobit::u64 n, isobit::compute_t<isobit::T> slope) {                    \
        using namespace isobit;                                                                                        \
        contiguous_function<unroll_of<T>>(LeakyRelu<T>{slope}, n, dst, src);                                           \
    }
#define ISOBIT_LEAKY_RELU_STRIDED(NAME, T)                                                                             \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *src, isobit::Walk<2> walk, isobit::compute_t<isobit::T> slope) {             \
        using namespace isobit;                                                                                        \
        strided_function<4>(LeakyRelu<T>{slope}, walk, dst, src);                                                      \
    }
