// Combines sorted sources: one thread takes all sources of a destination, in order.
#pragma once

#include "device_lib/vector.cuh"
#include "ops/indexing/combine.cuh"
#include "ops/indexing/sorted.cuh"

namespace isobit {

// Sources in flight at once.
ISOBIT_CONST u32 SORTED_AHEAD = 4;

template <typename T, int V, typename Op>
ISOBIT_FN void sorted_combine(T *dst, const T *src, const u32 *keys, const u32 *order, const Sorted &s) {
    using C = compute_t<T>;
    const SortedItem i = sorted_item(s);
    if (!i.exists)
        return;
    const u32 key = keys[i.item];
    if (key == s.nowhere || (i.item > 0 && keys[i.item - 1] == key))
        return;
    const Offsets<2> at = offsets_of(s.slice, i.column);
    dst += (destination_of(s, key) + at.at[0]) * V;
    src += at.at[1] * V;
    const Pack<V, T> before = load<V>(dst);
    C value[V];
#pragma unroll
    for (int v = 0; v < V; v++)
        value[v] = to_compute(before.v[v]);
    u32 item = i.item;
    bool more = true;
#pragma unroll 1
    while (more) {
        Pack<V, T> x[SORTED_AHEAD];
        bool ours[SORTED_AHEAD];
#pragma unroll
        for (u32 e = 0; e < SORTED_AHEAD; e++)
            ours[e] = s.count - item > e && keys[item + e] == key;
#pragma unroll
        for (u32 e = 0; e < SORTED_AHEAD; e++)
            if (ours[e])
                x[e] = load<V>(src + source_of(s, order[item + e]) * V);
#pragma unroll
        for (u32 e = 0; e < SORTED_AHEAD; e++)
            if (ours[e])
#pragma unroll
                for (int v = 0; v < V; v++)
                    value[v] = Op::of(value[v], to_compute(x[e].v[v]));
        item += SORTED_AHEAD;
        more = ours[SORTED_AHEAD - 1] && item < s.count && keys[item] == key;
    }
    Pack<V, T> after;
#pragma unroll
    for (int v = 0; v < V; v++)
        after.v[v] = rounded(value[v], before.v[v]);
    store<V>(dst, after);
}

} // namespace isobit
