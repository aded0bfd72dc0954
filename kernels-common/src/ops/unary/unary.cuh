// The kernels of functions of one argument. The sources in this folder declare the functors, named
// after the operations.
#pragma once

#include "ops/function.cuh"

#define ISOBIT_UNARY_CONTIGUOUS(NAME, OP, T, PACKS)                                                                    \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK) NAME(isobit::T *dst, const isobit::T *src, isobit::u64 n) {               \
        using namespace isobit;                                                                                        \
        contiguous_function<PACKS>(unary::OP<T>{}, n, dst, src);                                                       \
    }
#define ISOBIT_UNARY_WALK(NAME, OP, T, ELEMENTS)                                                                       \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK) NAME(isobit::T *dst, const isobit::T *src, isobit::Walk<2> walk) {        \
        using namespace isobit;                                                                                        \
        strided_function<ELEMENTS>(unary::OP<T>{}, walk, dst, src);                                                    \
    }
