// The matrix product of f64 on units with the bits of fma(): tiles of 64 x 64 results per block of
// four warps, 32 x 32 per warp. Tiles of the factors go to shared memory by asynchronous copies, in
// the order in which each operand lies in memory, so that two neighbours are one copy. A thread
// keeps the values of the current segment in registers, and the sums of earlier ones in shared
// memory: both in registers leave room for one block less per multiprocessor. At 4096^3 on an H200
// that is 44.7 TFLOP/s with two stages of 16 along k and three blocks per multiprocessor; three
// stages of 8 along k give 40.3, two blocks of three stages of 16 give 32.0, and warps of 16 x 64
// results 42.3.
#include "device_lib/async_copy.cuh"
#include "device_lib/fma_unit.cuh"
#include "ops/matmul/product.cuh"

namespace isobit {

// Must match ops/matmul/unit.rs.
ISOBIT_CONST u32 UNIT_TILE = 64, UNIT_BLOCK = 128, UNIT_STAGES = 2;
// Products along k per stage.
ISOBIT_CONST u32 UNIT_TILE_K = 16;
// Results of a warp in units, and warps along m.
ISOBIT_CONST u32 UNITS_M = 2, UNITS_N = 4, UNIT_WARPS_M = 2;
// Words of 8 bytes that the larger of both layouts of a tile takes.
ISOBIT_CONST u32 UNIT_TILE_SIZE = UNIT_TILE * (UNIT_TILE_K + 4);

// Tiles of an operand, whose rows run along k or along the other side. With four more elements per
// row, the factors that half a warp reads are in different banks.
template <bool ALONG_K>
struct UnitSide {
    static constexpr u32 PITCH = (ALONG_K ? UNIT_TILE_K : UNIT_TILE) + 4;

    // A thread copies pairs that are this many rows apart.
    static constexpr u32 IN_ROW = (ALONG_K ? UNIT_TILE_K : UNIT_TILE) / 2, ROWS = UNIT_BLOCK / IN_ROW;
    static constexpr u32 PARTS = UNIT_TILE * UNIT_TILE_K / 2 / UNIT_BLOCK;

    const double *from;
    u64 side_stride, k_stride;
    u32 side_left;
    // Whether two neighbours can be copied at once.
    bool pairs;

    ISOBIT_FN u32 place(u32 side, u32 k) { return ALONG_K ? side * PITCH + k : k * PITCH + side; }

