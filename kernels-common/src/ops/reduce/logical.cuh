// Whether any, or every, element is not 0. NaN is not 0.
#pragma once

#include "device_lib/arith.cuh"
#include "ops/reduce/ops.cuh"

namespace isobit {

template <typename T>
ISOBIT_FN u32 is_set(T x) {
    // The bits decide for narrow floats, which saves the conversion.
    if constexpr (is_narrow<T>)
        return (x.bits & ~arith::SIGN<T>) != 0 ? 1 : 0;
    else
        return x != 0 ? 1 : 0;
}

template <typename T>
struct Any {
    using In = T;
    using Acc = u32;
    using Lane = Acc;
    using Out = u8;
    ISOBIT_FN Acc none() { return 0; }
    ISOBIT_FN Lane start() { return none(); }
    ISOBIT_FN void step(Lane &lane, T x, u32) { lane = lane | is_set(x); }
    ISOBIT_FN Acc of_lane(Lane lane, u32, u32) { return lane; }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return a | b; }
    ISOBIT_FN u8 finish(Acc a, double) { return (u8)a; }
};

template <typename T>
struct All : Any<T> {
    using typename Any<T>::Acc;
    using typename Any<T>::Lane;
    ISOBIT_FN Acc none() { return 1; }
    ISOBIT_FN Lane start() { return none(); }
    ISOBIT_FN void step(Lane &lane, T x, u32) { lane = lane & is_set(x); }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return a & b; }
};

} // namespace isobit
