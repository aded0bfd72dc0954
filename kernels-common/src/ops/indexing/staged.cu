// Elements at positions along a dimension in which the source is contiguous. A block holds a line
// of the source in shared memory, where random access is cheap, so that all accesses to global
// memory are sequential.
#include "device_lib/ids.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

ISOBIT_CONST u32 STAGED_BLOCK = 256;
// Packs of ids that a thread has in flight at once.
ISOBIT_CONST u32 STAGED_EACH = 4;

// The host's `Staged`.
struct Staged {
    // The lines of destination, ids and source, and the places of their first ids.
    Index<4> lines;
    u64 place;
    // Positions per line, and ids per line.
    u32 size;
    u32 n;
    u64 dst_step;
    u64 ids_step;
    u64 place_step;
    // The number of positions if negative ids count from the end, else 0.
    u64 from_end;
    // Parts of a line's ids, one per block, and the ids per part (whole packs).
    Divisor parts;
    u32 part;
    // Whether the lines of the source begin at multiples of 16 bytes, and whether ids and
    // destination can move in packs.
    u32 src_vectors;
    u32 vectors;
};

// Must match ops/indexing/gather.rs.
static_assert(sizeof(Staged) == 432);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Staged, size) == 368 && ISOBIT_OFFSET(Staged, dst_step) == 376);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Staged, parts) == 408 && ISOBIT_OFFSET(Staged, part) == 420);

// Ids per pack: 16 bytes, at most 8 ids.
template <typename I>
ISOBIT_CONST u32 IDS_PACK = sizeof(I) == 1 ? 8 : 16 / sizeof(I);

template <typename T>
ISOBIT_FN void stage(const T *src, T *line, u32 size, bool vectors) {
    constexpr u32 V = 16 / sizeof(T);
    u32 done = 0;
    if (vectors) {
        done = size / V * V;
#pragma unroll 4
        for (u32 i = thread_x() * V; i < done; i += STAGED_BLOCK * V)
            store<V>(line + i, load<V>(src + i));
    }
    for (u32 i = done + thread_x(); i < size; i += STAGED_BLOCK)
        line[i] = src[i];
    barrier();
}

// Same as `store`, in as many accesses as needed.
template <int V, typename T>
ISOBIT_FN void store_pack(T *to, const Pack<V, T> &value) {
    constexpr int AT_ONCE = V * (int)sizeof(T) > 16 ? 16 / (int)sizeof(T) : V;
#pragma unroll
    for (int h = 0; h < V; h += AT_ONCE) {
        Pack<AT_ONCE, T> part;
#pragma unroll
        for (int v = 0; v < AT_ONCE; v++)
            part.v[v] = value.v[h + v];
        store<AT_ONCE>(to + h, part);
    }
}

// The element of the line that an id selects.
template <typename T, typename I>
ISOBIT_FN T staged_value(const T *line, const Staged &s, I id, bool &fault) {
    u64 at;
    return is_inside(id, s.size, s.from_end, at, fault) ? line[(u32)at] : T{};
}

template <typename T, typename I>
ISOBIT_FN void gather_staged(const T *src, const I *ids, T *dst, const Staged &s, u64 *flag) {
    extern __shared__ vector_detail::words4 shared_words[];
    T *line = (T *)shared_words;
    constexpr u32 V = IDS_PACK<I>;
    const u32 at = divide(block_x(), s.parts), first = (block_x() - at * s.parts.size) * s.part;
    const Offsets<4> place = offsets_of(s.lines, at);
    const u64 number = s.place + place.at[3];
    stage(src + place.at[2], line, s.size, s.src_vectors != 0);
    ids += place.at[1];
    dst += place.at[0];
    const u32 end = s.n - first < s.part ? s.n : first + s.part;
    bool fault = false;
    u32 done = first;
    if (s.vectors != 0) {
        done = first + (end - first) / V * V;
#pragma unroll 1
        for (u32 i = first + thread_x() * V; i < done; i += STAGED_BLOCK * V * STAGED_EACH) {
            Pack<V, I> id[STAGED_EACH];
#pragma unroll
            for (u32 e = 0; e < STAGED_EACH; e++)
                if (i + e * STAGED_BLOCK * V < done)
                    id[e] = load<V>(ids + i + e * STAGED_BLOCK * V);
#pragma unroll
            for (u32 e = 0; e < STAGED_EACH; e++)
                if (i + e * STAGED_BLOCK * V < done) {
                    Pack<V, T> value;
#pragma unroll
                    for (u32 v = 0; v < V; v++)
                        value.v[v] = staged_value(line, s, id[e].v[v], fault);
                    store_pack(dst + i + e * STAGED_BLOCK * V, value);
                }
        }
    }
#pragma unroll 4
    for (u32 i = done + thread_x(); i < end; i += STAGED_BLOCK) {
        const I id = ids[i * s.ids_step];
        dst[i * s.dst_step] = staged_value(line, s, id, fault);
    }
    if (!fault)
        return;
    // The thread's packs, which are contiguous, and the rest.
#pragma unroll 1
    for (u32 i = first + thread_x() * V; i < done; i += STAGED_BLOCK * V)
        report_first(flag, ids, 1, number, s.place_step, i, i + V, 1, s.size, s.from_end);
    report_first(flag, ids, s.ids_step, number, s.place_step, done + thread_x(), end, STAGED_BLOCK, s.size, s.from_end);
}

} // namespace isobit

#define ISOBIT_GATHER_STAGED(NAME, T, I)                                                                               \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const T *src, const I *ids, T *dst, const Staged s, u64 *flag) {                           \
        gather_staged<T, I>(src, ids, dst, s, flag);                                                                   \
    }                                                                                                                  \
    }
