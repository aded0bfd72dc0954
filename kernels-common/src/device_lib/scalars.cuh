// What the threads of a block have in common.
#pragma once

#include "device_lib/base.cuh"

namespace isobit {

// Whether such values have registers of their own, of which there are enough.
#if defined(__AMDGCN__)
ISOBIT_CONST bool HAS_SCALAR_REGISTERS = true;
#else
ISOBIT_CONST bool HAS_SCALAR_REGISTERS = false;
#endif

} // namespace isobit
