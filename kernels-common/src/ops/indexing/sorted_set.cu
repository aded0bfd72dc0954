// Sets elements from sorted sources: only the last source of each destination is moved.
#include "device_lib/vector.cuh"
#include "ops/indexing/sorted.cuh"

namespace isobit {

template <typename T>
ISOBIT_FN void sorted_set(T *dst, const T *src, const u32 *keys, const u32 *order, const Sorted &s) {
    const SortedItem i = sorted_item(s);
    if (!i.exists)
        return;
    const u32 key = keys[i.item];
    if (key == s.nowhere || (i.item + 1 < s.count && keys[i.item + 1] == key))
        return;
    const Offsets<2> at = offsets_of(s.slice, i.column);
    dst[destination_of(s, key) + at.at[0]] = src[source_of(s, order[i.item]) + at.at[1]];
}

} // namespace isobit

#define ISOBIT_SORTED_SET(NAME, T)                                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(T *dst, const T *src, const u32 *keys, const u32 *order, const Sorted s) {                 \
        sorted_set<T>(dst, src, keys, order, s);                                                                       \
    }                                                                                                                  \
    }
