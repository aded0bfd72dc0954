// The kernels of functions of two arguments. The sources in this folder declare the functors, named
// after the operations.
#pragma once

#include "ops/function.cuh"

#define ISOBIT_BINARY_CONTIGUOUS(NAME, OP, T, PACKS)                                                                                  \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *lhs, const isobit::T *rhs, isobit::u64 n) {                                  \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<T>(), PACKS>(binary::OP<T>{}, n, dst, lhs, rhs);                                   \
    }
#define ISOBIT_BINARY_WALK(NAME, OP, T, V, U)                                                                          \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::T *lhs, const isobit::T *rhs, isobit::Walk<3> walk) {                           \
        using namespace isobit;                                                                                        \
        strided_pairs<V, U>(binary::OP<T>{}, walk, dst, lhs, rhs);                                                     \
    }
