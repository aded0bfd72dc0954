// The larger and the smaller of two floats on targets with a single instruction for it: IEEE
// 754-2019 maximum and minimum (NaN propagates, -0 is less than +0), which PTX has since 7.0 for
// sm_80. ISOBIT_MAXIMUM is 1 if the instruction exists; other targets do without it.
#pragma once

#include "device_lib/base.cuh"

#if defined(ISOBIT_PTX70) && defined(__clang__) && defined(__NVPTX__)
#define ISOBIT_MAXIMUM 1

namespace isobit {

ISOBIT_FN float machine_maximum(float a, float b) { return __nvvm_fmax_nan_f(a, b); }
ISOBIT_FN float machine_minimum(float a, float b) { return __nvvm_fmin_nan_f(a, b); }

} // namespace isobit
#else
#define ISOBIT_MAXIMUM 0
#endif
