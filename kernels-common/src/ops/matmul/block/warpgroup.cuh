// What kernels of block products on Hopper's warpgroups share. A block stays on its multiprocessor
// and takes tiles one after the other. One warpgroup brings whole segments to shared memory,
// several ahead; two others have 64 rows of the tile each. The sums of a segment stay in registers,
// one per weight of the digits, so a warpgroup cannot start the next segment while it adds the last
// one to its results: meanwhile the unit works for the other warpgroup.
#pragma once

#include "device_lib/warpgroup.cuh"
#include "ops/matmul/block/tile.cuh"

namespace isobit {

#if defined(ISOBIT_WARPGROUP)

ISOBIT_CONST u32 GROUP_THREADS = 128, GROUP_COUNT = 2, PRODUCT_THREADS = GROUP_COUNT * GROUP_THREADS;
// Segments in shared memory.
ISOBIT_CONST u32 SEGMENTS_AHEAD = 3;
// What the copying warp tells with a segment: whether scales are steps; whether the tile ends, with
// this segment or without one; whether a line of the tile has an infinity or a NaN.
ISOBIT_CONST u32 TELL_FAR = 1, TELL_LAST = 2, TELL_NOTHING = 4, TELL_SPECIAL = 8;
// Numbers of barriers: from one warpgroup to the next, and of both.
ISOBIT_CONST u32 BARRIER_TURN = 1, BARRIER_BOTH = 3;

// Must match `Tile::WARPGROUP` of ops/matmul/block.rs.
template <u32 PLANES_>
struct WarpgroupShape {
    static constexpr u32 PLANES = PLANES_, TILE_M = 64 * GROUP_COUNT, TILE_N = PLANES == 2 ? 96 : 64;
    static constexpr u32 GROUPS_M = TILE_M / CHUNK_LINES, GROUPS_N = TILE_N / CHUNK_LINES;
    // Bytes of a segment, and of its scales, which stay longer than the segment.
    static constexpr u32 SEGMENT = (GROUPS_M + GROUPS_N) * PART_BYTES<PLANES>, SCALES = (TILE_M + TILE_N) * 4;
    static constexpr u32 SCALES_AT = SEGMENTS_AHEAD * SEGMENT, SCALE_SLOTS = SEGMENTS_AHEAD + 1;
};

struct WarpgroupShared {
    u64 filled[SEGMENTS_AHEAD], emptied[SEGMENTS_AHEAD];
    u32 told[SEGMENTS_AHEAD];
};

// Starts the signals, by all threads of the block. ARRIVALS fill a stage, bytes that are expected
// apart.
template <u32 ARRIVALS>
ISOBIT_FN void init_signals(WarpgroupShared &control) {
    if (thread_x() == 0) {
#pragma unroll
        for (u32 i = 0; i < SEGMENTS_AHEAD; i++) {
            signal_init(control.filled + i, ARRIVALS);
            // One arrival per warp.
            signal_init(control.emptied + i, PRODUCT_THREADS / TILE_TEAM);
        }
        signals_ready();
    }
    barrier();
}
// The place of the next segment that is brought, once it is empty.
ISOBIT_FN u32 empty_stage(WarpgroupShared &control, u32 step) {
    const u32 stage = step % SEGMENTS_AHEAD;
    if (step >= SEGMENTS_AHEAD)
        signal_wait(control.emptied + stage, step / SEGMENTS_AHEAD - 1);
    return stage;
}

// Starts the copies of a segment of one operand, by all lanes of a warp: GROUPS groups of lines, of
// which the first is group FIRST of the tile.
template <typename S, u32 FIRST, u32 GROUPS>
ISOBIT_FN void start_segment(u8 *to, u8 *scales_to, const TileSide &side, u32 level, u32 segment, bool far, bool wide,
                             u64 *filled) {
    constexpr u32 PART = PART_BYTES<S::PLANES>;
    const u32 lane = thread_x() % TILE_TEAM, left = side.matrix.groups - side.first_group;
    const u32 groups = left < GROUPS ? left : GROUPS;
    const u64 first = part_of(side.matrix, side.first_group, segment);
    to += FIRST * PART;
    if (level == 0) {
        if (lane == FIRST / GROUPS)
            piece_start(to, parts_of<S::PLANES>(side.matrix, 0) + first * PART, groups * PART, filled);
    } else if (lane >= FIRST && lane - FIRST < groups) {
        const u32 group = lane - FIRST;
        const u8 *from =
            wide ? parts_of<S::PLANES>(side.matrix, 1) + (first + group) * PART : zeros_of<S::PLANES>(side.matrix);
        piece_start(to + group * PART, from, PART, filled);
    }
    if (lane == 2 + FIRST / GROUPS) {
        const void *scales = far ? (const void *)(steps_of<S::PLANES>(side.matrix, level) + first * CHUNK_LINES)
                                 : (const void *)(scales_of<S::PLANES>(side.matrix, level) + first * CHUNK_LINES);
        piece_start(scales_to + FIRST * CHUNK_LINES * 4, scales, groups * CHUNK_LINES * 4, filled);
    }
}

// Starts the products of a segment: 64 rows by all columns.
template <typename S, u32 N>
ISOBIT_FN void start_products(i32 (&sum)[WEIGHTS<S::PLANES>][N][4], const u8 *rows, const u8 *columns) {
    constexpr u32 PART = PART_BYTES<S::PLANES>;
    const u64 a = chunks_at<PART>(rows), b = chunks_at<PART>(columns);
    products_begin();
#pragma unroll
    for (u32 k = 0; k < BLOCK_SEGMENT / STEP_K; k++)
#pragma unroll
        for (u32 planes = 0; planes < S::PLANES * S::PLANES; planes++) {
            const u32 p = planes / S::PLANES, q = planes % S::PLANES, w = p + q;
            // In units of 16 bytes.
            const u64 from_a = a + (p * PLANE_BYTES + k * 2 * CHUNK_BYTES) / 16;
            const u64 from_b = b + (q * PLANE_BYTES + k * 2 * CHUNK_BYTES) / 16;
            if (k == 0 && p == (w < S::PLANES ? 0 : w + 1 - S::PLANES))
                products_start<true>(sum[w], from_a, from_b);
            else
                products_start<false>(sum[w], from_a, from_b);
        }
    products_commit();
}

// Adds a segment to all results of a thread: `add(result, weights, row, column)` returns the sum,
// where `row` is 0 or 1 and `column` the word of the column.
template <typename S, u32 N, typename Add>
ISOBIT_FN void add_all(float (&result)[N][4], const i32 (&sum)[WEIGHTS<S::PLANES>][N][4], const u32 *column_words,
                       const Add &add) {
#pragma unroll
    for (u32 j = 0; j < N; j++) {
        const Pack<2, u32> columns = load<2>(column_words + j * 8);
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            i32 weights[WEIGHTS<S::PLANES>];
#pragma unroll
            for (u32 w = 0; w < WEIGHTS<S::PLANES>; w++)
                weights[w] = sum[w][j][e];
            result[j][e] = add(result[j][e], weights, e / 2, columns.v[e % 2]);
        }
    }
}

