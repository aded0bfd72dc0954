// Adds what split.cu has computed for each block of keys, in their order, and divides.
#include "ops/attention/attention.cuh"

namespace isobit {

// Blocks of keys whose sums a thread loads at once.
ISOBIT_CONST u32 COMBINE_AT_ONCE = 8;

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
#pragma unroll 1
    for (u32 first = 0; first < p.blocks; first += COMBINE_AT_ONCE) {
        // All loads before the first result is used. A block that nobody sees has no sums and adds
        // 0.
        Pack<2, float> added[COMBINE_AT_ONCE];
        float of_column[COMBINE_AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < COMBINE_AT_ONCE; i++)
            added[i] = first + i < p.blocks ? load<2>(tops + (first + i) * 2) : Pack<2, float>{negative_infinity(), 0};
#pragma unroll
        for (u32 i = 0; i < COMBINE_AT_ONCE; i++)
            of_column[i] = added[i].v[0] != negative_infinity() ? sums[(u64)(first + i) * p.d] : 0.0f;
#pragma unroll
        for (u32 i = 0; i < COMBINE_AT_ONCE; i++) {
            const float next = added[i].v[0] > top ? added[i].v[0] : top;
            const float before = before_of(top, next), unit = added_of(added[i].v[0], next);
            sum = fma(added[i].v[1], unit, sum * before);
            result = fma(of_column[i], unit, result * before);
            top = next;
        }
    }
    const u32 head = divide(number, p.rows_of), batch = divide(head, p.kv_heads);
    const AttentionRow row = attention_row(p, p.row0 + number - head * p.rows_of.size);
    to += row_offset(p.to, p, batch, head - batch * p.kv_heads.size, row);
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
