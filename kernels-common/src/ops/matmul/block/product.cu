// The block product of two packed operands. A block of threads computes a tile of results; half
// segments of its lines go to shared memory by asynchronous copies, several stages ahead. The sums
// of a segment stay in registers, one per weight of the digits.
#include "device_lib/async_copy.cuh"
#include "device_lib/index.cuh"
#include "ops/matmul/block/digits.cuh"
#include "ops/matmul/segments.cuh"

namespace isobit {

// The host's `Product` in matmul/block.rs.
struct BlockProduct {
    u32 m, n;
    u32 segments;
    u32 c_pairs;
    u64 k;
    u64 a_row, a_col;
    u64 b_row, b_col;
    u64 c_row, c_col;
    // Bytes of a packed matrix.
    u64 a_packed, b_packed;
    Divisor m_tiles, n_tiles;
    // Of a, b and c, and the numbers of the packed matrices.
    Index<5> batch;
};

// Must match ops/matmul/block.rs.
static_assert(sizeof(BlockProduct) == 536);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BlockProduct, k) == 16 && ISOBIT_OFFSET(BlockProduct, m_tiles) == 88);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BlockProduct, batch) == 112);

ISOBIT_CONST u32 PRODUCT_BLOCK = 256;
// Elements of k per stage, and fragments.
ISOBIT_CONST u32 STAGE_K = 64, STAGE_FRAGMENTS = STAGE_K / FRAGMENT_K, SEGMENT_STAGES = BLOCK_SEGMENT / STAGE_K;

// A tile of WARPS_M by 8 / WARPS_M warps, each of 16 M by 16 N results.
template <u32 PLANES_, u32 WARPS_M_, u32 M_, u32 N_, u32 STAGES_, u32 LAG_>
struct BlockShape {
    static constexpr u32 PLANES = PLANES_, WARPS_M = WARPS_M_, M = M_, N = N_, STAGES = STAGES_, LAG = LAG_;
    static constexpr u32 WARPS_N = PRODUCT_BLOCK / TILE_TEAM / WARPS_M;
    // Groups of 16 lines.
    static constexpr u32 GROUPS_M = WARPS_M * M, GROUPS_N = WARPS_N * N, GROUPS = GROUPS_M + GROUPS_N;
    static constexpr u32 TILE_M = GROUPS_M * FRAGMENT_LINES, TILE_N = GROUPS_N * FRAGMENT_LINES;
    // Bytes of a group in a stage, and of a stage with the steps of its lines.
    static constexpr u32 GROUP_BYTES = STAGE_FRAGMENTS * PLANES * FRAGMENT_BYTES;
    static constexpr u32 STEPS = GROUPS * GROUP_BYTES, STAGE = STEPS + GROUPS * FRAGMENT_LINES * 4;
};
// Must match ops/matmul/block.rs.
template <u32 PLANES, bool LARGE>
struct ShapeOf {
    using type = BlockShape<PLANES, 4, 1, 2, 2, 0>;
};
template <>
struct ShapeOf<2, true> {
    using type = BlockShape<2, 2, 3, 2, 4, 1>;
};
template <>
struct ShapeOf<3, true> {
    using type = BlockShape<3, 4, 2, 2, 4, 1>;
};

// The lines of an operand in a tile.
struct TileSide {
    u8 *packed;
    PackedMatrix matrix;
    u32 first_group;
};