// Multiplies the segments of all tiles of the block, by both warpgroups. `finish(tile, told, row,
// column, result)` takes a thread's results of each tile: those of store_own() from a row and a
// column of the tile on.
template <typename T, typename Finish>
ISOBIT_FN void multiply_tiles(const u8 *shared, WarpgroupShared &control, const BlockProduct &p, const Finish &finish) {
    using S = WarpgroupShape<Digits<T>::COUNT>;
    constexpr u32 N = S::TILE_N / 8;
    const u32 thread = thread_x();
    const u32 group = thread / GROUP_THREADS;
    const u32 line = group * 64 + thread % GROUP_THREADS / TILE_TEAM * 16 + thread % TILE_TEAM / 4, column = thread % 4 * 2;
    if (group != 0)
        part_arrive<PRODUCT_THREADS>(BARRIER_TURN);
    i32 sum[WEIGHTS<S::PLANES>][N][4];
    u32 step = 0;
#pragma unroll 1
    for (u32 number = block_x(); number < p.tiles; number += grid_dim_x()) {
        float result[N][4];
#pragma unroll
        for (u32 j = 0; j < N; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                result[j][e] = 0;
        u32 told = 0;
#pragma unroll 1
        while ((told & TELL_LAST) == 0) {
            const u32 stage = step % SEGMENTS_AHEAD;
            signal_wait(control.filled + stage, step / SEGMENTS_AHEAD);
            told = control.told[stage];
            const u8 *scales = shared + S::SCALES_AT + step % S::SCALE_SLOTS * S::SCALES;
            step++;
            if ((told & TELL_NOTHING) != 0) {
                team_barrier();
                if (thread % TILE_TEAM == 0)
                    signal_arrive(control.emptied + stage);
                break;
            }
            const u8 *segment = shared + stage * S::SEGMENT;
            part_barrier<PRODUCT_THREADS>(BARRIER_TURN + group);
            start_products<S, N>(sum, segment + group * 8 * PART_BYTES<S::PLANES>,
                                 segment + S::GROUPS_M * PART_BYTES<S::PLANES>);
            part_arrive<PRODUCT_THREADS>(BARRIER_TURN + 1 - group);
            products_wait(sum);
            // Other lanes have read what was told.
            team_barrier();
            if (thread % TILE_TEAM == 0)
                signal_arrive(control.emptied + stage);
            const u32 *row_scales = (const u32 *)scales + line,
                      *column_scales = (const u32 *)scales + S::TILE_M + column;
            const u32 rows[2] = {row_scales[0], row_scales[8]};
            using Weights = i32[WEIGHTS<S::PLANES>];
            if ((told & TELL_FAR) != 0) {
                add_all<S>(result, sum, column_scales, [&](float to, const Weights &weights, u32 row, u32 step) {
                    return add_far<S::PLANES>(to, weights, (i32)(rows[row] + step));
                });
                continue;
            }
            const RowScale<S::PLANES> row_scale[2] = {RowScale<S::PLANES>::of(from_bits(rows[0])),
                                                      RowScale<S::PLANES>::of(from_bits(rows[1]))};
            add_all<S>(result, sum, column_scales, [&](float to, const Weights &weights, u32 row, u32 scale) {
                return add_near<S::PLANES>(to, weights, row_scale[row], from_bits(scale));
            });
        }

        finish(block_tile(p, number), told, line, column, result);
    }
    // The other warpgroup has let this one start once more.
    if (group == 0)
        part_barrier<PRODUCT_THREADS>(BARRIER_TURN);
}

#endif

} // namespace isobit
