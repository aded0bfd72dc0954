// The keys by which the sources of a scatter are sorted: their destinations.
#include "device_lib/ids.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"

namespace isobit {

ISOBIT_CONST u32 ORDER_BLOCK = 256;

// The host's `Keys`: lines of `n` ids, each with `size` destinations along it. Fewer than 2^31 ids
// and destinations in total.
struct Keys {
    // Also the places of the lines' first ids in the order of the ids, and the steps of both.
    Index<4> lines;
    u64 step;
    u64 place_step;
    u64 place;
    Divisor n;
    u32 size;
    // The number of destinations per line if negative ids count from the end, else 0.
    u32 from_end;
    u32 count;
    // The key of sources without a destination: one more than all other keys.
    u32 nowhere;
};

// Must match ops/indexing/order.rs.
static_assert(sizeof(Keys) == 416);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Keys, step) == 360 && ISOBIT_OFFSET(Keys, n) == 384);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Keys, size) == 396);

template <typename I>
ISOBIT_FN void order_keys(const I *ids, u32 *keys, const Keys &k, u64 *flag) {
    const u32 i = block_x() * ORDER_BLOCK + thread_x();
    if (i >= k.count)
        return;
    const u32 line = divide(i, k.n), along = i - line * k.n.size;
    const Offsets<4> start = offsets_of(k.lines, line);
    const I id = ids[start.at[1] + along * k.step];
    u64 at;
    bool fault = false;
    const bool inside = is_inside(id, k.size, k.from_end, at, fault);
    keys[i] = inside ? line * k.size + (u32)at : k.nowhere;
    if (fault)
        report_fault(flag, k.place + start.at[3] + along * k.place_step, id);
}

} // namespace isobit

#define ISOBIT_ORDER_KEYS(NAME, I)                                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const I *ids, u32 *keys, const Keys k, u64 *flag) {                                        \
        order_keys(ids, keys, k, flag);                                                                                \
    }                                                                                                                  \
    }
