// What the kernels of block products share: the parameters, the place of a tile, and the lines
// whose results are chains.
#pragma once

#include "device_lib/index.cuh"
#include "ops/matmul/block/chain.cuh"
#include "ops/matmul/block/digits.cuh"

namespace isobit {

// The host's `Product` in matmul/block.rs.
struct BlockProduct {
    u32 m, n;
    u32 segments;
    u32 c_pairs;
    // Products of a chain; 0 if chains are not asked for.
    u64 chain;
    u64 a_row, a_col;
    u64 b_row, b_col;
    u64 c_row, c_col;
    // Bytes of a packed matrix.
    u64 a_packed, b_packed;
    // Tiles of all matrices.
    u64 tiles;
    Divisor m_tiles, n_tiles;
    // Of a, b and c, and the numbers of the packed matrices.
    Index<5> batch;
};

// Must match ops/matmul/block.rs.
static_assert(sizeof(BlockProduct) == 544);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BlockProduct, chain) == 16 && ISOBIT_OFFSET(BlockProduct, m_tiles) == 96);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BlockProduct, batch) == 120);

// The place of a tile among the tiles of its matrix, and its matrix.
struct BlockTile {
    u32 m, n;
    Offsets<5> at;
};
// Neighbouring blocks share lines if they take eight rows of tiles, column by column.
ISOBIT_FN BlockTile block_tile(const BlockProduct &p, u32 number) {
    const u32 all_m = p.m_tiles.size, all_n = p.n_tiles.size;
    const u32 above = divide(number, p.n_tiles), batch = divide(above, p.m_tiles);
    const u32 in_matrix = number - batch * all_m * all_n, band = (above - batch * all_m) / 8;
    const u32 rows = all_m - band * 8 < 8 ? all_m - band * 8 : 8, in_band = in_matrix - band * 8 * all_n;
    return {band * 8 + in_band % rows, in_band / rows, offsets_of(p.batch, batch)};
}

// The lines of an operand in a tile.
struct TileSide {
    PackedMatrix matrix;
    u32 first_group;
};

ISOBIT_FN TileSide left_side(const BlockProduct &p, const BlockTile &tile, u8 *packed, u32 groups) {
    return {packed_matrix(packed + tile.at.at[3] * p.a_packed, p.m, p.segments), tile.m * groups};
}
ISOBIT_FN TileSide right_side(const BlockProduct &p, const BlockTile &tile, u8 *packed, u32 groups) {
    return {packed_matrix(packed + tile.at.at[4] * p.b_packed, p.n, p.segments), tile.n * groups};
}

// The flags of the parts of a tile's side, of which each of THREADS threads has some.
ISOBIT_CONST u32 FLAGS_TEAM = 16;
template <u32 PLANES, u32 THREADS>
ISOBIT_FN u32 flags_of_side(const TileSide &side, u32 groups) {
    const u32 left = side.matrix.groups - side.first_group;
    const u32 *flags = flags_of<PLANES>(side.matrix) + side.first_group;
    // Neighbouring threads read the flags of one segment.
    const u32 group = thread_x() % FLAGS_TEAM;
    u32 all = 0;
#pragma unroll 1
    for (u32 segment = thread_x() / FLAGS_TEAM; segment < side.matrix.segments && group < left && group < groups;
         segment += THREADS / FLAGS_TEAM)
        all |= flags[(u64)segment * side.matrix.groups + group];
    return all;
}

// Whether a line has an infinity or a NaN.
template <u32 PLANES>
ISOBIT_FN bool is_special(const TileSide &side, u32 line) {
    const u32 lines = side.matrix.groups * CHUNK_LINES, at = side.first_group * CHUNK_LINES + line;
    const i32 *steps = steps_of<PLANES>(side.matrix, 0);
    bool special = false;
#pragma unroll 1
    for (u32 segment = 0; segment < side.matrix.segments && at < lines; segment++)
        special |= steps[(u64)segment * lines + at] == SPECIAL_STEP;
    return special;
}

