// Products through q8_1 in tiles of 128 rows of activations and 64 rows of `w`. Each step passes 64
// elements of k through shared memory, as one-byte integers for every format. Steps are
// double-buffered: one is used while the next is loaded.
#include "device_lib/async_copy.cuh"
#include "device_lib/int_tile.cuh"
#include "ops/quantized/formats.cuh"
#include "ops/quantized/moe_groups.cuh"

namespace isobit {

// Threads, rows of `w`, blocks of 32 per step, and words from one row to the next, with four extra
// words so that rows start at different banks.
ISOBIT_CONST u32 QT_BLOCK = 256, QT_N = 64, QT_STEP = 2, QT_PITCH = QT_STEP * 8 + 4;
// The part of a team, in pieces of 16 rows of activations and 8 of `w`.
ISOBIT_CONST u32 QT_TEAM_M = 2, QT_TEAM_N = 4;

// The shared memory of a step.
template <typename F>
struct TileStep {
    // Sub-blocks per step. A row of activations has one factor for summands per block, or one per
    // sub-block if sub-blocks have 16 elements.
    static constexpr u32 SUBS = QT_STEP * Q_BLOCK / F::SUB;
    u32 x[QT_M * QT_PITCH];
    u32 w[QT_N * QT_PITCH];
    // The scale and the scaled sum of each block of a row.
    float x_scales[QT_STEP][QT_M][2];
    // The factor of a summand, if there is a summand for every 16 elements.
    float x_sums[F::SUMMAND && F::SUB < Q_BLOCK ? SUBS : 1][QT_M];
    float factors[SUBS][QT_N];
    float summands[F::SUMMAND ? SUBS : 1][QT_N];
};

// A thread's part of the next step of `w` while it is loaded: 16 levels of a row, and the scale of
// a sub-block.
struct TilePart {
    u32 levels[4];
    QScale scale;
};

// The sources of a tile: consecutive rows of `w`, and rows of activations given by their numbers,
// in shared memory.
struct TileFrom {
    const u8 *w;
    EightBitRows x;
    const u32 *x_rows;
    u32 m_left, n_left;
};

// Out-of-range positions read the nearest valid data and drop it: without branches, all loads are
// issued together.
template <typename F>
ISOBIT_FN TilePart fetch_w(const QProduct &p, const TileFrom &from, u32 step) {
    constexpr u32 SUBS = TileStep<F>::SUBS;
    const auto nearest = [](u32 i, u32 count) { return i < count ? i : count - 1; };
    const auto segment = [&](u32 row, u32 block) {
        return InPlace{from.w + nearest(row, from.n_left) * p.w_row + (u64)(block / 8) * Q_SEGMENT_BYTES<F>};
    };
    const u32 word = thread_x() % 4 * 4, block = step * QT_STEP + word / 8, block_there = nearest(block, p.blocks);
    const u32 sub = step * SUBS + thread_x() % SUBS, sub_there = nearest(sub, p.blocks * (Q_BLOCK / F::SUB));
    const u32 scale_row = nearest(thread_x() / SUBS, QT_N);
    const InPlace levels_from = segment(thread_x() / 4, block_there);
    const InPlace scale_from = segment(scale_row, sub_there * F::SUB / Q_BLOCK);
    TilePart part;
    part.scale = scale_of<F>(scale_from, sub_there % (Q_SEGMENT / F::SUB));
#pragma unroll
    for (u32 w = 0; w < 4; w++)
        part.levels[w] = levels_of<F>(levels_from, block_there % 8, word % 8 + w);
    if (block != block_there)
#pragma unroll
        for (u32 w = 0; w < 4; w++)
            part.levels[w] = 0;
    if (sub != sub_there)
        part.scale = QScale{0, 0};
    return part;
}

template <typename F>
ISOBIT_FN void keep_w(TileStep<F> &step, const TilePart &part) {
    constexpr u32 SUBS = TileStep<F>::SUBS;
    store(step.w + thread_x() / 4 * QT_PITCH + thread_x() % 4 * 4,
          Pack<4, u32>{{part.levels[0], part.levels[1], part.levels[2], part.levels[3]}});
    const u32 row = thread_x() / SUBS, sub = thread_x() % SUBS;
    if (row < QT_N) {
        step.factors[sub][row] = part.scale.factor;
        if constexpr (F::SUMMAND)
            step.summands[sub][row] = part.scale.summand;
    }
}

// Starts loading a step of activations. Missing activations get integers 0 and scales -0, whose
// products change nothing.
template <typename F>
ISOBIT_FN void start_x(TileStep<F> &to, const QProduct &p, const TileFrom &from, u32 step) {
    constexpr u32 PARTS = QT_STEP * 2;
#pragma unroll 1
    for (u32 i = thread_x(); i < QT_M * PARTS; i += QT_BLOCK) {
        const u32 row = i / PARTS, part = i % PARTS, block = step * QT_STEP + part / 2;
        u32 *place = to.x + row * QT_PITCH + part * 4;
        if (row < from.m_left && block < p.blocks)
            copy16_start(place, from.x.q + ((u64)from.x_rows[row] * p.blocks + block) * 8 + part % 2 * 4);
        else
            store(place, Pack<4, u32>{{0, 0, 0, 0}});
    }
    const u32 row = thread_x() / QT_STEP, part = thread_x() % QT_STEP, block = step * QT_STEP + part;
    if (row < from.m_left && block < p.blocks)
        copy8_start(to.x_scales[part][row], from.x.scales + ((u64)from.x_rows[row] * p.blocks + block) * 2);
    else
        store(to.x_scales[part][row], Pack<2, float>{{Q_NOTHING, Q_NOTHING}});
}

// Sums of 16 integers each, if the format has a summand for every 16 elements.
template <typename F>
ISOBIT_FN void add_sums(TileStep<F> &step) {
    if constexpr (F::SUMMAND && F::SUB == 16) {
#pragma unroll
        for (u32 i = thread_x(); i < QT_M * TileStep<F>::SUBS; i += QT_BLOCK) {
            const u32 row = i % QT_M, sub = i / QT_M;
            const Pack<4, u32> four = load<4>(step.x + row * QT_PITCH + sub * 4);
            i32 sum = 0;
#pragma unroll
            for (u32 l = 0; l < 4; l++)
                sum = sum4(sum, four.v[l]);
            step.x_sums[sub][row] = step.x_scales[sub / 2][row][0] * (float)sum;
        }
        barrier();
    }
}

// A thread's results: 4 rows and 8 columns.
using TileValues = float[QT_TEAM_M * 2][QT_TEAM_N * 2];

// Adds a step's sub-blocks to the values of the segment. The place of a team is its first row on
// either side.
template <typename F>
ISOBIT_FN void take_step(TileValues &values, const TileStep<F> &step, u32 m_place, u32 n_place) {
    // A float whose last place is 1: adding an integer to its bits adds the same integer to its
    // value, so sums that start from it need no conversion.
    constexpr u32 BASE_BITS = 0x4b400000u;
    const float base = from_bits(BASE_BITS);
    const u32 m0 = m_place + tile_row(thread_x()), n0 = n_place + tile_column(thread_x());
#pragma unroll 1
    for (u32 sub = 0; sub < TileStep<F>::SUBS; sub++) {
        const u32 word = sub * F::SUB / 4, block = word / 8;
        float factor[QT_TEAM_N * 2], summand[QT_TEAM_N * 2];
#pragma unroll
        for (u32 j = 0; j < QT_TEAM_N; j++) {
            const Pack<2, float> f = load<2>(step.factors[sub] + n0 + j * 8);
            factor[2 * j] = f.v[0], factor[2 * j + 1] = f.v[1];
            if constexpr (F::SUMMAND) {
                const Pack<2, float> s = load<2>(step.summands[sub] + n0 + j * 8);
                summand[2 * j] = s.v[0], summand[2 * j + 1] = s.v[1];
            }
        }
#pragma unroll
        for (u32 i = 0; i < QT_TEAM_M; i++) {
            i32 sums[1][QT_TEAM_N][4];
            int_tile<F::SUB / 4>(sums, (i32)BASE_BITS, step.x + (m_place + i * 16) * QT_PITCH + word,
                                 step.w + n_place * QT_PITCH + word, QT_PITCH, thread_x());
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                const u32 row = m0 + i * 16 + r * 8;
                const float d = step.x_scales[block][row][0];
                float sum = 0;
                if constexpr (F::SUMMAND)
                    sum = F::SUB < Q_BLOCK ? step.x_sums[sub][row] : step.x_scales[block][row][1];
#pragma unroll
                for (u32 c = 0; c < QT_TEAM_N * 2; c++) {
                    float &value = values[i * 2 + r][c];
                    const float integer = from_bits((u32)sums[0][c / 2][r * 2 + c % 2]) - base;
                    value = fma(factor[c] * d, integer, value);
                    if constexpr (F::SUMMAND)
                        value = fma(summand[c], sum, value);
                }
            }
        }
    }
}