    // Starts the copies of the tile at `k0` of `k`. Factors that do not exist are `outside`.
    ISOBIT_FN void start(const UnitSide &of, double *tile, u64 k0, u64 k, double outside) {
        const u32 row = thread_x() / IN_ROW, along = thread_x() % IN_ROW * 2;
        const u32 side = ALONG_K ? row : along, at = ALONG_K ? along : row;
        const u64 row_stride = ALONG_K ? of.side_stride : of.k_stride;
        const double *src = of.from + side * of.side_stride + (k0 + at) * of.k_stride;
        double *to = tile + row * PITCH + along;
        if (of.pairs && of.side_left >= UNIT_TILE && k0 + UNIT_TILE_K <= k) {
#pragma unroll
            for (u32 part = 0; part < PARTS; part++)
                copy16_start(to + part * (ROWS * PITCH), src + part * (ROWS * row_stride));
            return;
        }
#pragma unroll 1
        for (u32 i = 0; i < 2 * PARTS; i++) {
            const u32 down = i / 2 * ROWS, right = i % 2;
            if (side + (ALONG_K ? down : right) < of.side_left && k0 + at + (ALONG_K ? right : down) < k)
                copy8_start(to + down * PITCH + right,
                            src + down * row_stride + right * (ALONG_K ? of.k_stride : of.side_stride));
            else
                to[down * PITCH + right] = outside;
        }
    }
};

template <bool A_ALONG_K, bool B_ALONG_K>
ISOBIT_FN void matmul_unit(const double *a, const double *b, double *c, double *partial, double *shared,
                           const Product &p, const ProductBlock &block) {
    using SideA = UnitSide<A_ALONG_K>;
    using SideB = UnitSide<B_ALONG_K>;
    const u32 m0 = block.m_tile * UNIT_TILE, n0 = block.n_tile * UNIT_TILE;
    const u64 k0 = (u64)block.segment * PRODUCT_SEGMENT;
    const u64 k = p.segments.size > 1 && p.k - k0 > PRODUCT_SEGMENT ? PRODUCT_SEGMENT : p.k - k0;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    const SideA side_a = {a + batch.at[0] + m0 * p.a_row + k0 * p.a_col, p.a_row, p.a_col, p.m - m0, p.a_vectors != 0};
    const SideB side_b = {b + batch.at[1] + n0 * p.b_col + k0 * p.b_row, p.b_col, p.b_row, p.n - n0, p.b_vectors != 0};

    // The number of steps along k fits 32 bits.
    const u32 steps = (u32)((k + UNIT_TILE_K - 1) / UNIT_TILE_K);
    const auto start = [&](u32 step) {
        if (step < steps) {
            double *tile = shared + step % UNIT_STAGES * (2 * UNIT_TILE_SIZE);
            SideA::start(side_a, tile, (u64)step * UNIT_TILE_K, k, -0.0);
            SideB::start(side_b, tile + UNIT_TILE_SIZE, (u64)step * UNIT_TILE_K, k, 0.0);
        }
        copies_commit();
    };
#pragma unroll
    for (u32 step = 0; step < UNIT_STAGES - 1; step++)
        start(step);

    const UnitPlace at = unit_place();
    const u32 m = at.warp % UNIT_WARPS_M * (UNITS_M * UNIT_M) + at.side;
    const u32 n = at.warp / UNIT_WARPS_M * (UNITS_N * UNIT_N);
    double *sums = shared + UNIT_STAGES * (2 * UNIT_TILE_SIZE) + thread_x();
    double segment[UNITS_M][UNITS_N][4];
#pragma unroll
    for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
        for (u32 j = 0; j < UNITS_N; j++)
#pragma unroll
            for (u32 l = 0; l < 4; l++)
                segment[i][j][l] = 0;
#pragma unroll 1
    for (u32 step = 0; step < steps; step++) {
        copies_wait_but<UNIT_STAGES - 2>();
        barrier();
        // Into the tiles that all threads have used before the barrier.
        start(step + UNIT_STAGES - 1);
        const double *a_tile = shared + step % UNIT_STAGES * (2 * UNIT_TILE_SIZE);
        const double *b_tile = a_tile + UNIT_TILE_SIZE;
#pragma unroll
        for (u32 kk = 0; kk < UNIT_TILE_K; kk += UNIT_K) {
            double u[UNITS_M][2], v[UNITS_N];
#pragma unroll
            for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
                for (u32 l = 0; l < 2; l++)
                    u[i][l] = a_tile[SideA::place(m + i * UNIT_M + l * 8, kk + at.k)];
#pragma unroll
            for (u32 j = 0; j < UNITS_N; j++)
                v[j] = b_tile[SideB::place(n + j * UNIT_N + at.side, kk + at.k)];
#pragma unroll
            for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
                for (u32 j = 0; j < UNITS_N; j++)
                    unit_fma(segment[i][j], u[i], v[j]);
        }
        const bool last = step + 1 == steps;
        if (!last && (step + 1) % (PRODUCT_SEGMENT / UNIT_TILE_K) != 0)
            continue;
        const bool first = step < PRODUCT_SEGMENT / UNIT_TILE_K;
#pragma unroll
        for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
            for (u32 j = 0; j < UNITS_N; j++)
#pragma unroll
                for (u32 l = 0; l < 4; l++) {
                    double *sum = sums + ((i * UNITS_N + j) * 4 + l) * UNIT_BLOCK;
                    const double value = (first ? nothing<double>() : *sum) + segment[i][j][l];
                    segment[i][j][l] = last ? value : 0;
                    if (!last)
                        *sum = value;
                }
    }

    c += batch.at[2];
#pragma unroll
    for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
        for (u32 j = 0; j < UNITS_N; j++)
#pragma unroll
            for (u32 l = 0; l < 4; l += 2) {
                const u32 row = m0 + m + i * UNIT_M + l * 4, col = n0 + n + j * UNIT_N + at.k * 2;
                if (row >= p.m)
                    continue;
                if (p.segments.size == 1 && p.c_vectors != 0 && col + 2 <= p.n) {
                    store(c + row * p.c_row + col, Pack<2, double>{segment[i][j][l], segment[i][j][l + 1]});
                    continue;
                }
#pragma unroll
                for (u32 x = 0; x < 2; x++) {
                    if (col + x >= p.n)
                        continue;
                    if (p.segments.size > 1)
                        *partial_place(p, partial, block, row, col + x) = segment[i][j][l + x];
                    else
                        c[row * p.c_row + (col + x) * p.c_col] = segment[i][j][l + x];
                }
            }
}

// Does nothing on targets without a unit.
template <bool HAS_UNIT>
ISOBIT_FN void matmul_unit_any(const double *a, const double *b, double *c, double *partial, const Product &p) {
    if constexpr (HAS_UNIT) {
        extern __shared__ vector_detail::words4 shared_words[];
        double *shared = (double *)shared_words;
        ProductBlock block = product_block(p);
        // Neighbouring blocks share factors if they take eight rows of tiles, column by column.
        const u32 tile = block.m_tile * p.n_tiles.size + block.n_tile, band = block.m_tile / 8;
        const u32 in_band = tile - band * 8 * p.n_tiles.size;
        const u32 rows = p.m_tiles.size - band * 8 < 8 ? p.m_tiles.size - band * 8 : 8;
        block.m_tile = band * 8 + in_band % rows;
        block.n_tile = in_band / rows;
        const bool a_along_k = p.a_vectors != 0 ? (p.a_vectors & 1) != 0 : p.a_col <= p.a_row;
        const bool b_along_k = p.b_vectors != 0 ? (p.b_vectors & 1) != 0 : p.b_row <= p.b_col;
        if (a_along_k && b_along_k)
            matmul_unit<true, true>(a, b, c, partial, shared, p, block);
        else if (a_along_k)
            matmul_unit<true, false>(a, b, c, partial, shared, p, block);
        else if (b_along_k)
            matmul_unit<false, true>(a, b, c, partial, shared, p, block);
        else
            matmul_unit<false, false>(a, b, c, partial, shared, p, block);
    }
}

} // namespace isobit

#define ISOBIT_MATMUL_UNIT(NAME)                                                                                       \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(128, 3)                                                                                     \
    NAME(const double *a, const double *b, double *c, double *partial, const Product p) {                              \
        matmul_unit_any<HAS_F64_UNIT>(a, b, c, partial, p);                                                            \
    }                                                                                                                  \
    }
