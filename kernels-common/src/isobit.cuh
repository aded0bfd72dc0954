// The whole dialect for custom kernels: `#include <isobit.cuh>`. The same source compiles with
// NVRTC and HIPRTC, and gives the same bits on every card and on the host.
//
//     #include <isobit.cuh>
//
//     ISOBIT_KERNEL(256) silu(float *y, const float *x, isobit::u64 n) {
//         for (isobit::u64 i = isobit::first_element(); i < n; i += isobit::all_threads())
//             y[i] = isobit::silu(x[i]);
//     }
//
// Keep the `isobit::` qualifier: compilers declare their own functions under the C names, and the
// last bits of those differ between vendors.
// - Kernels: ISOBIT_KERNEL(BLOCK) declares one for blocks of up to BLOCK threads; `__shared__`
//   memory, barrier(); thread_x(), block_x(), block_dim_x(), grid_dim_x() and similar functions.
// - Types: u8 to u64, f16, bf16, f8e4m3, f8e5m2, float, double. The narrow ones are for storage:
//   to_f32(x) is exact, round_to<f16>(y) rounds once, cast<To>(x) converts like the operation of
//   that name.
// - Mathematics with results defined to the bit: the functions below, for every floating type;
//   arith:: for arithmetic on narrow types as the operations do it; fma, sqrt, rint, floor, ceil,
//   trunc, abs, copysign on float and double.
// - load and store of up to 16 bytes, atomics on integers, Philox.
#pragma once

#include "device_lib/arith.cuh"
#include "device_lib/atomic.cuh"
#include "device_lib/bits.cuh"
#include "device_lib/cast.cuh"
#include "device_lib/f8e5m2.cuh"
#include "device_lib/limits.cuh"
#include "device_lib/math/f32.cuh"
#include "device_lib/math/f64.cuh"
#include "device_lib/math/narrow.cuh"
#include "device_lib/philox.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// The thread's position in the grid along x, and the number of threads along x: the start and the
// step of a loop over elements.
ISOBIT_FN u64 first_element() { return (u64)block_x() * block_dim_x() + thread_x(); }
ISOBIT_FN u64 all_threads() { return (u64)grid_dim_x() * block_dim_x(); }

#define ISOBIT_FUNCTION(NAME)                                                                                          \
    template <typename T>                                                                                              \
    ISOBIT_FN T NAME(T x) {                                                                                            \
        if constexpr (is_same<T, f8e5m2>)                                                                              \
            return round_to<T>(math::NAME(to_f32(x)));                                                                 \
        else if constexpr (is_narrow<T>)                                                                               \
            return round_to<T>(narrow::NAME<T>(to_f32(x)));                                                            \
        else                                                                                                           \
            return math::NAME(x);                                                                                      \
    }
ISOBIT_FUNCTION(rsqrt)
ISOBIT_FUNCTION(exp)
ISOBIT_FUNCTION(exp2)
ISOBIT_FUNCTION(log)
ISOBIT_FUNCTION(log2)
ISOBIT_FUNCTION(log1p)
ISOBIT_FUNCTION(expm1)
ISOBIT_FUNCTION(sin)
ISOBIT_FUNCTION(cos)
ISOBIT_FUNCTION(tan)
ISOBIT_FUNCTION(tanh)
ISOBIT_FUNCTION(sinh)
ISOBIT_FUNCTION(cosh)
ISOBIT_FUNCTION(asin)
ISOBIT_FUNCTION(acos)
ISOBIT_FUNCTION(atan)
ISOBIT_FUNCTION(erf)
ISOBIT_FUNCTION(gelu)
ISOBIT_FUNCTION(gelu_erf)
ISOBIT_FUNCTION(silu)
ISOBIT_FUNCTION(sigmoid)
ISOBIT_FUNCTION(asinh)
ISOBIT_FUNCTION(acosh)
ISOBIT_FUNCTION(atanh)
ISOBIT_FUNCTION(softplus)
ISOBIT_FUNCTION(mish)
ISOBIT_FUNCTION(hard_sigmoid)
ISOBIT_FUNCTION(hard_swish)
ISOBIT_FUNCTION(selu)
#undef ISOBIT_FUNCTION

} // namespace isobit
