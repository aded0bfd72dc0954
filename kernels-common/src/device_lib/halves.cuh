// Kernels for data that is aligned to only 16 bits. In their default mode AMD GPUs allow word
// accesses at such addresses, and LLVM merges accesses into such words. These kernels instead keep
// every access aligned to its size, which NVIDIA GPUs require anyway, so that the alignment can be
// checked.
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
