// Rows of a result, grouped by the matrix that each of them selects, so that each tile has rows of
// only one matrix. The order within a group does not matter.
#pragma once

#include "ops/quantized/product.cuh"

namespace isobit {

// One group per matrix, and one more for rows whose id selects no matrix.
struct QGroups {
    // Where each group starts in `list`, and the first tile of each group. Both have one extra
    // entry for the end.
    u32 *starts;
    u32 *tiles;
    // The rows of each group. While rows are counted, `places` holds the position of each in its
    // group.
    u32 *list;
    u32 *places;
};

// Must match ops/quantized/product.rs.
static_assert(sizeof(QGroups) == 32);

// The rows of a tile: `count` entries of the list from `first` on, all of one group.
struct GroupTile {
    u32 group, first, count;
};

// The rows of tile `tile`, of which each has up to `rows`; none if there are fewer tiles.
ISOBIT_FN GroupTile group_tile(const QGroups &groups, u32 group_count, u32 tile, u32 rows) {
    if (tile >= groups.tiles[group_count])
        return GroupTile{0, 0, 0};
    u32 from = 0, to = group_count;
#pragma unroll 1
    while (to - from > 1) {
        const u32 middle = (from + to) / 2;
        if (groups.tiles[middle] <= tile)
            from = middle;
        else
            to = middle;
    }
    const u32 first = groups.starts[from] + (tile - groups.tiles[from]) * rows;
    const u32 left = groups.starts[from + 1] - first;
    return GroupTile{from, first, left < rows ? left : rows};
}

} // namespace isobit
