// Products through q8_1 in tiles of M rows of activations, whose stages have 128 segments of `w`,
// in parts of 16 rows with a team each. With few rows of activations neighbouring teams take
// neighbouring segments of the same rows of `w`, so that blocks have few rows, and there are enough
// of them: then the teams' values are added in order after each stage. The bytes of `w` pass
// through shared memory as they are; a team decodes those of its 16 rows into its registers, once
// for all rows of activations.
#include "device_lib/async_copy.cuh"
#include "device_lib/int_tile.cuh"
#include "ops/quantized/formats.cuh"
#include "ops/quantized/moe_groups.cuh"

namespace isobit {

// Threads, and segments of rows of `w` and of activations in a stage.
ISOBIT_CONST u32 QT_BLOCK = 256, QT_W = QT_BLOCK / TILE_TEAM * 16, QT_X = 64;
// Words from one segment of activations to the next, with four extra words so that segments start
// at different banks.
ISOBIT_CONST u32 QT_X_PITCH = Q_SEGMENT / 4 + 4;

// The shared memory of a stage. Its size must match `stage_bytes` of ops/quantized/product.rs.
template <typename F>
struct TileStage {
    // If the size of segments is a multiple of 16, they start at one; otherwise each keeps its
    // place between two of them.
    static constexpr u32 BEFORE = Q_SEGMENT_BYTES<F> % 16 == 0 ? 0 : 15;
    static constexpr u32 PARTS = (BEFORE + Q_SEGMENT_BYTES<F> + 15) / 16;
    // An odd number of parts, so that eight rows start at different banks.
    static constexpr u32 PITCH = (PARTS | 1) * 16;
    u32 x[QT_X * QT_X_PITCH];
    // The scale and the scaled sum of each block of a segment.
    float scales[Q_SEGMENT / Q_BLOCK][QT_X][2];
    u8 w[QT_W * PITCH];
};

namespace tile_detail {

// How a segment's bytes in shared memory are read: as words if they start at one.
template <bool IN_WORDS>
struct SegmentOf {
    using type = InPlace;
};
template <>
struct SegmentOf<true> {
    using type = InWords;
};

} // namespace tile_detail

template <typename F>
using TileSegment = typename tile_detail::SegmentOf<TileStage<F>::BEFORE == 0>::type;

// The sources of a tile: consecutive rows of `w`, the end of their matrix, and rows of activations
// given by their numbers, in shared memory.
struct TileFrom {
    const u8 *w, *w_end;
    EightBitRows x;
    const u32 *x_rows;
    u32 m_left, n_left;
};

// A segment of a row of `w`. Rows out of range are the nearest one, whose results are dropped.
template <typename F>
ISOBIT_FN const u8 *tile_segment(const QProduct &p, const TileFrom &from, u32 row, u32 segment) {
    return from.w + (row < from.n_left ? row : from.n_left - 1) * p.w_row + (u64)segment * Q_SEGMENT_BYTES<F>;
}

// The bytes before a segment in its first part.
template <typename F>
ISOBIT_FN u32 tile_before(const u8 *segment) {
    return TileStage<F>::BEFORE == 0 ? 0 : (u32)((u64)segment % 16);
}

// Starts loading segments of `w`, SPLIT of each row, with four threads each. A team's rows are
// neighbours. If k ends within a segment, the rest is filled with zeros.
template <typename F, u32 SPLIT>
ISOBIT_FN void start_w(TileStage<F> &to, const QProduct &p, const TileFrom &from, u32 segment0) {
    constexpr u32 BYTES = Q_SEGMENT_BYTES<F>, SIZE = F::BYTES % 2 == 0 ? 2 : 1, THREADS = 4;
    using Element = typename vector_detail::bits_of_size<SIZE>::type;
    const u32 lane = thread_x() % THREADS;
#pragma unroll 1
    for (u32 i = thread_x() / THREADS; i < QT_W; i += QT_BLOCK / THREADS) {
        const u32 split = i % SPLIT, row = i / SPLIT, segment = segment0 + split;
        if (segment >= p.segments)
            continue;
        const u32 blocks = p.blocks - segment * 8;
        const u8 *start = tile_segment<F>(p, from, row, segment);
        const u32 before = tile_before<F>(start), end = before + BYTES;
        const u32 has = blocks < 8 ? before + blocks / (F::BLOCK / Q_BLOCK) * F::BYTES : end;
        const u8 *parts = start - before;
        u8 *place = to.w + ((row / 16 * SPLIT + split) * 16 + row % 16) * TileStage<F>::PITCH;
        if (TileStage<F>::BEFORE == 0 && blocks >= 8 && (u64)start % 16 == 0) {
#pragma unroll
            for (u32 part = 0; part < TileStage<F>::PARTS; part += THREADS)
                if (part + lane < TileStage<F>::PARTS)
                    copy16_start(place + (part + lane) * 16, start + (part + lane) * 16);
            continue;
        }
        // The first and the last part may have bytes of neighbours, but of the matrix: what lies
        // before it is of the allocation, which starts aligned.
        u32 whole = 0;
        if ((u64)parts % 16 == 0) {
            const u32 all = (end + 15) / 16 * 16;
            whole = has == end && parts + all <= from.w_end ? all : has / 16 * 16;
        }
#pragma unroll
        for (u32 part = 0; part < TileStage<F>::PARTS; part += THREADS)
            if ((part + lane) * 16 < whole)
                copy16_start(place + (part + lane) * 16, parts + (part + lane) * 16);
        for (u32 at = whole + lane * SIZE; at < end; at += THREADS * SIZE)
            if (at >= before)
                *(Element *)(place + at) = at < has ? *(const Element *)(parts + at) : (Element)0;
    }
}

// Starts loading segments of activations, SPLIT of each row, with four threads each. Missing ones
// are zeros; their products with finite scales, as those of missing blocks are, change nothing.
template <typename F, u32 SPLIT>
ISOBIT_FN void start_x(TileStage<F> &to, const QProduct &p, const TileFrom &from, u32 segment0) {
    constexpr u32 M = QT_X / SPLIT, THREADS = QT_BLOCK / QT_X, BLOCKS = Q_SEGMENT / Q_BLOCK;
    const u32 place = thread_x() / THREADS, lane = thread_x() % THREADS, row = place % M;
    const u32 block = (segment0 + place / M) * BLOCKS;
    const u32 has = row < from.m_left && block < p.blocks ? p.blocks - block : 0;
    const u64 first = has != 0 ? (u64)from.x_rows[row] * p.blocks + block : 0;
#pragma unroll
    for (u32 part = lane; part < BLOCKS * 2; part += THREADS)
        copy_or_zero_start<16>(to.x + place * QT_X_PITCH + part * 4, from.x.q + first * 8 + part * 4, part / 2 < has);
#pragma unroll
    for (u32 b = lane; b < BLOCKS; b += THREADS)
        copy_or_zero_start<8>(to.scales[b][place], from.x.scales + (first + b) * 2, b < has);
}

// Adds the blocks of a segment to its values: 16 rows of `w` by M rows of activations, in parts of
// 32 of which the last may be missing. The segment's activations begin at `place`.
template <typename F, u32 M>
ISOBIT_FN void take_segment(float (&values)[M / 2], const TileStage<F> &stage, const TileSegment<F> (&rows)[2],
                            u32 place, u32 m_left) {
    constexpr u32 SUBS = Q_BLOCK / F::SUB, WORDS = F::SUB / 4, PART = M < 32 ? M : 32;
    constexpr bool OWN_SUMS = F::SUMMAND && F::SUB < Q_BLOCK;
    // A float whose last place is 1: adding an integer to its bits adds the same integer to its
    // value, so sums that start from it need no conversion.
    constexpr u32 BASE_BITS = 0x4b400000u;
    const float base = from_bits(BASE_BITS);
    const u32 *x = stage.x + place * QT_X_PITCH;
    const IntRows<WORDS> ones = int_rows<WORDS>([](u32, u32) { return 0x01010101u; }, thread_x());
#pragma unroll 2
    for (u32 block = 0; block < Q_SEGMENT / Q_BLOCK; block++) {
#pragma unroll
        for (u32 sub = 0; sub < SUBS; sub++) {
            const u32 word = block * 8 + sub * WORDS;
            QScale scale[2];
#pragma unroll
            for (u32 r = 0; r < 2; r++)
                scale[r] = scale_of<F>(rows[r], block * SUBS + sub);
            const auto levels = [&](u32 r, u32 w) { return levels_of<F>(rows[r], block, sub * WORDS + w); };
            const IntRows<WORDS> decoded = int_rows<WORDS>(levels, thread_x());
#pragma unroll
            for (u32 j = 0; j < M / 8; j++) {
                if (j * 8 % PART == 0 && j * 8 >= m_left)
                    break;
                const u32 *eight = x + j * 8 * QT_X_PITCH + word;
                i32 sums[4], x_sums[4];
                int_rows_tile(sums, (i32)BASE_BITS, decoded, eight, QT_X_PITCH, thread_x());
                if constexpr (OWN_SUMS)
                    int_rows_tile(x_sums, (i32)BASE_BITS, ones, eight, QT_X_PITCH, thread_x());
                const Pack<4, float> d = load<4>(stage.scales[block][place + j * 8 + tile_column(thread_x())]);
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    const u32 r = e / 2, c = e % 2;
                    float &value = values[j * 4 + e];
                    value = fma(scale[r].factor * d.v[c * 2], from_bits((u32)sums[e]) - base, value);
                    if constexpr (OWN_SUMS)
                        value = fma(scale[r].summand, d.v[c * 2] * (from_bits((u32)x_sums[e]) - base), value);
                    else if constexpr (F::SUMMAND)
                        value = fma(scale[r].summand, d.v[c * 2 + 1], value);
                }
            }
        }
    }
}

