// powf with the exponents 3, -2, 1/2 and -1/2, which have recipes of their own. 1, 2 and -1 have
// the kernels of other operations.
#include "device_lib/arith.cuh"
#include "ops/unary/unary.cuh"

namespace isobit::unary {

template <typename T>
struct cube {
    ISOBIT_METHOD T operator()(T x) const {
        const compute_t<T> c = to_compute(x);
        return from_compute<T>(c * (c * c));
    }
};

template <typename T>
struct inverse_square {
    ISOBIT_METHOD T operator()(T x) const {
        const compute_t<T> inverse = arith::ratio<T>(1, to_compute(x));
        return from_compute<T>(inverse * inverse);
    }
};

// Powers of -0 and minus infinity are those of +0 and infinity.
template <typename C>
ISOBIT_FN C radicand(C x) {
    return x == -(C)narrow::infinity() ? -x : x + 0;
}

template <typename T>
struct root {
    ISOBIT_METHOD T operator()(T x) const { return from_compute<T>(arith::root<T>(radicand(to_compute(x)))); }
};

template <typename T>
struct inverse_root {
    ISOBIT_METHOD T operator()(T x) const { return ISOBIT_RECIPE(rsqrt, radicand(to_compute(x))); }
};

} // namespace isobit::unary

#define ISOBIT_POWER(NAME, OP, T) ISOBIT_UNARY_CONTIGUOUS(NAME, OP, T, unroll_of<T>)
#define ISOBIT_POWER_STRIDED(NAME, OP, T) ISOBIT_UNARY_WALK(NAME, OP, T, 4)
