// Sets elements at positions along lines: finds the last source of each destination of a block in
// shared memory, then moves it.
#include "ops/indexing/lines.cuh"

namespace isobit {

ISOBIT_CONST u32 SET_BLOCK = 256;
// Elements that a thread has in flight at once.
ISOBIT_CONST u32 SET_EACH = 4;

template <typename T, typename I>
ISOBIT_FN void lines_set(T *dst, const I *ids, const T *src, const Lines &l, u64 *flag) {
    extern __shared__ vector_detail::words4 shared_words[];
    // For each destination, one more than the position of its last source, so that 0 means none.
    // The host ensures that positions fit.
    u32 *last = (u32 *)shared_words;
    const Line line = line_of(l, SET_BLOCK);
    const u32 all = line.range << l.across_shift, n = (u32)l.n;
    for (u32 i = thread_x(); i < all; i += SET_BLOCK)
        last[i] = 0;
    barrier();
    bool fault = false;
    if (line.exists) {
        ids += line.at[1];
#pragma unroll 1
        for (u32 k = line.row; k < n; k += line.rows * SET_EACH) {
            I id[SET_EACH];
#pragma unroll
            for (u32 e = 0; e < SET_EACH; e++)
                if (k + e * line.rows < n)
                    id[e] = ids[(k + e * line.rows) * l.along[1]];
#pragma unroll
            for (u32 e = 0; e < SET_EACH; e++) {
                u64 key;
                if (k + e * line.rows < n && is_ours(id[e], l, line, key, fault))
                    atomic_max(&last[(u32)key << l.across_shift | line.column], k + e * line.rows + 1);
            }
        }
    }
    if (fault)
        report_line(flag, ids, l, line);
    barrier();
    // A thread stays on its line, because the block's step is a multiple of the number of lines.
    dst += line.at[0] + line.low * l.along[0];
    src += line.at[2];
#pragma unroll 1
    for (u32 d = line.row; d < line.range; d += line.rows * SET_EACH) {
        u32 from[SET_EACH];
        T value[SET_EACH];
#pragma unroll
        for (u32 e = 0; e < SET_EACH; e++)
            from[e] = d + e * line.rows < line.range ? last[(d + e * line.rows) << l.across_shift | line.column] : 0;
#pragma unroll
        for (u32 e = 0; e < SET_EACH; e++)
            if (from[e] != 0)
                value[e] = src[(u64)(from[e] - 1) * l.along[2]];
#pragma unroll
        for (u32 e = 0; e < SET_EACH; e++)
            if (from[e] != 0)
                dst[(d + e * line.rows) * l.along[0]] = value[e];
    }
}

} // namespace isobit

#define ISOBIT_LINES_SET(NAME, T, I)                                                                                   \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(T *dst, const I *ids, const T *src, const Lines l, u64 *flag) {                            \
        lines_set<T, I>(dst, ids, src, l, flag);                                                                       \
    }                                                                                                                  \
    }
