// Turns tuples of ids into positions in the flattened dimensions that they index.
#include "ops/indexing/tuples.cuh"

namespace isobit {

// A tuple with an id that is padding or out of range becomes padding.
template <typename I>
ISOBIT_FN void tuples(const I *ids, i64 *positions, const Tuples &t, u64 *flag) {
    const u32 i = block_x() * TUPLES_BLOCK + thread_x();
    if (i >= t.n)
        return;
    const Offsets<4> from = offsets_of(t.tuples, i);
    i64 *to = positions + from.at[3];
    u64 position = t.start + from.at[2];
    bool is_somewhere = true;
    if (t.resumes != 0) {
        position = (u64)*to;
        is_somewhere = !is_padding(*to);
    }
    bool fault = false;
#pragma unroll 1
    for (u32 k = 0; k < t.ids; k++) {
        const I id = ids[from.at[0] + k * t.step];
        const bool known = fault;
        add_id(t, k, id, position, is_somewhere, fault);
        if (fault && !known)
            report_fault(flag, t.place + from.at[1] + k * t.place_step, id);
    }
    *to = is_somewhere ? (i64)position : limits<i64>::MAX;
}

} // namespace isobit

#define ISOBIT_TUPLES(NAME, I)                                                                                         \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const I *ids, i64 *positions, const Tuples t, u64 *flag) {                                 \
        tuples<I>(ids, positions, t, flag);                                                                            \
    }                                                                                                                  \
    }