// Starts the copies of stage `step` of one operand: GROUPS groups of 16 lines, of which the first
// is group FIRST of the tile. Groups that do not exist, or not on this level, are 0.
template <typename S, u32 FIRST, u32 GROUPS>
ISOBIT_FN void start_side(u8 *stage, const TileSide &side, u32 level, u32 step) {
    constexpr u32 CHUNKS = S::GROUP_BYTES / 16;
    static_assert(GROUPS * CHUNKS % PRODUCT_BLOCK == 0, "every thread starts the same number of copies");
    const u64 pitch = (u64)side.matrix.segments * PART_BYTES<S::PLANES>;
    // Stages lie one after the other in the parts of a group.
    const u8 *from = parts_of<S::PLANES>(side.packed, side.matrix, level) + side.first_group * pitch +
                     (u64)step * S::GROUP_BYTES;
    u8 *to = stage + FIRST * S::GROUP_BYTES;
    const u32 segment = step / SEGMENT_STAGES;
    const u32 *flags = flags_of<S::PLANES>(side.packed, side.matrix) + part_of(side.matrix, side.first_group, segment);
    const u32 left = side.matrix.groups - side.first_group;
    const bool all = level == 0 && left >= GROUPS;
    const auto exists = [&](u32 group) {
        return group < left && (level == 0 || (flags[(u64)group * side.matrix.segments] & PART_WIDE) != 0);
    };
    if (all) {
#pragma unroll
        for (u32 i = 0; i < GROUPS * CHUNKS; i += PRODUCT_BLOCK) {
            const u32 at = i + thread_x(), group = at / CHUNKS;
            copy16_start(to + at * 16, from + group * pitch + (at - group * CHUNKS) * 16);
        }
    } else {
#pragma unroll 1
        for (u32 at = thread_x(); at < GROUPS * CHUNKS; at += PRODUCT_BLOCK) {
            const u32 group = at / CHUNKS;
            if (exists(group))
                copy16_start(to + at * 16, from + group * pitch + (at - group * CHUNKS) * 16);
            else
                store((u32 *)(to + at * 16), Pack<4, u32>{});
        }
    }
    if (step % SEGMENT_STAGES + 1 < SEGMENT_STAGES || thread_x() >= GROUPS * 4)
        return;
    static_assert(GROUPS * 4 <= PRODUCT_BLOCK, "a thread copies four steps");
    const i32 *steps = steps_of<S::PLANES>(side.packed, side.matrix, level) +
                       ((u64)segment * side.matrix.groups + side.first_group) * FRAGMENT_LINES;
    i32 *steps_to = (i32 *)(stage + S::STEPS) + FIRST * FRAGMENT_LINES + thread_x() * 4;
    if (all || exists(thread_x() / 4))
        copy16_start(steps_to, steps + thread_x() * 4);
    else
        store((u32 *)steps_to, Pack<4, u32>{});
}

// Returns the flags of all parts of a tile's side.
template <typename S>
ISOBIT_FN u32 flags_of_side(const TileSide &side, u32 groups) {
    const u32 left = side.matrix.groups - side.first_group;
    const u64 parts = (u64)(groups < left ? groups : left) * side.matrix.segments;
    const u32 *flags = flags_of<S::PLANES>(side.packed, side.matrix) + part_of(side.matrix, side.first_group, 0);
    u32 all = 0;
#pragma unroll 1
    for (u64 i = thread_x(); i < parts; i += PRODUCT_BLOCK)
        all |= flags[i];
    return all;
}

// Whether a line has an infinity or a NaN.
template <typename S>
ISOBIT_FN bool is_special(const TileSide &side, u32 line) {
    const u32 lines = side.matrix.groups * FRAGMENT_LINES, at = side.first_group * FRAGMENT_LINES + line;
    const i32 *steps = steps_of<S::PLANES>(side.packed, side.matrix, 0);
    bool special = false;
#pragma unroll 1
    for (u32 segment = 0; segment < side.matrix.segments && at < lines; segment++)
        special |= steps[(u64)segment * lines + at] == SPECIAL_STEP;
    return special;
}

// A result as a chain of fused multiply-adds.
template <typename T>
ISOBIT_FN float chain(const T *a, u64 a_step, const T *b, u64 b_step, u64 k) {
    float sum = nothing<float>();
#pragma unroll 1
    for (u64 at = 0; at < k; at += PRODUCT_SEGMENT) {
        const u64 end = k - at < PRODUCT_SEGMENT ? k : at + PRODUCT_SEGMENT;
        float segment = 0;
#pragma unroll 1
        for (u64 l = at; l < end; l++)
            segment = fma(to_compute(a[l * a_step]), to_compute(b[l * b_step]), segment);
        sum = sum + segment;
    }
    return sum;
}

