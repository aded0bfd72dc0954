// Rows of a result grouped by the matrix that each chose, so that tiles have rows of one matrix
// alone. The order in a group is of no meaning.
#pragma once

#include "ops/quantized/product.cuh"

namespace isobit {

// Rows of activations in a tile.
ISOBIT_CONST u32 QT_M = 128;

// A group a matrix, and one more for rows whose id names none.
struct QGroups {
    // Where each group starts in `list`, and the tile that each starts with; both with an entry
    // more, for the end.
    u32 *starts;
    u32 *tiles;
    // The rows, and while they are counted the place of each in its group.
    u32 *list;
    u32 *places;
};

// As in ops/quantized/product.rs.
static_assert(sizeof(QGroups) == 32);

// A tile's rows: from `first` on in the list, `count` of them, of a group.
struct GroupTile {
    u32 group, first, count;
};

// Where tile `tile` lies; it has no rows where there are fewer tiles.
ISOBIT_FN GroupTile group_tile(const QGroups &groups, u32 group_count, u32 tile) {
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
    const u32 first = groups.starts[from] + (tile - groups.tiles[from]) * QT_M;
    const u32 left = groups.starts[from + 1] - first;
    return GroupTile{from, first, left < QT_M ? left : QT_M};
}

} // namespace isobit
