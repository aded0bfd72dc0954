// The matrix product of f64 on units with the bits of fma(), by the loop of unit.cuh. Tiles of the
// factors go to shared memory in the order in which each operand lies in memory, so that two
// neighbours are one copy. At 4096^3 on an H200 that is 44.7 TFLOP/s with two stages of 16 along k
// and three blocks per multiprocessor; three stages of 8 along k give 40.3, two blocks of three
// stages of 16 give 32.0, and warps of 16 x 64 results 42.3. On an H100, where this form has 45.4,
// tiles of 128 x 128 by 256 threads, of which one block fits a multiprocessor, give 35.7 to 40.1:
// with two stages of 16 or four of 8 along k, with the next factors in registers or not, and with
// warps of 64 x 32 or 32 x 64 results.
#include "ops/matmul/product.cuh"
#include "ops/matmul/unit.cuh"

namespace isobit {

// Must match ops/matmul/unit.rs.
static_assert(UNIT_TILE == 64 && UNIT_BLOCK == 128);
static_assert(UNIT_SHARED<UnitRows<true>, UnitRows<true>> == 2 * 2 * 64 * 20 + 64 * 64);

// The tiles of an operand.
template <bool ALONG_K>
struct UnitSide : UnitRows<ALONG_K> {
    using UnitRows<ALONG_K>::PITCH;

    // A thread copies pairs that are this many rows apart.
    static constexpr u32 IN_ROW = (ALONG_K ? UNIT_TILE_K : UNIT_TILE) / 2, ROWS = UNIT_BLOCK / IN_ROW;
    static constexpr u32 PARTS = UNIT_TILE * UNIT_TILE_K / 2 / UNIT_BLOCK;

    const double *from;
    u64 side_stride, k_stride;
    u32 side_left;
    // Whether two neighbours can be copied at once.
    bool pairs;

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
    a += batch.at[0] + m0 * p.a_row + k0 * p.a_col;
    b += batch.at[1] + n0 * p.b_col + k0 * p.b_row;
    const SideA side_a = {{}, a, p.a_row, p.a_col, p.m - m0, p.a_vectors != 0};
    const SideB side_b = {{}, b, p.b_col, p.b_row, p.n - n0, p.b_vectors != 0};

    // The number of steps along k fits 32 bits.
    const u32 steps = (u32)((k + UNIT_TILE_K - 1) / UNIT_TILE_K);
    const auto start = [&](u32 step, double *a_tile, double *b_tile) {
        SideA::start(side_a, a_tile, (u64)step * UNIT_TILE_K, k, -0.0);
        SideB::start(side_b, b_tile, (u64)step * UNIT_TILE_K, k, 0.0);
    };
    const UnitResults results = unit_results();
    double sum[UNITS_M][UNITS_N][4];
    unit_product<SideA, SideB>(sum, shared, results, steps, start);

    c += batch.at[2];
#pragma unroll
    for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
        for (u32 j = 0; j < UNITS_N; j++)
#pragma unroll
            for (u32 l = 0; l < 4; l += 2) {
                const u32 row = m0 + UnitResults::row(results, i, l), col = n0 + UnitResults::col(results, j, l);
                if (row >= p.m)
                    continue;
                if (p.segments.size == 1 && p.c_vectors != 0 && col + 2 <= p.n) {
                    store(c + row * p.c_row + col, Pack<2, double>{sum[i][j][l], sum[i][j][l + 1]});
                    continue;
                }
#pragma unroll
                for (u32 x = 0; x < 2; x++) {
                    if (col + x >= p.n)
                        continue;
                    if (p.segments.size > 1)
                        *partial_place(p, partial, block, row, col + x) = sum[i][j][l + x];
                    else
                        c[row * p.c_row + (col + x) * p.c_col] = sum[i][j][l + x];
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
