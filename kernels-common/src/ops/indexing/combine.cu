// Scatters that combine elements: along lines, from sorted sources, and in place.
#include "ops/indexing/in_place.cuh"
#include "ops/indexing/lines_combine.cuh"
#include "ops/indexing/sorted_combine.cuh"

#define ISOBIT_LINES_COMBINE(NAME, T, I, OP)                                                                           \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(64) NAME(T *dst, const I *ids, const T *src, const Lines l, u64 *flag) {                             \
        lines_combine<T, I, Combine##OP>(dst, ids, src, l, flag);                                                      \
    }                                                                                                                  \
    }

#define ISOBIT_SORTED_COMBINE(NAME, T, V, OP)                                                                          \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(T *dst, const T *src, const u32 *keys, const u32 *order, const Sorted s) {                 \
        sorted_combine<T, V, Combine##OP>(dst, src, keys, order, s);                                                   \
    }                                                                                                                  \
    }

#define ISOBIT_IN_PLACE(NAME, T, I, OP)                                                                                \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(T *dst, const I *ids, const T *src, const Each g, u64 *flag) {                             \
        in_place<T, I, Combine##OP>(dst, ids, src, g, flag);                                                           \
    }                                                                                                                  \
    }

#define ISOBIT_IN_PLACE_ND(NAME, T, I, OP)                                                                             \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(T *dst, const I *ids, const T *src, const Tuples t, u64 *flag) {                           \
        in_place_nd<T, I, Combine##OP>(dst, ids, src, t, flag);                                                        \
    }                                                                                                                  \
    }
