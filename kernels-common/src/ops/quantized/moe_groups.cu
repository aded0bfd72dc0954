// Groups the rows of a result by the matrix that each of them selects. One thread block does this,
// because there are few rows compared with the work of the product.
#include "device_lib/ids.cuh"
#include "ops/quantized/moe_groups.cuh"

namespace isobit {

ISOBIT_CONST u32 QG_BLOCK = 256;

ISOBIT_FN void q_group(const QProduct &p, const u32 *ids, u64 *fault, u32 first_row, const QGroups &groups,
                       u32 tile_rows) {
    __shared__ u32 rows_before[QG_BLOCK], tiles_before[QG_BLOCK];
    const u32 count = p.matrices + 1, t = thread_x();
    const auto group_of = [&](u32 row, bool &outside) {
        const u32 id = ids[row];
        u64 at;
        return is_inside(id, p.matrices, 0, at, outside) ? id : p.matrices;
    };
    for (u32 g = t; g < count; g += QG_BLOCK)
        groups.starts[g] = 0;
    barrier();
    bool outside = false;
    for (u32 row = t; row < p.m; row += QG_BLOCK)
        groups.places[row] = atomic_add(groups.starts + group_of(row, outside), 1);
    if (outside)
        report_first(fault, ids, 1, first_row, 1, t, p.m, QG_BLOCK, p.matrices, 0);
    barrier();

    // Each thread takes an equal range of neighbouring groups. Counters that atomics have changed
    // are also read with atomics.
    const u32 each = (count + QG_BLOCK - 1) / QG_BLOCK;
    const u32 from = t * each < count ? t * each : count, to = from + each < count ? from + each : count;
    u32 rows = 0, tiles = 0;
    for (u32 g = from; g < to; g++) {
        const u32 has = atomic_add(groups.starts + g, 0);
        rows += has;
        tiles += (has + tile_rows - 1) / tile_rows;
    }
    rows_before[t] = rows;
    tiles_before[t] = tiles;
    barrier();
    rows = 0, tiles = 0;
    for (u32 before = 0; before < t; before++) {
        rows += rows_before[before];
        tiles += tiles_before[before];
    }
    for (u32 g = from; g < to; g++) {
        const u32 has = atomic_add(groups.starts + g, 0);
        groups.starts[g] = rows;
        groups.tiles[g] = tiles;
        rows += has;
        tiles += (has + tile_rows - 1) / tile_rows;
    }
    if (t == QG_BLOCK - 1) {
        groups.starts[count] = rows;
        groups.tiles[count] = tiles;
    }
    barrier();
    for (u32 row = t; row < p.m; row += QG_BLOCK)
        groups.list[groups.starts[group_of(row, outside)] + groups.places[row]] = row;
}

} // namespace isobit

#define ISOBIT_Q_GROUP(NAME)                                                                                           \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const QProduct p, const u32 *ids, u64 *fault, u32 first_row, const QGroups groups, u32 tile_rows) {           \
        q_group(p, ids, fault, first_row, groups, tile_rows);                                                          \
    }                                                                                                                  \
    }
