// Block products with few rows of float activations per matrix: the values of segments, for which
// matrix elements are dequantized in registers, and their sums.
#include "device_lib/halves.cuh"
#include "ops/matmul/block/gemv.cuh"
#include "ops/matmul/block/thin_sum.cuh"
#include "ops/quantized/formats.cuh"
#include "ops/quantized/moe_groups.cuh"
#include "ops/quantized/values.cuh"

namespace isobit {

// The host's `QBlockProduct` in block.rs.
struct QBlockProduct {
    // The rows are activations and the lines rows of blocks, whose stride is in bytes. Tiles of
    // rows that select the same matrix are a batch.
    BlockThin thin;
    u64 w_matrix;
    u32 matrices, dtype, first_tile;
    // Rows of the result that share one row of activations.
    Divisor repeat;
};

// Must match ops/quantized/block.rs.
static_assert(sizeof(QBlockProduct) == 624);
ISOBIT_LAYOUT(ISOBIT_OFFSET(QBlockProduct, w_matrix) == 592 && ISOBIT_OFFSET(QBlockProduct, repeat) == 612);

// The rows of a tile of the batch: all of them if they are not grouped.
ISOBIT_FN GroupTile rows_of_tile(const QBlockProduct &p, const QGroups &groups, u32 batch) {
    if (groups.list == nullptr)
        return {0, 0, p.thin.rows.lines};
    return group_tile(groups, p.matrices + 1, p.first_tile + batch, GEMV_ROWS);
}
// The number of a row of a tile among those of the result.
ISOBIT_FN u32 row_of_tile(const QGroups &groups, const GroupTile &tile, u32 row) {
    return groups.list == nullptr ? row : groups.list[tile.first + row];
}

// Activations from element `first` of each row on.
struct ValueRows {
    const void *x;
    const QBlockProduct &p;
    const QGroups &groups;
    const GroupTile &tile;
    u64 first;
};
ISOBIT_FN float element_of(const ValueRows &rows, u32 row, u64 k) {
    const u32 number = divide(row_of_tile(rows.groups, rows.tile, row), rows.p.repeat);
    return value_at(rows.x, number * rows.p.thin.rows.line_stride + rows.first + k, rows.p.dtype);
}

// The levels and scales of 32 elements. Most scales are so large beside the step of the integers
// that they are integers of steps themselves, and then the integer of an element is `factor * level
// + summand` exactly: products are of one-byte levels with three-byte digits, and what they have in
// common is multiplied once.
template <typename F>
struct QPart {
    static constexpr bool HAS_LEVELS = true;
    static constexpr u32 SUBS = Q_BLOCK / F::SUB;
    u32 words[Q_BLOCK / 4];
    QScale scales[SUBS];

