// The block product of two packed operands. A block of threads computes a tile of results; half
// segments of its lines go to shared memory by asynchronous copies, several stages ahead. The sums
// of a segment stay in registers, one per weight of the digits.
#include "device_lib/async_copy.cuh"
#include "ops/matmul/block/tile.cuh"

namespace isobit {

ISOBIT_CONST u32 PRODUCT_BLOCK = 256;
// Elements of k per stage, and steps of device_lib/digit_tile.cuh.
ISOBIT_CONST u32 STAGE_K = 64, STAGE_STEPS = STAGE_K / STEP_K, SEGMENT_STAGES = BLOCK_SEGMENT / STAGE_K;
// Bytes of a plane of a group of lines in a stage.
ISOBIT_CONST u32 STAGE_PLANE = STAGE_K * CHUNK_LINES;

// Large tiles need a matrix unit, and more shared memory than a block has on AMD.
#if defined(ISOBIT_INT_MMA)
ISOBIT_CONST bool HAS_LARGE_TILES = true;
#else
ISOBIT_CONST bool HAS_LARGE_TILES = false;
#endif

// A tile of WARPS_M by WARPS_N teams of device_lib/digit_tile.cuh, each of 16 M by 16 N results.
template <u32 PLANES_, u32 WARPS_M_, u32 M_, u32 N_, u32 STAGES_, u32 LAG_>
struct BlockShape {
    static constexpr u32 PLANES = PLANES_, WARPS_M = WARPS_M_, M = M_, N = N_, STAGES = STAGES_, LAG = LAG_;
    static constexpr u32 WARPS_N = PRODUCT_BLOCK / DIGIT_TEAM / WARPS_M;
    // Groups of 8 lines.
    static constexpr u32 GROUPS_M = WARPS_M * M * 2, GROUPS_N = WARPS_N * N * 2, GROUPS = GROUPS_M + GROUPS_N;
    static constexpr u32 TILE_M = GROUPS_M * CHUNK_LINES, TILE_N = GROUPS_N * CHUNK_LINES;
    // Bytes of a group in a stage, and of a stage with the scales or steps of its lines.
    static constexpr u32 GROUP_BYTES = PLANES * STAGE_PLANE;
    static constexpr u32 SCALES = GROUPS * GROUP_BYTES, STAGE = SCALES + GROUPS * CHUNK_LINES * 4;
};
// Must match ops/matmul/block.rs. The small tile is 64 x 64 with teams of any size.
template <u32 PLANES, bool LARGE>
struct ShapeOf {
    using type = BlockShape<PLANES, 128 / DIGIT_TEAM, DIGIT_TEAM / TILE_TEAM, 2, 2, 0>;
};
template <>
struct ShapeOf<2, true> {
    using type = BlockShape<2, 2, 3, 2, 4, 1>;
};
template <>
struct ShapeOf<3, true> {
    using type = BlockShape<3, 4, 2, 2, 4, 1>;
};

// Starts the copies of stage `step` of one operand: GROUPS groups of lines, of which the first is
// group FIRST of the tile, with their scales, or with their steps if FAR. Groups that do not exist,
// or not on this level, are 0.
template <typename S, bool FAR, u32 FIRST, u32 GROUPS>
ISOBIT_FN void start_side(u8 *stage, const TileSide &side, u32 level, u32 step) {
    constexpr u32 IN_PLANE = STAGE_PLANE / 16, IN_GROUP = S::PLANES * IN_PLANE;
    static_assert(GROUPS * IN_GROUP % PRODUCT_BLOCK == 0, "every thread starts the same number of copies");
    const u32 segment = step / SEGMENT_STAGES;
    const u64 first = part_of(side.matrix, side.first_group, segment);
    const u8 *from =
        parts_of<S::PLANES>(side.matrix, level) + first * PART_BYTES<S::PLANES> + step % SEGMENT_STAGES * STAGE_PLANE;
    u8 *to = stage + FIRST * S::GROUP_BYTES;
    const u32 *flags = flags_of<S::PLANES>(side.matrix) + first;
    const u32 left = side.matrix.groups - side.first_group;
    const bool all = level == 0 && left >= GROUPS;
    const auto exists = [&](u32 group) { return group < left && (level == 0 || (flags[group] & PART_WIDE) != 0); };
    // The planes of all groups follow each other, in the part with the other half of the segment.
    const auto place = [&](u32 at) { return at / IN_PLANE * PLANE_BYTES + at % IN_PLANE * 16; };
    if (all) {
#pragma unroll
        for (u32 i = 0; i < GROUPS * IN_GROUP; i += PRODUCT_BLOCK)
            copy16_start(to + (i + thread_x()) * 16, from + place(i + thread_x()));
    } else {
#pragma unroll 1
        for (u32 at = thread_x(); at < GROUPS * IN_GROUP; at += PRODUCT_BLOCK) {
            if (exists(at / IN_GROUP))
                copy16_start(to + at * 16, from + place(at));
            else
                store((u32 *)(to + at * 16), Pack<4, u32>{});
        }
    }
    // One copy for four lines.
    if (step % SEGMENT_STAGES + 1 < SEGMENT_STAGES || thread_x() >= GROUPS * 2)
        return;
    static_assert(GROUPS * 2 <= PRODUCT_BLOCK, "a thread copies four scales");
    const u32 *scales = FAR ? (const u32 *)steps_of<S::PLANES>(side.matrix, level)
                            : (const u32 *)scales_of<S::PLANES>(side.matrix, level);
    u32 *scales_to = (u32 *)(stage + S::SCALES) + FIRST * CHUNK_LINES + thread_x() * 4;
    if (all || exists(thread_x() / 2))
        copy16_start(scales_to, scales + first * CHUNK_LINES + thread_x() * 4);
    else
        store(scales_to, Pack<4, u32>{});
}

// Adds the products of a level of `a` and one of `b` to the results. FAR if products of two steps
// may be outside the range of f32. With a lag of one the upper half of the warps is one stage
// behind the lower half, so that units are busy while a segment is added to the results.
template <typename S, bool FAR>
ISOBIT_FN void add_levels(float (&result)[S::M][DIGIT_PARTS<S::N>][OWN_RESULTS], u8 *shared, const TileSide &a,
                          const TileSide &b, const u32 (&level)[2]) {
    const u32 steps = a.matrix.segments * SEGMENT_STAGES;
    const u32 warp = thread_x() / DIGIT_TEAM, warp_m = warp % S::WARPS_M * S::M, warp_n = warp / S::WARPS_M * S::N;
    const u32 line = digit_row(thread_x()), column = digit_column(thread_x());
    const u32 behind = S::LAG * (warp / (PRODUCT_BLOCK / (2 * DIGIT_TEAM)));
    const auto start = [&](u32 step) {
        if (step < steps) {
            u8 *stage = shared + step % S::STAGES * S::STAGE;
            start_side<S, FAR, 0, S::GROUPS_M>(stage, a, level[0], step);
            start_side<S, FAR, S::GROUPS_M, S::GROUPS_N>(stage, b, level[1], step);
        }
        copies_commit();
    };
#pragma unroll
    for (u32 step = 0; step < S::STAGES - 1 - S::LAG; step++)
        start(step);
    const auto next = [&](u32 step) {
        copies_wait_but<S::STAGES - 2 - S::LAG>();
        barrier();
        // Into the stage that all warps have used before the barrier.
        start(step + S::STAGES - 1 - S::LAG);
    };
    if (behind != 0)
        next(0);
    DigitSums sum[S::M][DIGIT_PARTS<S::N>][WEIGHTS<S::PLANES>];
    u32 step = 0;
#pragma unroll 1
    for (u32 segment = 0; segment < a.matrix.segments; segment++) {
        const u8 *stage = nullptr;
#pragma unroll
        for (u32 of_segment = 0; of_segment < SEGMENT_STAGES; of_segment++, step++) {
            next(step + behind);
            stage = shared + step % S::STAGES * S::STAGE;
            const u8 *rows = stage + 2 * warp_m * S::GROUP_BYTES;
            const u8 *columns = stage + (S::GROUPS_M + 2 * warp_n) * S::GROUP_BYTES;
#pragma unroll
            for (u32 f = 0; f < STAGE_STEPS; f++) {
                const u32 at = f * STEP_K * CHUNK_LINES;
                if (of_segment == 0 && f == 0)
                    multiply_digits<S::PLANES, true, S::M, S::N, S::GROUP_BYTES, STAGE_PLANE>(sum, rows + at,
                                                                                              columns + at, thread_x());
                else
                    multiply_digits<S::PLANES, false, S::M, S::N, S::GROUP_BYTES, STAGE_PLANE>(
                        sum, rows + at, columns + at, thread_x());
            }
        }
        const u32 *row_scales = (const u32 *)(stage + S::SCALES) + warp_m * 16 + line;
        const u32 *column_scales = (const u32 *)(stage + S::SCALES) + (S::GROUPS_M + 2 * warp_n) * CHUNK_LINES + column;
        u32 columns[DIGIT_PARTS<S::N>][OWN_COLUMNS];
#pragma unroll
        for (u32 j = 0; j < DIGIT_PARTS<S::N>; j++)
#pragma unroll
            for (u32 e = 0; e < OWN_COLUMNS; e++)
                columns[j][e] = column_scales[j * DIGIT_COLUMNS + e];
#pragma unroll
        for (u32 i = 0; i < S::M; i++)
#pragma unroll
            for (u32 own = 0; own < OWN_ROWS; own++) {
                const u32 row = row_scales[i * 16 + own * ROW_STEP];
                const auto scale = RowScale<S::PLANES>::of(from_bits(row));
#pragma unroll
                for (u32 j = 0; j < DIGIT_PARTS<S::N>; j++)
#pragma unroll
                    for (u32 e = 0; e < OWN_COLUMNS; e++) {
                        const auto weights = weights_of<S::PLANES>(sum[i][j], own * OWN_COLUMNS + e);
                        float &to = result[i][j][own * OWN_COLUMNS + e];
                        to = FAR ? add_far<S::PLANES>(to, weights.of, (i32)(row + columns[j][e]))
                                 : add_near<S::PLANES>(to, weights.of, scale, from_bits(columns[j][e]));
                    }
            }
    }
    if (S::LAG != 0 && behind == 0)
        barrier();
    // The next pass writes to the stages that this one reads.
    copies_wait();
    barrier();
}

template <typename T, bool LARGE>
ISOBIT_FN void matmul_block(const T *a, const T *b, const T *bias, T *c, u8 *a_packed, u8 *b_packed,
                            const BlockProduct &p) {
    using S = typename ShapeOf<Digits<T>::COUNT, LARGE>::type;
    constexpr u32 WARPS = PRODUCT_BLOCK / TILE_TEAM;
    extern __shared__ vector_detail::words4 shared_words[];
    __shared__ u32 shared_flags[2][WARPS];
    u8 *shared = (u8 *)shared_words;
    const BlockTile tile = block_tile(p, block_x());
    const u32 m0 = tile.m * S::TILE_M, n0 = tile.n * S::TILE_N;
    const TileSide side_a = left_side(p, tile, a_packed, S::GROUPS_M);
    const TileSide side_b = right_side(p, tile, b_packed, S::GROUPS_N);

    // Flags of both sides, of all threads together.
    u32 flags[2] = {flags_of_side<S::PLANES, PRODUCT_BLOCK>(side_a, S::GROUPS_M),
                    flags_of_side<S::PLANES, PRODUCT_BLOCK>(side_b, S::GROUPS_N)};
    u32 *own = (u32 *)shared;
    own[thread_x()] = flags[0];
    own[PRODUCT_BLOCK + thread_x()] = flags[1];
    barrier();
    if (thread_x() < 2 * WARPS) {
        u32 some = 0;
#pragma unroll 1
        for (u32 i = 0; i < TILE_TEAM; i++)
            some |= own[thread_x() * TILE_TEAM + i];
        shared_flags[thread_x() / WARPS][thread_x() % WARPS] = some;
    }
    barrier();
#pragma unroll
    for (u32 side = 0; side < 2; side++) {
        flags[side] = 0;
#pragma unroll
        for (u32 i = 0; i < WARPS; i++)
            flags[side] |= shared_flags[side][i];
    }

    float result[S::M][DIGIT_PARTS<S::N>][OWN_RESULTS];
#pragma unroll
    for (u32 i = 0; i < S::M; i++)
#pragma unroll
        for (u32 j = 0; j < DIGIT_PARTS<S::N>; j++)
#pragma unroll
            for (u32 e = 0; e < OWN_RESULTS; e++)
                result[i][j][e] = 0;
    const bool far = ((flags[0] | flags[1]) & PART_FAR) != 0;
#pragma unroll 1
    for (u32 pass = 0; pass < 3; pass++) {
        const u32 level[2] = {pass == 1 ? 1u : 0u, pass == 2 ? 1u : 0u};
        if (pass == 0 && !far)
            add_levels<S, false>(result, shared, side_a, side_b, level);
        else if (pass == 0 || (flags[pass - 1] & PART_WIDE) != 0)
            add_levels<S, true>(result, shared, side_a, side_b, level);
    }

    const u32 warp = thread_x() / DIGIT_TEAM;
    const u32 row0 = m0 + warp % S::WARPS_M * S::M * 16 + digit_row(thread_x());
    const u32 col0 = n0 + warp / S::WARPS_M * S::N * 16 + digit_column(thread_x());
#pragma unroll
    for (u32 i = 0; i < S::M; i++)
        store_own(c, bias, p, tile, row0 + i * 16, col0, result[i]);
    if (((flags[0] | flags[1]) & PART_SPECIAL) == 0)
        return;

    u32 *special = (u32 *)shared;
    find_special<S::PLANES, S::TILE_M, S::TILE_N, PRODUCT_BLOCK>(special, side_a, side_b, thread_x());
    barrier();
    store_special<S::TILE_M, S::TILE_N, PRODUCT_BLOCK>(a, b, bias, c, p, tile, special, thread_x());
}

// Where there are no large tiles, their kernel is never launched.
template <typename T, bool LARGE>
ISOBIT_FN void matmul_block_any(const T *a, const T *b, const T *bias, T *c, u8 *a_packed, u8 *b_packed,
                                const BlockProduct &p) {
    if constexpr (HAS_LARGE_TILES || !LARGE)
        matmul_block<T, LARGE>(a, b, bias, c, a_packed, b_packed, p);
}

} // namespace isobit

#define ISOBIT_MATMUL_BLOCK(NAME, T, LARGE)                                                                            \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, 1)                                                                                     \
    NAME(const T *a, const T *b, const T *bias, T *c, u8 *a_packed, u8 *b_packed, const BlockProduct p) {              \
        matmul_block_any<T, LARGE>(a, b, bias, c, a_packed, b_packed, p);                                              \
    }                                                                                                                  \
    }
