// The results that are no block product: those of a line with an infinity or a NaN.
#pragma once

#include "ops/matmul/segments.cuh"

namespace isobit {

// A result as a chain of fused multiply-adds. `add(segment, l)` returns the sum with product l; it
// is called in ascending order.
template <typename Add>
ISOBIT_FN float chain_of(u64 k, const Add &add) {
    float sum = nothing<float>();
#pragma unroll 1
    for (u64 at = 0; at < k; at += PRODUCT_SEGMENT) {
        const u64 end = k - at < PRODUCT_SEGMENT ? k : at + PRODUCT_SEGMENT;
        float segment = 0;
#pragma unroll 1
        for (u64 l = at; l < end; l++)
            segment = add(segment, l);
        sum = sum + segment;
    }
    return sum;
}
template <typename T>
ISOBIT_FN float chain(const T *a, u64 a_step, const T *b, u64 b_step, u64 k) {
    return chain_of(k, [&](float segment, u64 l) {
        return fma(to_compute(a[l * a_step]), to_compute(b[l * b_step]), segment);
    });
}

} // namespace isobit