    // The digits of rows, of which each member has its part of each plane, and the sums of integers
    // that share a scale.
    struct Rows {
        static constexpr bool HAS_SUMS = F::SUMMAND;
        u32 digits[GEMV_ROWS][3][BLOCK_SEGMENT / 4];
        i32 sums[HAS_SUMS ? GEMV_ROWS : 1][BLOCK_SEGMENT / 4];
    };
};
// Calls `take` with each element, or without summands with each level, and a number that counts to
// four, and `of_scale` after those that share a scale.
template <typename F, typename Take, typename OfScale>
ISOBIT_FN void each_of_scale(const QPart<F> &part, const Take &take, const OfScale &of_scale) {
#pragma unroll
    for (u32 sub = 0; sub < QPart<F>::SUBS; sub++) {
#pragma unroll
        for (u32 w = sub * F::SUB / 4; w < (sub + 1) * F::SUB / 4; w++) {
            float four[4];
            four_levels(four, part.words[w]);
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                take(F::SUMMAND ? element<F>(part.scales[sub], four[e]) : four[e], e);
        }
        of_scale(F::SUMMAND ? 1.0f : abs(part.scales[sub].factor));
    }
}
template <typename F>
ISOBIT_FN void take_elements(float (&x)[Q_BLOCK], const QPart<F> &part) {
#pragma unroll
    for (u32 w = 0; w < Q_BLOCK / 4; w++) {
        float four[4];
        four_levels(four, part.words[w]);
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            x[w * 4 + e] = element<F>(part.scales[w * 4 / F::SUB], four[e]);
    }
}
// All products with a factor are exact, but for those of q8_k, whose rounding keeps their order.
template <typename F>
ISOBIT_FN u32 largest_of_part(const QPart<F> &part) {
    u32 largest[4] = {}, all = 0;
    each_of_scale(
        part,
        [&](float x, u32 e) {
            const u32 bits = to_bits(x) & 0x7fffffffu;
            largest[e] = bits > largest[e] ? bits : largest[e];
        },
        [&](float factor) {
            u32 most = 0;
#pragma unroll
            for (u32 e = 0; e < 4; e++) {
                most = largest[e] > most ? largest[e] : most;
                largest[e] = 0;
            }
            const u32 bits = to_bits(from_bits(most) * factor) & 0x7fffffffu;
            all = bits > all ? bits : all;
        });
    return all;
}
// There is no overflow: of a summand's formats all numbers are products of f16 with few bits.
template <typename F>
ISOBIT_FN float size_of(const QPart<F> &part, float scale) {
    float size = 0, sums[4] = {};
    each_of_scale(
        part, [&](float x, u32 e) { sums[e] += abs(x); },
        [&](float factor) {
            size += (sums[0] + sums[1] + sums[2] + sums[3]) * (factor * scale);
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                sums[e] = 0;
        });
    return size;
}
// A thread's part of a row: the sum of four integers is added to those of its neighbours.
template <typename Rows>
ISOBIT_FN void keep_row(Rows &rows, u32 row, const i32 (&integers)[ROW_EACH]) {
    const u32 lane = thread_x() % TILE_TEAM;
    u32 biased[ROW_EACH];
    i32 sum = 0;
#pragma unroll
    for (u32 i = 0; i < ROW_EACH; i++) {
        biased[i] = (u32)integers[i] + 0x808080;
        sum += integers[i];
    }
    const FourDigits<3> four = four_digits<3>(biased);
#pragma unroll
    for (u32 plane = 0; plane < 3; plane++)
        rows.digits[row][plane][lane] = four.of[plane];
    if constexpr (Rows::HAS_SUMS)
        rows.sums[row][lane] = sum;
}
// Whether a factor or a summand in steps is an integer, with products that 64 bits hold.
ISOBIT_FN bool is_integer(float x) { return abs(x) <= 8388608.0f && rint(x) == x; }
template <typename F>
ISOBIT_FN bool are_exact(const QPart<F> &part, float scale) {
    bool exact = true;
#pragma unroll
    for (u32 sub = 0; sub < QPart<F>::SUBS; sub++) {
        exact &= is_integer(part.scales[sub].factor * scale);
        if constexpr (F::SUMMAND)
            exact &= is_integer(part.scales[sub].summand * scale);
    }
    return exact;
}
template <u32 ROWS, typename F, typename Rows>
ISOBIT_FN void sums_of(i64 (&sums)[ROWS], const Rows &rows, const QPart<F> &part, u32 member, float scale) {
    constexpr u32 WORDS = F::SUB / 4;
#pragma unroll
    for (u32 r = 0; r < ROWS; r++)
#pragma unroll
        for (u32 sub = 0; sub < QPart<F>::SUBS; sub++) {
            const u32 first = member * (Q_BLOCK / 4) + sub * WORDS;
            i32 dot[3] = {};
#pragma unroll
            for (u32 w = 0; w < WORDS; w += 4)
#pragma unroll
                for (u32 plane = 0; plane < 3; plane++) {
                    const Pack<4, u32> digits = load<4>(rows.digits[r][plane] + first + w);
#pragma unroll
                    for (u32 l = 0; l < 4; l++)
                        dot[plane] = dot4(dot[plane], digits.v[l], part.words[sub * WORDS + w + l]);
                }
            // The upper two are below 2^30 together.
            const i64 all = (i64)(dot[0] * 256 + dot[1]) * 256 + dot[2];
            sums[r] += (i64)(i32)(part.scales[sub].factor * scale) * all;
            if constexpr (F::SUMMAND) {
                i32 sum = 0;
#pragma unroll
                for (u32 w = 0; w < WORDS; w += 4) {
                    const Pack<4, i32> some = load<4>(rows.sums[r] + first + w);
                    sum += some.v[0] + some.v[1] + some.v[2] + some.v[3];
                }
                sums[r] += (i64)(i32)(part.scales[sub].summand * scale) * sum;
            }
        }
}

// A segment of rows of blocks, which is half of one of the format: a member of a line has 32
// elements. Rows in shared memory have four extra words after as many, so that members read
// different banks.
template <typename F>
struct QLines {
    using Part = QPart<F>;
    static constexpr u32 PLANES = 3, PITCH = GEMV_MEMBERS * (Q_BLOCK + 4);
    static constexpr bool IN_TEAMS = true;
    const u8 *from;
    u64 stride;
    u32 block;

