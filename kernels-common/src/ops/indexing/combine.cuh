// How a scatter combines two elements, in the compute type.
#pragma once

#include "device_lib/arith.cuh"

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

} // namespace isobit