// Stores a thread's results of 16 rows, in the places of device_lib/digit_tile.cuh. The rows of a
// packed left matrix have a bias of their own.
template <u32 PARTS, typename T>
ISOBIT_FN void store_own(T *c, const T *bias, const BlockProduct &p, const BlockTile &tile, u32 row0, u32 col0,
                         const float (&result)[PARTS][OWN_RESULTS]) {
    c += tile.at.at[2];
    float added[OWN_ROWS];
#pragma unroll
    for (u32 own = 0; own < OWN_ROWS; own++) {
        const u32 row = row0 + own * ROW_STEP;
        added[own] = bias_of(row < p.m ? bias : nullptr, tile.at.at[3] * p.m + row);
    }
#pragma unroll
    for (u32 j = 0; j < PARTS; j++)
#pragma unroll
        for (u32 own = 0; own < OWN_ROWS; own++) {
            const u32 row = row0 + own * ROW_STEP, col = col0 + j * DIGIT_COLUMNS;
            if (row >= p.m)
                continue;
            Pack<OWN_COLUMNS, T> values;
            // A sum of nothing is +0, whichever passes there were.
#pragma unroll
            for (u32 x = 0; x < OWN_COLUMNS; x++)
                values.v[x] = from_compute<T>(result[j][own * OWN_COLUMNS + x] + 0.0f + added[own]);
            if (OWN_COLUMNS == 2 && p.c_pairs != 0 && col + OWN_COLUMNS <= p.n) {
                store(c + row * p.c_row + col, values);
                continue;
            }
#pragma unroll
            for (u32 x = 0; x < OWN_COLUMNS; x++)
                if (col + x < p.n)
                    c[row * p.c_row + (col + x) * p.c_col] = values.v[x];
        }
}

// Finds the lines of a tile with an infinity or a NaN, first those of `a`. THREADS threads share
// the work, as in each_special(), before which all must have returned.
template <u32 PLANES, u32 TILE_M, u32 TILE_N, u32 THREADS>
ISOBIT_FN void find_special(u32 *special, const TileSide &a, const TileSide &b, u32 thread) {
#pragma unroll 1
    for (u32 i = thread; i < TILE_M + TILE_N; i += THREADS)
        special[i] = i < TILE_M ? is_special<PLANES>(a, i) : is_special<PLANES>(b, i - TILE_M);
}
// Calls `store(row, col)` for the results of these lines of a tile that are among m by n.
template <u32 TILE_M, u32 TILE_N, u32 THREADS, typename Store>
ISOBIT_FN void each_special(const u32 *special, u32 m0, u32 n0, u32 m, u32 n, u32 thread, const Store &store) {
#pragma unroll 1
    for (u32 i = thread; i < TILE_M * TILE_N; i += THREADS) {
        const u32 row = i / TILE_N, col = i % TILE_N;
        if (m0 + row >= m || n0 + col >= n || (special[row] | special[TILE_M + col]) == 0)
            continue;
        store(m0 + row, n0 + col);
    }
}
// Stores these results, which are chains.
template <u32 TILE_M, u32 TILE_N, u32 THREADS, typename T>
ISOBIT_FN void store_special(const T *a, const T *b, const T *bias, T *c, const BlockProduct &p, const BlockTile &tile,
                             const u32 *special, u32 thread) {
    a += tile.at.at[0];
    b += tile.at.at[1];
    c += tile.at.at[2];
    const auto store = [&](u32 row, u32 col) {
        const float value = chain(a + row * p.a_row, p.a_col, b + col * p.b_col, p.b_row, p.chain);
        c[row * p.c_row + col * p.c_col] = from_compute<T>(value + bias_of(bias, tile.at.at[3] * p.m + row));
    };
    each_special<TILE_M, TILE_N, THREADS>(special, tile.m * TILE_M, tile.n * TILE_N, p.m, p.n, thread, store);
}

} // namespace isobit
