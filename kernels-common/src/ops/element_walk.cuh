// A walk over the elements of a tensor in any layout whose last two dimensions are rows and
// columns. It gives each element's position in the destination, its position (or that of its plane)
// in the source, and its row and column. The host's side is `element_walk.rs`.
#pragma once

#include "device_lib/elementwise.cuh"
#include "device_lib/index.cuh"

namespace isobit {

struct ElementWalk {
    // Source, destination, rows and columns.
    Index<4> index;
    // Row and column of the first element.
    u64 row;
    u64 column;
    // Units of work, below 2^31.
    u32 units;
};

// Must match launch/element_walk.rs.
static_assert(sizeof(ElementWalk) == 384);
ISOBIT_LAYOUT(ISOBIT_OFFSET(ElementWalk, row) == 360 && ISOBIT_OFFSET(ElementWalk, units) == 376);

struct Element {
    u64 src;
    u64 dst;
    u64 row;
    u64 column;
};

// Calls `f` for every unit.
template <typename F>
ISOBIT_FN void for_each_element(const ElementWalk &walk, const F &f) {
    const u64 step = (u64)grid_dim_x() * ELEMENTWISE_BLOCK;
    for (u64 i = (u64)block_x() * ELEMENTWISE_BLOCK + thread_x(); i < walk.units; i += step) {
        const Offsets<4> at = offsets_of(walk.index, (u32)i);
        f(Element{at.at[0], at.at[1], walk.row + at.at[2], walk.column + at.at[3]});
    }
}

} // namespace isobit
