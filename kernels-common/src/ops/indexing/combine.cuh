// How a scatter combines two elements, in the compute type, and what becomes of the result.
#pragma once

#include "device_lib/arith.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

struct CombineAdd {
    template <typename C>
    ISOBIT_FN C of(C a, C b) {
        return arith::add(a, b);
    }
};

struct CombineProd {
    template <typename C>
    ISOBIT_FN C of(C a, C b) {
        return arith::mul(a, b);
    }
};

struct CombineAmin {
    template <typename C>
    ISOBIT_FN C of(C a, C b) {
        return arith::minimum(a, b);
    }
};

struct CombineAmax {
    template <typename C>
    ISOBIT_FN C of(C a, C b) {
        return arith::maximum(a, b);
    }
};

// The NaN that a narrow element becomes: in place, it is all that does not depend on the order.
template <typename T>
ISOBIT_FN T nan_of() {
    using Bits = vector_detail::bits_of<T>;
    return __builtin_bit_cast(T, (Bits)((Bits)~(Bits)0 >> 1));
}

// Rounds a value for the destination. A NaN that was there before keeps its bits, which the compute
// type may have changed, because possibly nothing was combined with it.
template <typename T>
ISOBIT_FN T rounded(compute_t<T> value, const T &before) {
    if constexpr (is_narrow<T>)
        if (is_nan(value))
            return is_nan(to_compute(before)) ? before : nan_of<T>();
    return from_compute<T>(value);
}

} // namespace isobit
