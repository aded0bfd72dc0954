// The block product of two packed operands on Hopper's warpgroups: as product.cu, with its bits. A
// block stays on its multiprocessor and takes tiles one after the other. One warp brings whole
// segments to shared memory, several ahead; two warpgroups have 64 rows of the tile each. The sums
// of a segment stay in registers, one per weight of the digits, so a warpgroup cannot start the
// next segment while it adds the last one to its results: meanwhile the unit works for the other
// warpgroup.
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
    u32 special[WarpgroupShape<2>::TILE_M + WarpgroupShape<2>::TILE_N];
};

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

// Brings all segments of all tiles of the block.
template <typename S>
ISOBIT_FN void bring_segments(u8 *shared, WarpgroupShared &control, u8 *a_packed, u8 *b_packed, const BlockProduct &p) {
    const u32 lane = thread_x() % TILE_TEAM;
    u32 step = 0;
    const auto next_stage = [&]() {
        const u32 stage = step % SEGMENTS_AHEAD;
        if (step >= SEGMENTS_AHEAD)
            signal_wait(control.emptied + stage, step / SEGMENTS_AHEAD - 1);
        return stage;
    };
#pragma unroll 1
    for (u32 number = block_x(); number < p.tiles; number += grid_dim_x()) {
        const BlockTile tile = block_tile(p, number);
        const TileSide a = left_side(p, tile, a_packed, S::GROUPS_M), b = right_side(p, tile, b_packed, S::GROUPS_N);
        const u32 a_left = a.matrix.groups - a.first_group, b_left = b.matrix.groups - b.first_group;
        const u32 a_groups = a_left < S::GROUPS_M ? a_left : S::GROUPS_M,
                  b_groups = b_left < S::GROUPS_N ? b_left : S::GROUPS_N;
        // Each lane reads the flags of one part.
        static_assert(S::GROUPS_M + S::GROUPS_N <= TILE_TEAM, "a lane for each part");
        const bool of_a = lane < a_groups, of_b = lane >= S::GROUPS_M && lane - S::GROUPS_M < b_groups;
        const u32 *flags = of_a ? flags_of<S::PLANES>(a.matrix) + a.first_group + lane
                                : flags_of<S::PLANES>(b.matrix) + b.first_group + lane - S::GROUPS_M;
        const u64 pitch = of_a ? a.matrix.groups : b.matrix.groups;
        u32 seen_a = 0, seen_b = 0;
        bool ended = false;
#pragma unroll 1
        for (u32 pass = 0; pass < 3; pass++) {
            if (pass != 0 && ((pass == 1 ? seen_a : seen_b) & PART_WIDE) == 0)
                continue;
            u32 own = of_a || of_b ? flags[0] : 0;
#pragma unroll 1
            for (u32 segment = 0; segment < p.segments; segment++) {
                const u32 flag = own;
                if (segment + 1 < p.segments && (of_a || of_b))
                    own = flags[(segment + 1) * pitch];
                // The bits of `a` in the lower half.
                const u32 all = any_of_warp(of_a ? flag : flag << 16);
                if (pass == 0) {
                    seen_a |= all & 0xffff;
                    seen_b |= all >> 16;
                } else if ((all >> (pass == 1 ? 0 : 16) & PART_WIDE) == 0) {
                    continue;
                }
                const u32 seen = seen_a | seen_b;
                const bool far = pass != 0 || ((all | all >> 16) & PART_FAR) != 0;
                const bool last = pass == 0 && segment + 1 == p.segments && (seen & PART_WIDE) == 0;
                ended = ended || last;
                const u32 stage = next_stage();
                if (lane == 0) {
                    control.told[stage] =
                        (far ? TELL_FAR : 0) | (last ? TELL_LAST : 0) | ((seen & PART_SPECIAL) != 0 ? TELL_SPECIAL : 0);
                    signal_arrive_expecting(control.filled + stage,
                                            (a_groups + b_groups) * (PART_BYTES<S::PLANES> + CHUNK_LINES * 4));
                }
                team_barrier();
                u8 *to = shared + stage * S::SEGMENT;
                u8 *scales = shared + S::SCALES_AT + step % S::SCALE_SLOTS * S::SCALES;
                const bool wide = (flag & PART_WIDE) != 0;
                start_segment<S, 0, S::GROUPS_M>(to, scales, a, pass == 1 ? 1 : 0, segment, far, wide,
                                                 control.filled + stage);
                start_segment<S, S::GROUPS_M, S::GROUPS_N>(to, scales, b, pass == 2 ? 1 : 0, segment, far, wide,
                                                           control.filled + stage);
                step++;
            }
        }
        if (ended)
            continue;
        const u32 stage = next_stage();
        if (lane == 0) {
            control.told[stage] =
                TELL_LAST | TELL_NOTHING | (((seen_a | seen_b) & PART_SPECIAL) != 0 ? TELL_SPECIAL : 0);
            signal_arrive(control.filled + stage);
        }
        team_barrier();
        step++;
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

template <typename T>
ISOBIT_FN void matmul_warpgroup(const T *a, const T *b, T *c, u8 *a_packed, u8 *b_packed, const BlockProduct &p) {
    using S = WarpgroupShape<Digits<T>::COUNT>;
    constexpr u32 N = S::TILE_N / 8;
    extern __shared__ vector_detail::words4 shared_words[];
    __shared__ WarpgroupShared control;
    u8 *shared = (u8 *)shared_words;
    const u32 thread = thread_x();
    if (thread == 0) {
#pragma unroll
        for (u32 i = 0; i < SEGMENTS_AHEAD; i++) {
            signal_init(control.filled + i, 1);
            // One arrival per warp.
            signal_init(control.emptied + i, PRODUCT_THREADS / TILE_TEAM);
        }
        signals_ready();
    }
    barrier();
    if (thread >= PRODUCT_THREADS) {
        registers_down<40>();
        if (thread < PRODUCT_THREADS + TILE_TEAM)
            bring_segments<S>(shared, control, a_packed, b_packed, p);
        return;
    }
    registers_up<232>();

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

        const BlockTile tile = block_tile(p, number);
        const u32 m0 = tile.m * S::TILE_M + line, n0 = tile.n * S::TILE_N + column;
        store_own(c + tile.at.at[2], p, m0, n0, result);
        if ((told & TELL_SPECIAL) == 0)
            continue;
        find_special<S::PLANES, S::TILE_M, S::TILE_N, PRODUCT_THREADS>(
            control.special, left_side(p, tile, a_packed, S::GROUPS_M), right_side(p, tile, b_packed, S::GROUPS_N),
            thread);
        part_barrier<PRODUCT_THREADS>(BARRIER_BOTH);
        store_special<S::TILE_M, S::TILE_N, PRODUCT_THREADS>(a, b, c, p, tile, control.special, thread);
        part_barrier<PRODUCT_THREADS>(BARRIER_BOTH);
    }
    // The other warpgroup has let this one start once more.
    if (group == 0)
        part_barrier<PRODUCT_THREADS>(BARRIER_TURN);
}

#endif

// Does nothing on other targets.
template <typename T>
ISOBIT_FN void matmul_warpgroup_any([[maybe_unused]] const T *a, [[maybe_unused]] const T *b, [[maybe_unused]] T *c,
                                    [[maybe_unused]] u8 *a_packed, [[maybe_unused]] u8 *b_packed,
                                    [[maybe_unused]] const BlockProduct &p) {
#if defined(ISOBIT_WARPGROUP)
    matmul_warpgroup(a, b, c, a_packed, b_packed, p);
#endif
}

} // namespace isobit

#define ISOBIT_MATMUL_WARPGROUP(NAME, T)                                                                               \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(384, 1)                                                                                     \
    NAME(const T *a, const T *b, T *c, u8 *a_packed, u8 *b_packed, const BlockProduct p) {                             \
        matmul_warpgroup_any(a, b, c, a_packed, b_packed, p);                                                          \
    }                                                                                                                  \
    }