    ISOBIT_FN u32 k_of(u32 member, u32 i) { return member * Q_BLOCK + i; }
    ISOBIT_FN u32 word_of(u32 k) { return k + k / Q_BLOCK * 4; }
};
static_assert(GEMV_EACH == Q_BLOCK && 2 * BLOCK_SEGMENT == Q_SEGMENT);
template <typename F>
ISOBIT_FN bool are_along_k(const QLines<F> &) {
    return true;
}
template <typename F>
ISOBIT_FN void add_nothing(QLines<F> &lines, u32 nothing) {
    lines.from += nothing;
}
template <typename F>
ISOBIT_FN QPart<F> read_member(const QLines<F> &lines, u32 line, u32 member, u32 left) {
    QPart<F> part{};
    if (member * Q_BLOCK < left) {
        const InPlace segment{lines.from + line * lines.stride};
        const u32 block = lines.block + member;
#pragma unroll
        for (u32 w = 0; w < Q_BLOCK / 4; w++)
            part.words[w] = levels_of<F>(segment, block, w);
#pragma unroll
        for (u32 sub = 0; sub < QPart<F>::SUBS; sub++)
            part.scales[sub] = scale_of<F>(segment, block * QPart<F>::SUBS + sub);
    }
    return part;
}

template <typename F>
ISOBIT_FN void q_block_values(const void *x, const u8 *w, const QGroups &groups, u8 *values, const QBlockProduct &p) {
    GemvBlock block = gemv_block(p.thin);
    const GroupTile tile = rows_of_tile(p, groups, block.batch);
    if (tile.count == 0 || tile.group == p.matrices)
        return;
    block.rows = tile.count;
    const ValueRows rows = {x, p, groups, tile, (u64)block.segment * BLOCK_SEGMENT};
    const u8 *from = w + tile.group * p.w_matrix + (u64)(block.segment / 2) * Q_SEGMENT_BYTES<F>;
    const QLines<F> lines = {from, p.thin.lines.line_stride, block.segment % 2 * GEMV_MEMBERS};
    gemv_values(rows, lines, values, p.thin, block);
}

template <typename F>
ISOBIT_FN void q_block_sum(const void *x, const u8 *w, const QGroups &groups, u8 *values, void *y,
                           const QBlockProduct &p) {
    const ThinResult own = thin_result(p.thin);
    if (!own.exists)
        return;
    const GroupTile tile = rows_of_tile(p, groups, own.batch);
    if (own.row >= tile.count)
        return;
    // Rows that select no matrix are zeros.
    float result = 0;
    if (tile.group != p.matrices)
        result = thin_sum(own, values, p.thin, [&] {
            const ValueRows rows = {x, p, groups, tile, 0};
            const u8 *line = w + tile.group * p.w_matrix + own.line * p.thin.lines.line_stride;
            return chain_of(p.thin.lines.k, [&](float segment, u64 l) {
                return fma(element_of(rows, own.row, l), element_of_blocks<F>(line, l), segment);
            });
        });
    const u64 row = row_of_tile(groups, tile, own.row);
    put_value(y, row * p.thin.result_row + own.line * p.thin.result_line, p.dtype, result);
}

} // namespace isobit

#define ISOBIT_Q_BLOCK_VALUES(NAME, F)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES_RESIDENT(128, 4)                                                                              \
    NAME(const void *x, const u8 *w, const QGroups groups, u8 *values, const QBlockProduct p) {                        \
        q_block_values<F>(x, w, groups, values, p);                                                                    \
    }                                                                                                                  \
    }
#define ISOBIT_Q_BLOCK_SUM(NAME, F)                                                                                    \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(64)                                                                                           \
    NAME(const void *x, const u8 *w, const QGroups groups, u8 *values, void *y, const QBlockProduct p) {               \
        q_block_sum<F>(x, w, groups, values, y, p);                                                                    \
    }                                                                                                                  \
    }