// Adds the products of a level of `a` and one of `b` to the results. FAR if products of two steps
// may be outside the range of f32. With a lag of one the upper half of the warps is one stage
// behind the lower half, so that units are busy while a segment is added to the results.
template <typename S, bool FAR>
ISOBIT_FN void add_levels(float (&result)[S::M][2 * S::N][4], u8 *shared, const TileSide &a, const TileSide &b,
                          const u32 (&level)[2]) {
    const u32 steps = a.matrix.segments * SEGMENT_STAGES;
    const u32 warp = thread_x() / TILE_TEAM, warp_m = warp % S::WARPS_M * S::M, warp_n = warp / S::WARPS_M * S::N;
    const u32 line = thread_x() % TILE_TEAM / 4, column = thread_x() % 4 * 2;
    const u32 behind = S::LAG * (warp / (PRODUCT_BLOCK / (2 * TILE_TEAM)));
    const auto start = [&](u32 step) {
        if (step < steps) {
            u8 *stage = shared + step % S::STAGES * S::STAGE;
            start_side<S, 0, S::GROUPS_M>(stage, a, level[0], step);
            start_side<S, S::GROUPS_M, S::GROUPS_N>(stage, b, level[1], step);
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
    i32 sum[S::M][2 * S::N][WEIGHTS<S::PLANES>][4];
    u32 step = 0;
#pragma unroll 1
    for (u32 segment = 0; segment < a.matrix.segments; segment++) {
        const u8 *stage = nullptr;
#pragma unroll
        for (u32 of_segment = 0; of_segment < SEGMENT_STAGES; of_segment++, step++) {
            next(step + behind);
            stage = shared + step % S::STAGES * S::STAGE;
            const u8 *rows = stage + warp_m * S::GROUP_BYTES;
            const u8 *columns = stage + (S::GROUPS_M + warp_n) * S::GROUP_BYTES;
#pragma unroll
            for (u32 f = 0; f < STAGE_FRAGMENTS; f++) {
                const u32 at = f * S::PLANES * FRAGMENT_BYTES;
                if (of_segment == 0 && f == 0)
                    multiply_digits<S::PLANES, true, S::M, S::N>(sum, rows + at, columns + at, S::GROUP_BYTES, thread_x());
                else
                    multiply_digits<S::PLANES, false, S::M, S::N>(sum, rows + at, columns + at, S::GROUP_BYTES, thread_x());
            }
        }
        const i32 *row_steps = (const i32 *)(stage + S::STEPS) + warp_m * FRAGMENT_LINES + line;
        const i32 *column_steps = (const i32 *)(stage + S::STEPS) + (S::GROUPS_M + warp_n) * FRAGMENT_LINES + column;
        // The bits of 2^x, but for the bias in those of columns, add up to those of a product.
        u32 row_bits[S::M][2], column_bits[2 * S::N][2];
#pragma unroll
        for (u32 i = 0; i < S::M; i++)
#pragma unroll
            for (u32 e = 0; e < 2; e++)
                row_bits[i][e] = (u32)row_steps[i * FRAGMENT_LINES + e * 8] << (FAR ? 0 : 23);
#pragma unroll
        for (u32 j = 0; j < 2 * S::N; j++)
#pragma unroll
            for (u32 e = 0; e < 2; e++)
                column_bits[j][e] = ((u32)column_steps[j * 8 + e] + (FAR ? 0 : 127)) << (FAR ? 0 : 23);
#pragma unroll
        for (u32 i = 0; i < S::M; i++)
#pragma unroll
            for (u32 j = 0; j < 2 * S::N; j++)
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    i32 weights[WEIGHTS<S::PLANES>];
#pragma unroll
                    for (u32 w = 0; w < WEIGHTS<S::PLANES>; w++)
                        weights[w] = sum[i][j][w][e];
                    const float value = value_of<S::PLANES>(weights);
                    const u32 bits = row_bits[i][e / 2] + column_bits[j][e % 2];
                    float &to = result[i][j][e];
                    to = FAR ? add_scaled(to, value, (i32)bits) : fma(value, from_bits(bits), to);
                }
    }
    if (S::LAG != 0 && behind == 0)
        barrier();
    // The next pass writes to the stages that this one reads.
    copies_wait();
    barrier();
}

template <typename T, bool LARGE>
ISOBIT_FN void matmul_block(const T *a, const T *b, T *c, u8 *a_packed, u8 *b_packed, const BlockProduct &p) {
    using S = typename ShapeOf<Digits<T>::COUNT, LARGE>::type;
    constexpr u32 WARPS = PRODUCT_BLOCK / TILE_TEAM;
    extern __shared__ vector_detail::words4 shared_words[];
    __shared__ u32 shared_flags[2][WARPS];
    u8 *shared = (u8 *)shared_words;
    // Neighbouring blocks share lines if they take eight rows of tiles, column by column.
    const u32 all_m = p.m_tiles.size, all_n = p.n_tiles.size;
    const u32 above = divide(block_x(), p.n_tiles), batch = divide(above, p.m_tiles);
    const u32 tile = block_x() - batch * all_m * all_n, band = (above - batch * all_m) / 8;
    const u32 rows = all_m - band * 8 < 8 ? all_m - band * 8 : 8;
    const u32 in_band = tile - band * 8 * all_n, m_tile = band * 8 + in_band % rows, n_tile = in_band / rows;
    const Offsets<5> at = offsets_of(p.batch, batch);
    const u32 m0 = m_tile * S::TILE_M, n0 = n_tile * S::TILE_N;
    const TileSide side_a{a_packed + at.at[3] * p.a_packed,
                          {(p.m + FRAGMENT_LINES - 1) / FRAGMENT_LINES, p.segments},
                          m_tile * S::GROUPS_M};
    const TileSide side_b{b_packed + at.at[4] * p.b_packed,
                          {(p.n + FRAGMENT_LINES - 1) / FRAGMENT_LINES, p.segments},
                          n_tile * S::GROUPS_N};

    // Flags of both sides, of all threads together.
    u32 flags[2] = {flags_of_side<S>(side_a, S::GROUPS_M), flags_of_side<S>(side_b, S::GROUPS_N)};
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

    float result[S::M][2 * S::N][4];
#pragma unroll
    for (u32 i = 0; i < S::M; i++)
#pragma unroll
        for (u32 j = 0; j < 2 * S::N; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
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

    c += at.at[2];
    const u32 warp = thread_x() / TILE_TEAM;
    const u32 row0 = m0 + warp % S::WARPS_M * S::M * FRAGMENT_LINES + thread_x() % TILE_TEAM / 4;
    const u32 col0 = n0 + warp / S::WARPS_M * S::N * FRAGMENT_LINES + thread_x() % 4 * 2;
#pragma unroll
    for (u32 i = 0; i < S::M; i++)
#pragma unroll
        for (u32 j = 0; j < 2 * S::N; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e += 2) {
                const u32 row = row0 + i * FRAGMENT_LINES + e * 4, col = col0 + j * 8;
                if (row >= p.m)
                    continue;
                // A sum of nothing is +0, whichever passes there were.
                const Pack<2, T> two = {{from_compute<T>(result[i][j][e] + 0.0f),
                                         from_compute<T>(result[i][j][e + 1] + 0.0f)}};
                if (p.c_pairs != 0 && col + 2 <= p.n) {
                    store(c + row * p.c_row + col, two);
                    continue;
                }
#pragma unroll
                for (u32 x = 0; x < 2; x++)
                    if (col + x < p.n)
                        c[row * p.c_row + (col + x) * p.c_col] = two.v[x];
            }
    if (((flags[0] | flags[1]) & PART_SPECIAL) == 0)
        return;

    // Lines with an infinity or a NaN are chains.
    u32 *special = (u32 *)shared;
#pragma unroll 1
    for (u32 i = thread_x(); i < S::TILE_M + S::TILE_N; i += PRODUCT_BLOCK)
        special[i] = i < S::TILE_M ? is_special<S>(side_a, i) : is_special<S>(side_b, i - S::TILE_M);
    barrier();
    a += at.at[0];
    b += at.at[1];
#pragma unroll 1
    for (u32 i = thread_x(); i < S::TILE_M * S::TILE_N; i += PRODUCT_BLOCK) {
        const u32 row = i / S::TILE_N, col = i % S::TILE_N;
        if (m0 + row >= p.m || n0 + col >= p.n || (special[row] | special[S::TILE_M + col]) == 0)
            continue;
        const float value = chain(a + (m0 + row) * p.a_row, p.a_col, b + (n0 + col) * p.b_col, p.b_row, p.k);
        c[(m0 + row) * p.c_row + (n0 + col) * p.c_col] = from_compute<T>(value);
    }
}

// The large tile needs a matrix unit; without one its kernel is never launched.
template <typename T, bool LARGE>
ISOBIT_FN void matmul_block_any(const T *a, const T *b, T *c, u8 *a_packed, u8 *b_packed, const BlockProduct &p) {
    if constexpr (HAS_DIGIT_UNIT || !LARGE)
        matmul_block<T, LARGE>(a, b, c, a_packed, b_packed, p);
}

} // namespace isobit

#define ISOBIT_MATMUL_BLOCK(NAME, T, LARGE)                                                                            \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, 1)                                                                                     \
    NAME(const T *a, const T *b, T *c, u8 *a_packed, u8 *b_packed, const BlockProduct p) {                             \
        matmul_block_any<T, LARGE>(a, b, c, a_packed, b_packed, p);                                                    \
    }                                                                                                                  \
    }
