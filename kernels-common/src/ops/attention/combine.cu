// Adds what split.cu has computed for each block of keys, in their order, and divides.
#include "ops/attention/attention.cuh"

namespace isobit {

// A thread has one element of the result.
template <typename T>
ISOBIT_FN void attention_combine(const float *sums, const float *tops, T *to, const Attention &p, u32 elements) {
    const u32 element = block_x() * PACK_BLOCK + thread_x();
    if (element >= elements)
        return;
    const u32 number = divide(element, p.d_of), column = element - number * p.d;
    sums += (u64)number * p.blocks * p.d + column;
    tops += (u64)number * p.blocks * 2;
    float top = negative_infinity(), sum = 0, result = 0;
#pragma unroll 4
    for (u32 block = 0; block < p.blocks; block++) {
        const float added_top = tops[block * 2];
        if (added_top == negative_infinity())
            continue;
        const float next = added_top > top ? added_top : top;
        const float before = before_of(top, next), added = added_of(added_top, next);
        sum = fma(tops[block * 2 + 1], added, sum * before);
        result = fma(sums[(u64)block * p.d], added, result * before);
        top = next;
    }
    const u32 head = divide(number, p.rows_of), batch = divide(head, p.kv_heads);
    const AttentionRow row = attention_row(p, p.row0 + number - head * p.rows_of.size);
    to += batch * p.to[0] + ((head - batch * p.kv_heads.size) * p.group + row.head) * p.to[1] + row.query * p.to[2];
    to[column * p.to[3]] = from_compute<T>(top == negative_infinity() ? 0.0f : (result + 0.0f) / sum);
}

} // namespace isobit

#define ISOBIT_ATTENTION_COMBINE(NAME, T)                                                                              \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const float *sums, const float *tops, T *to, const Attention p, u32 elements) {                               \
        attention_combine<T>(sums, tops, to, p, elements);                                                             \
    }                                                                                                                  \
    }
