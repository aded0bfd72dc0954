// The multiply-add of integers, which wraps, under the name that the products of floats call. It is
// included before them, because their templates do not look for it later.
#pragma once

#include "device_lib/base.cuh"

namespace isobit {

ISOBIT_FN u32 fma(u32 a, u32 b, u32 c) { return a * b + c; }
ISOBIT_FN u64 fma(u64 a, u64 b, u64 c) { return a * b + c; }

} // namespace isobit
