// What the scans compute: the accumulator of a dtype, how two accumulators combine, and the result
// of no elements.
#pragma once

#include "device_lib/arith.cuh"
#include "device_lib/extreme.cuh"

namespace isobit::scan {

// The accumulators of sums and products: the compute type of a float, or the unsigned integer in
// which arithmetic wraps.
template <typename T, bool FLOAT = is_float<T>>
struct wrapped {
    using type = compute_t<T>;
};
template <typename T>
struct wrapped<T, false> {
    using type = arith::wrapping<T>;
};

// The accumulators of extremes: the compute type of a float, or an integer of the same sign.
template <typename T, bool FLOAT = is_float<T>>
struct ordered {
    using type = compute_t<T>;
};
template <typename T>
struct ordered<T, false> {
    using type = i32;
};
template <>
struct ordered<u8, false> {
    using type = u32;
};
template <>
struct ordered<u32, false> {
    using type = u32;
};
template <>
struct ordered<i64, false> {
    using type = i64;
};

template <typename A>
ISOBIT_FN A lesser(A a, A b) {
    return a < b ? a : b;
}
template <typename A>
ISOBIT_FN A greater(A a, A b) {
    return a > b ? a : b;
}
#if ISOBIT_MAXIMUM
ISOBIT_FN float lesser(float a, float b) { return machine_minimum(a, b); }
ISOBIT_FN float greater(float a, float b) { return machine_maximum(a, b); }
#else
ISOBIT_FN float lesser(float a, float b) { return arith::smaller(a, b); }
ISOBIT_FN float greater(float a, float b) { return arith::larger(a, b); }
#endif
ISOBIT_FN double lesser(double a, double b) { return arith::smaller(a, b); }
ISOBIT_FN double greater(double a, double b) { return arith::larger(a, b); }

// `none()` is what combines with any value without changing it, not even the sign of a zero.
// `nothing()` is the result of no elements, which the contract gives.

template <typename T>
struct Sum {
    using Acc = typename wrapped<T>::type;
    ISOBIT_FN Acc none() { return is_float<T> ? (Acc)-0.0f : (Acc)0; }
    ISOBIT_FN Acc nothing() { return (Acc)0; }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return a + b; }
};

template <typename T>
struct Prod {
    using Acc = typename wrapped<T>::type;
    ISOBIT_FN Acc none() { return (Acc)1; }
    ISOBIT_FN Acc nothing() { return (Acc)1; }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return a * b; }
};

template <typename T>
struct Min {
    using Acc = typename ordered<T>::type;
    ISOBIT_FN Acc none() {
        if constexpr (is_float<T>)
            return (Acc)from_bits(0x7f800000u);
        else
            return limits<Acc>::MAX;
    }
    ISOBIT_FN Acc nothing() {
        if constexpr (is_float<T>)
            return none();
        else
            return (Acc)limits<T>::MAX;
    }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return lesser(a, b); }
};

template <typename T>
struct Max {
    using Acc = typename ordered<T>::type;
    ISOBIT_FN Acc none() {
        if constexpr (is_float<T>)
            return (Acc)from_bits(0xff800000u);
        else
            return limits<Acc>::MIN;
    }
    ISOBIT_FN Acc nothing() {
        if constexpr (is_float<T>)
            return none();
        else
            return (Acc)limits<T>::MIN;
    }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return greater(a, b); }
};

template <typename Op, typename T>
ISOBIT_FN typename Op::Acc widen(T x) {
    return (typename Op::Acc)to_compute(x);
}

template <typename T, typename A>
ISOBIT_FN T narrow(A x) {
    if constexpr (is_float<T>)
        return from_compute<T>(x);
    else
        return (T)x;
}

} // namespace isobit::scan