// Writes zeros for the rows that select no matrix.
template <u32 N>
ISOBIT_FN void put_zeros(const QProduct &p, const GroupTile &tile, const u32 *list, u32 n0, void *y) {
#pragma unroll 1
    for (u32 i = thread_x(); i < tile.count * N; i += QT_BLOCK)
        if (n0 + i % N < p.n)
            put_value(y, list[tile.first + i / N] * p.y_row + n0 + i % N, p.dtype, 0);
}

template <typename F, u32 M>
ISOBIT_FN void q_tile(const QProduct &p, const u8 *w, const EightBitRows &x, const QGroups &groups, u32 stages,
                      void *y) {
    constexpr u32 SPLIT = QT_X / M, N = QT_W / SPLIT, EACH = (M * N + QT_BLOCK - 1) / QT_BLOCK;
    // The values of a segment, with extra places so that rows start at different banks.
    constexpr u32 PITCH = N + 4;
    static_assert(sizeof(TileStage<F>) % 16 == 0, "every stage is aligned");
    static_assert(sizeof(TileStage<F>) + 2 * sizeof(u32) * M <= 64 << 10, "a stage fits every device");
    static_assert(SPLIT == 1 || SPLIT * M * PITCH * sizeof(float) <= sizeof(TileStage<F>),
                  "the segments' values lie where the stage was");
    extern __shared__ vector_detail::words4 shared_words[];
    __shared__ u32 x_rows[M];
    __shared__ u32 y_rows[M];
    TileStage<F> *ring = (TileStage<F> *)shared_words;

    const u32 m_tile = divide(block_x(), p.n_tiles), n0 = (block_x() - m_tile * p.n_tiles.size) * N;
    const bool grouped = groups.list != nullptr;
    GroupTile tile{0, m_tile * M, p.m - m_tile * M < M ? p.m - m_tile * M : M};
    if (grouped) {
        tile = group_tile(groups, p.matrices + 1, m_tile, M);
        if (tile.count == 0 || tile.group == p.matrices || p.blocks == 0) {
            put_zeros<N>(p, tile, groups.list, n0, y);
            return;
        }
    }
    if (thread_x() < tile.count) {
        const u32 row = grouped ? groups.list[tile.first + thread_x()] : tile.first + thread_x();
        y_rows[thread_x()] = row;
        x_rows[thread_x()] = divide(row, p.repeat);
    }
    barrier();
    const u8 *matrix = w + tile.group * p.w_matrix;
    const u64 row_bytes = (u64)(p.blocks / (F::BLOCK / Q_BLOCK)) * F::BYTES;
    const TileFrom from{matrix + n0 * p.w_row, matrix + (p.n - 1) * p.w_row + row_bytes, x, x_rows, tile.count,
                        p.n - n0};
    const u32 team = thread_x() / TILE_TEAM, split = team % SPLIT, row0 = team / SPLIT * 16 + tile_row(thread_x());

    const u32 chunks = (p.segments + SPLIT - 1) / SPLIT;
#pragma unroll 1
    for (u32 ahead = 0; ahead < stages; ahead++) {
        if (ahead < chunks) {
            start_w<F, SPLIT>(ring[ahead], p, from, ahead * SPLIT);
            start_x<F, SPLIT>(ring[ahead], p, from, ahead * SPLIT);
        }
        copies_commit();
    }
    float total[EACH];
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
        total[i] = Q_NOTHING;
#pragma unroll 1
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        TileStage<F> &stage = ring[stages == 2 ? chunk % 2 : 0];
        if (stages == 2)
            copies_wait_but<1>();
        else
            copies_wait();
        barrier();
        const u32 segment = chunk * SPLIT + split;
        float values[M / 2];
#pragma unroll
        for (u32 i = 0; i < M / 2; i++)
            values[i] = 0;
        if (segment < p.segments) {
            TileSegment<F> rows[2];
#pragma unroll
            for (u32 r = 0; r < 2; r++)
                rows[r] = {(decltype(rows[r].from))(stage.w + (team * 16 + tile_row(thread_x()) + r * 8) *
                                                                   TileStage<F>::PITCH +
                                                    tile_before<F>(tile_segment<F>(p, from, row0 + r * 8, segment)))};
            take_segment<F, M>(values, stage, rows, split * M, tile.count);
        }
        barrier();
        const bool more = chunk + stages < chunks;
        if constexpr (SPLIT == 1) {
#pragma unroll
            for (u32 i = 0; i < EACH; i++)
                total[i] = total[i] + values[i];
        } else {
            float *all = (float *)&stage;
#pragma unroll
            for (u32 i = 0; i < M / 2; i++)
                all[(split * M + i / 4 * 8 + tile_column(thread_x()) + i % 2) * PITCH + row0 + i % 4 / 2 * 8] =
                    values[i];
            barrier();
            const u32 count = p.segments - chunk * SPLIT;
#pragma unroll
            for (u32 i = 0; i < EACH; i++) {
                const u32 at = thread_x() + i * QT_BLOCK;
                if (at >= M * N)
                    continue;
#pragma unroll
                for (u32 s = 0; s < SPLIT; s++)
                    if (s < count)
                        total[i] = total[i] + all[(s * M + at / N) * PITCH + at % N];
            }
            if (more)
                barrier();
        }
        if (more) {
            start_w<F, SPLIT>(stage, p, from, (chunk + stages) * SPLIT);
            start_x<F, SPLIT>(stage, p, from, (chunk + stages) * SPLIT);
        }
        copies_commit();
    }

#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        const u32 at = thread_x() + i * QT_BLOCK;
        const u32 row = SPLIT == 1 ? i / 4 * 8 + tile_column(thread_x()) + i % 2 : at / N;
        const u32 column = n0 + (SPLIT == 1 ? row0 + i % 4 / 2 * 8 : at % N);
        if (row < tile.count && column < p.n)
            put_value(y, y_rows[row] * p.y_row + column, p.dtype, total[i]);
    }
}

} // namespace isobit

#define ISOBIT_Q_TILE(NAME, F, M)                                                                                      \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES_RESIDENT(256, 2)                                                                              \
    NAME(const QProduct p, const u8 *w, const EightBitRows x, const QGroups groups, u32 stages, void *y) {             \
        q_tile<F, M>(p, w, x, groups, stages, y);                                                                      \
    }                                                                                                                  \
    }
