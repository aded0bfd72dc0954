// Properties and range of each dtype. Not every device compiler has the standard header <limits>.
#pragma once

#include "device_lib/narrow_types.cuh"

namespace isobit {

// Every dtype has its own name in kernel symbols and macros.
using f32 = float;
using f64 = double;

template <typename T>
struct limits;

#define ISOBIT_LIMITS_INT(T, LOWEST, HIGHEST)                                                                          \
    template <>                                                                                                        \
    struct limits<T> {                                                                                                 \
        static constexpr bool IS_FLOAT = false;                                                                        \
        static constexpr bool IS_SIGNED = (LOWEST) != 0;                                                               \
        static constexpr T MIN = LOWEST;                                                                               \
        static constexpr T MAX = HIGHEST;                                                                              \
        /* What arithmetic is done in. */                                                                              \
        using compute = T;                                                                                             \
    };
ISOBIT_LIMITS_INT(u8, 0, 0xff)
ISOBIT_LIMITS_INT(i8, -0x80, 0x7f)
ISOBIT_LIMITS_INT(u16, 0, 0xffff)
ISOBIT_LIMITS_INT(i16, -0x8000, 0x7fff)
ISOBIT_LIMITS_INT(u32, 0, 0xffffffffu)
ISOBIT_LIMITS_INT(i32, -0x7fffffff - 1, 0x7fffffff)
ISOBIT_LIMITS_INT(u64, 0, 0xffffffffffffffffull)
ISOBIT_LIMITS_INT(i64, -0x7fffffffffffffffll - 1, 0x7fffffffffffffffll)
#undef ISOBIT_LIMITS_INT

#define ISOBIT_LIMITS_FLOAT(T, COMPUTE)                                                                                \
    template <>                                                                                                        \
    struct limits<T> {                                                                                                 \
        static constexpr bool IS_FLOAT = true;                                                                         \
        static constexpr bool IS_SIGNED = true;                                                                        \
        using compute = COMPUTE;                                                                                       \
    };
ISOBIT_LIMITS_FLOAT(f8e4m3, float)
ISOBIT_LIMITS_FLOAT(f16, float)
ISOBIT_LIMITS_FLOAT(bf16, float)
ISOBIT_LIMITS_FLOAT(float, float)
ISOBIT_LIMITS_FLOAT(double, double)
#undef ISOBIT_LIMITS_FLOAT

// The type in which arithmetic on T is done: f32 for floats of up to 32 bits, else T.
template <typename T>
using compute_t = typename limits<T>::compute;

template <typename T>
constexpr bool is_float = limits<T>::IS_FLOAT;

template <typename A, typename B>
constexpr bool is_same = false;
template <typename A>
constexpr bool is_same<A, A> = true;

// Whether T is a float whose arithmetic is done in a wider type.
template <typename T>
constexpr bool is_narrow = is_float<T> && !is_same<T, compute_t<T>>;

// Converts to the compute type; exact.
template <typename T>
ISOBIT_FN compute_t<T> to_compute(T x) {
    if constexpr (is_narrow<T>)
        return to_f32(x);
    else
        return x;
}

// Rounds to the nearest value of T.
template <typename T>
ISOBIT_FN T from_compute(compute_t<T> x) {
    if constexpr (is_narrow<T>)
        return round_to<T>(x);
    else
        return x;
}

} // namespace isobit
