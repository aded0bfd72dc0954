// Products of signed bytes along k, in tiles of 128 x 128 results, by the integer matrix unit that
// the target has. Sums wrap, so any order gives the same bits.
//
// Stages of 64 bytes along k pass through shared memory in the chunks of device_lib/digit_tile.cuh,
// two ahead. All that is irregular in an operand, bytes_pack.cu has dealt with: a kernel that read
// any layout by itself kept its bytes in local memory, and reached 72 TFLOP/s on an H100.
#include "device_lib/async_copy.cuh"
#include "device_lib/digit_tile.cuh"
#include "ops/matmul/bytes.cuh"

namespace isobit {

// Must match ops/matmul/bytes_tile.rs.
ISOBIT_CONST u32 BYTES_SIDE = 128, BYTES_BLOCK = 256;
ISOBIT_CONST u32 BYTES_K = 64, BYTES_STAGES = 3;
// Of an operand in shared memory: eight lines, and a stage.
ISOBIT_CONST u32 BYTES_GROUP = CHUNK_LINES * BYTES_K, BYTES_STAGE = BYTES_SIDE * BYTES_K;
// Teams along m, and of each team groups of 16 rows and of 16 columns.
ISOBIT_CONST u32 TEAMS_M = 128 / DIGIT_TEAM, TEAM_M = DIGIT_TEAM / 16, TEAM_N = 4;
static_assert(TEAMS_M * TEAM_M * 16 == BYTES_SIDE && BYTES_BLOCK / DIGIT_TEAM / TEAMS_M * TEAM_N * 16 == BYTES_SIDE);
static_assert(2 * BYTES_SIDE == BYTES_BLOCK, "a thread for the sum of each line");

// The lines of an operand from the tile's first one on, and how many there are.
struct BytesSide {
    const u8 *from;
    u64 pitch;
    u32 lines;
};

// Starts the copies of a stage, of which `depth` bytes along k exist. Others become 0.
ISOBIT_FN void start_side(u8 *to, const BytesSide &side, u64 k, u64 depth) {
#pragma unroll
    for (u32 part = 0; part < BYTES_STAGE / 16 / BYTES_BLOCK; part++) {
        // Eight neighbours fill a chunk.
        const u32 i = part * BYTES_BLOCK + thread_x(), chunk = i / CHUNK_LINES;
        const u32 line = chunk / (BYTES_K / CHUNK_K) * CHUNK_LINES + i % CHUNK_LINES;
        const u32 along = chunk % (BYTES_K / CHUNK_K) * CHUNK_K;
        const bool exists = line < side.lines && k + along < depth;
        copy_or_zero_start<16>(to + i * 16, side.from + (exists ? line * side.pitch + k + along : 0), exists);
    }
    static_assert(CHUNK_K == 16, "chunks follow each other as the parts of threads do");
}

// Multiplies a stage. FIRST: the sums begin here.
template <bool FIRST>
ISOBIT_FN void multiply_stage(DigitSums (&sum)[TEAM_M][DIGIT_PARTS<TEAM_N>][1], const u8 *rows, const u8 *columns) {
    multiply_digits<1, FIRST, TEAM_M, TEAM_N, BYTES_GROUP, 0>(sum, rows, columns, thread_x());
#pragma unroll
    for (u32 f = 1; f < BYTES_K / STEP_K; f++) {
        const u32 at = f * STEP_K * CHUNK_LINES;
        multiply_digits<1, false, TEAM_M, TEAM_N, BYTES_GROUP, 0>(sum, rows + at, columns + at, thread_x());
    }
}

// The sum of a line's bytes, from those of its parts.
ISOBIT_FN u32 line_sum(const BytesSide &side, u32 line, u64 k) {
    const u32 *parts = (const u32 *)(side.from + line * side.pitch + whole_chunks(k));
    u32 sum = 0;
    for (u32 part = 0; part < byte_parts(k); part++)
        sum += parts[part];
    return sum;
}

// What a line of `a` (side 0) or of `b` (side 1) gives to with_zeros: the sum of its bytes, if that
// counts, and its zero point.
ISOBIT_FN Pack<2, u32> zeros_of(const BytesSide &lines, u32 line, u32 side, const u8 *zeros, u64 place, const Bytes &q,
                                u64 k) {
    Pack<2, u32> own{};
    own.v[0] = has_zero(q, 1 - side) ? line_sum(lines, line, k) : 0;
    own.v[1] = zero_point(zeros, q, side, place);
    return own;
}

ISOBIT_FN void bytes_tile(const u8 *a, const u8 *b, u32 *c, u32 *partial, const u8 *a_zeros, const u8 *b_zeros,
                          const Product &p, const Bytes &q) {
    extern __shared__ vector_detail::words4 shared_words[];
    u8 *shared = (u8 *)shared_words;

    const ProductBlock block = product_block(p);
    const u32 m0 = block.m_tile * BYTES_SIDE, n0 = block.n_tile * BYTES_SIDE;
    const u64 k0 = (u64)block.segment * PRODUCT_SEGMENT;
    const u64 end = p.segments.size > 1 && p.k - k0 > PRODUCT_SEGMENT ? k0 + PRODUCT_SEGMENT : whole_chunks(p.k);
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    const BytesSide rows{a + batch.at[0] + m0 * p.a_row, p.a_row, p.m - m0};
    const BytesSide columns{b + batch.at[1] + n0 * p.b_col, p.b_col, p.n - n0};
    const u32 team = thread_x() / DIGIT_TEAM, team_m = team % TEAMS_M * TEAM_M, team_n = team / TEAMS_M * TEAM_N;

    // The number of stages along k fits 32 bits.
    const u32 steps = (u32)((end - k0 + BYTES_K - 1) / BYTES_K);
    u32 begun = 0;
#pragma unroll
    for (u32 ahead = 0; ahead + 1 < BYTES_STAGES; ahead++, begun++) {
        u8 *stage = shared + begun * 2 * BYTES_STAGE;
        start_side(stage, rows, k0 + begun * BYTES_K, end);
        start_side(stage + BYTES_STAGE, columns, k0 + begun * BYTES_K, end);
        copies_commit();
    }
    DigitSums sum[TEAM_M][DIGIT_PARTS<TEAM_N>][1];
#pragma unroll 1
    for (u32 step = 0; step < steps; step++, begun++) {
        copies_wait_but<BYTES_STAGES - 2>();
        barrier();
        if (begun < steps) {
            u8 *stage = shared + begun % BYTES_STAGES * 2 * BYTES_STAGE;
            start_side(stage, rows, k0 + (u64)begun * BYTES_K, end);
            start_side(stage + BYTES_STAGE, columns, k0 + (u64)begun * BYTES_K, end);
        }
        copies_commit();
        const u8 *stage = shared + step % BYTES_STAGES * 2 * BYTES_STAGE;
        const u8 *of_rows = stage + team_m * 2 * BYTES_GROUP, *of_columns = stage + BYTES_STAGE + team_n * 2 * BYTES_GROUP;
        if (step == 0)
            multiply_stage<true>(sum, of_rows, of_columns);
        else
            multiply_stage<false>(sum, of_rows, of_columns);
    }
    copies_wait();

    // Only the first segment makes up for zero points.
    const bool corrects = (has_zero(q, 0) || has_zero(q, 1)) && block.segment == 0;
    // Of each row, then of each column: the sum of its bytes, and its zero point.
    Pack<2, u32> *of_lines = (Pack<2, u32> *)shared_words;
    if (corrects) {
        barrier();
        const u32 side = thread_x() / BYTES_SIDE, line = thread_x() % BYTES_SIDE;
        const BytesSide &lines = side == 0 ? rows : columns;
        Pack<2, u32> own{};
        if (line < lines.lines) {
            const u64 at = side == 0 ? (m0 + line) * q.a_zero_stride : (n0 + line) * q.b_zero_stride;
            own = zeros_of(lines, line, side, side == 0 ? a_zeros : b_zeros, at, q, p.k);
        }
        of_lines[thread_x()] = own;
        barrier();
    }
    const u32 row0 = team_m * 16 + digit_row(thread_x()), col0 = team_n * 16 + digit_column(thread_x());
    c += batch.at[2];
#pragma unroll
    for (u32 i = 0; i < TEAM_M; i++)
#pragma unroll
        for (u32 own = 0; own < OWN_ROWS; own++) {
            const u32 in_rows = row0 + i * 16 + own * ROW_STEP, row = m0 + in_rows;
            if (row >= p.m)
                continue;
            const Pack<2, u32> of_row = corrects ? of_lines[in_rows] : Pack<2, u32>{};
#pragma unroll
            for (u32 j = 0; j < DIGIT_PARTS<TEAM_N>; j++)
#pragma unroll
                for (u32 e = 0; e < OWN_COLUMNS; e++) {
                    const u32 in_columns = col0 + j * DIGIT_COLUMNS + e, col = n0 + in_columns;
                    if (col >= p.n)
                        continue;
                    u32 result = (u32)sum[i][j][0][own * OWN_COLUMNS + e];
                    if (corrects) {
                        const Pack<2, u32> of_column = of_lines[BYTES_SIDE + in_columns];
                        result = with_zeros(result, of_row.v[0], of_column.v[0], of_row.v[1], of_column.v[1], p.k);
                    }
                    if (p.segments.size > 1)
                        *partial_place(p, partial, block, row, col) = result;
                    else
                        c[row * p.c_row + col * p.c_col] = result;
                }
        }
}

// Adds to products of packed lines what zero points change. A thread has a column and the same rows
// as all threads; it reads all its results before it writes one, or each would wait for its own.
ISOBIT_CONST u32 AFTER_ROWS = 16;

ISOBIT_FN void bytes_after(const u8 *a, const u8 *b, u32 *c, const u8 *a_zeros, const u8 *b_zeros, const Product &p,
                           const Bytes &q) {
    __shared__ Pack<2, u32> of_rows[AFTER_ROWS];
    const ProductBlock block = product_block(p);
    const u32 me = thread_x(), m0 = block.m_tile * AFTER_ROWS, col = block.n_tile * BYTES_BLOCK + me;
    const u32 count = p.m - m0 < AFTER_ROWS ? p.m - m0 : AFTER_ROWS;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    const BytesSide rows{a + batch.at[0] + m0 * p.a_row, p.a_row, count};
    const BytesSide columns{b + batch.at[1], p.b_col, p.n};
    if (me < count)
        of_rows[me] = zeros_of(rows, me, 0, a_zeros, (m0 + me) * q.a_zero_stride, q, p.k);
    barrier();
    if (col >= p.n)
        return;
    const Pack<2, u32> of_column = zeros_of(columns, col, 1, b_zeros, col * q.b_zero_stride, q, p.k);
    c += batch.at[2] + m0 * p.c_row + col * p.c_col;
    u32 results[AFTER_ROWS];
#pragma unroll
    for (u32 r = 0; r < AFTER_ROWS; r++)
        results[r] = r < count ? c[r * p.c_row] : 0;
#pragma unroll
    for (u32 r = 0; r < AFTER_ROWS; r++) {
        const Pack<2, u32> of_row = of_rows[r];
        if (r < count)
            c[r * p.c_row] = with_zeros(results[r], of_row.v[0], of_column.v[0], of_row.v[1], of_column.v[1], p.k);
    }
}

} // namespace isobit

#define ISOBIT_MATMUL_BYTES_AFTER(NAME)                                                                                \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const u8 *a, const u8 *b, u32 *c, const u8 *a_zeros, const u8 *b_zeros, const Product p, const Bytes q) {     \
        bytes_after(a, b, c, a_zeros, b_zeros, p, q);                                                                  \
    }                                                                                                                  \
    }
#define ISOBIT_MATMUL_BYTES_TILE(NAME)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, 2)                                                                                     \
    NAME(const u8 *a, const u8 *b, u32 *c, u32 *partial, const u8 *a_zeros, const u8 *b_zeros, const Product p,        \
         const Bytes q) {                                                                                              \
        bytes_tile(a, b, c, partial, a_zeros, b_zeros, p, q);                                                          \
    }                                                                                                                  \
    }