// Writes zeros for the rows that select no matrix.
ISOBIT_FN void put_zeros(const QProduct &p, const GroupTile &tile, const u32 *list, u32 n0, void *y) {
#pragma unroll 1
    for (u32 i = thread_x(); i < tile.count * QT_N; i += QT_BLOCK)
        if (n0 + i % QT_N < p.n)
            put_value(y, list[tile.first + i / QT_N] * p.y_row + n0 + i % QT_N, p.dtype, 0);
}

template <typename F>
ISOBIT_FN void q_tile(const QProduct &p, const u8 *w, const EightBitRows &x, const QGroups &groups, void *y) {
    __shared__ vector_detail::words4 shared[2 * sizeof(TileStep<F>) / 16];
    __shared__ u32 x_rows[QT_M];
    TileStep<F> *steps = (TileStep<F> *)shared;
    static_assert(sizeof(TileStep<F>) % 16 == 0, "both steps are aligned");

    const u32 m_tile = divide(block_x(), p.n_tiles), n0 = (block_x() - m_tile * p.n_tiles.size) * QT_N;
    const bool grouped = groups.list != nullptr;
    GroupTile tile{0, m_tile * QT_M, p.m - m_tile * QT_M};
    if (grouped) {
        tile = group_tile(groups, p.matrices + 1, m_tile, QT_M);
        if (tile.count == 0 || tile.group == p.matrices || p.blocks == 0) {
            put_zeros(p, tile, groups.list, n0, y);
            return;
        }
    }
    const auto y_row = [&](u32 row) { return grouped ? groups.list[tile.first + row] : tile.first + row; };
    if (thread_x() < QT_M && thread_x() < tile.count)
        x_rows[thread_x()] = divide(y_row(thread_x()), p.repeat);
    barrier();
    const TileFrom from{w + tile.group * p.w_matrix + n0 * p.w_row, x, x_rows, tile.count, p.n - n0};
    constexpr u32 TEAMS_N = QT_N / (QT_TEAM_N * 8);
    const u32 team = thread_x() / TILE_TEAM;
    const u32 m_place = team / TEAMS_N * QT_TEAM_M * 16, n_place = team % TEAMS_N * QT_TEAM_N * 8;

    TileValues total, values;
#pragma unroll
    for (u32 r = 0; r < QT_TEAM_M * 2; r++)
#pragma unroll
        for (u32 c = 0; c < QT_TEAM_N * 2; c++) {
            total[r][c] = Q_NOTHING;
            values[r][c] = 0;
        }
    start_x(steps[0], p, from, 0);
    keep_w(steps[0], fetch_w<F>(p, from, 0));
    copies_wait();
    barrier();
    const u32 count = (p.blocks + QT_STEP - 1) / QT_STEP;
#pragma unroll 1
    for (u32 step = 0; step < count; step++) {
        TileStep<F> &now = steps[step % 2], &next = steps[(step + 1) % 2];
        const bool more = step + 1 < count;
        TilePart part{};
        add_sums(now);
        if (more) {
            start_x(next, p, from, step + 1);
            part = fetch_w<F>(p, from, step + 1);
        }
        take_step(values, now, m_place, n_place);
        if (!more || (step + 1) % (Q_SEGMENT / Q_BLOCK / QT_STEP) == 0) {
#pragma unroll
            for (u32 r = 0; r < QT_TEAM_M * 2; r++)
#pragma unroll
                for (u32 c = 0; c < QT_TEAM_N * 2; c++) {
                    total[r][c] = total[r][c] + values[r][c];
                    values[r][c] = 0;
                }
        }
        if (more)
            keep_w(next, part);
        copies_wait();
        barrier();
    }

    const u32 row0 = m_place + tile_row(thread_x()), column0 = n0 + n_place + tile_column(thread_x());
#pragma unroll
    for (u32 r = 0; r < QT_TEAM_M * 2; r++) {
        const u32 row = row0 + r * 8;
        if (row >= tile.count)
            continue;
        const u64 to = y_row(row) * p.y_row;
#pragma unroll
        for (u32 c = 0; c < QT_TEAM_N * 2; c++) {
            const u32 column = column0 + c / 2 * 8 + c % 2;
            if (column < p.n)
                put_value(y, to + column, p.dtype, total[r][c]);
        }
    }
}

} // namespace isobit

#define ISOBIT_Q_TILE(NAME, F)                                                                                         \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES_RESIDENT(256, 2)                                                                              \
    NAME(const QProduct p, const u8 *w, const EightBitRows x, const QGroups groups, void *y) {                         \
        q_tile<F>(p, w, x, groups, y);                                                                                 \
    }                                                                                                                  \
    }
