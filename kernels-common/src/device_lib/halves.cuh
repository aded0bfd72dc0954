// Kernels for data that is aligned to 16 bits alone. AMD's cards take words from such addresses in
// their usual mode, and LLVM joins accesses so that they do; these kernels keep every access
// aligned to its size, as NVIDIA's cards demand anyway, and so can be held to it.
#pragma once

#include "device_lib/thread.cuh"

#if defined(__AMDGCN__)
#define ISOBIT_KERNEL_HALVES(BLOCK)                                                                                    \
    extern "C" __attribute__((target("no-unaligned-access-mode"))) __global__                                          \
        __attribute__((amdgpu_flat_work_group_size(1, BLOCK))) void
#define ISOBIT_KERNEL_HALVES_RESIDENT(BLOCK, BLOCKS) ISOBIT_KERNEL_HALVES(BLOCK)
#else
#define ISOBIT_KERNEL_HALVES(BLOCK) ISOBIT_KERNEL(BLOCK)
#define ISOBIT_KERNEL_HALVES_RESIDENT(BLOCK, BLOCKS) ISOBIT_KERNEL_RESIDENT(BLOCK, BLOCKS)
#endif
