// Products of f8 with scales in tiles, by each thread or on matrix units.
#include "ops/matmul/scaled.cuh"
#include "ops/matmul/store_tile.cuh"
#include "ops/matmul/store_wave.cuh"

namespace isobit {

// Widens a part of a tile on its way to shared memory.
template <u32 SIDE>
ISOBIT_FN void keep_f8(const TilePart<u8, float, SIDE> &tile, float *shared, bool along_k, const F8 &format) {
    TilePart<float, float, SIDE> wide;
#pragma unroll
    for (u32 part = 0; part < TilePart<u8, float, SIDE>::PARTS; part++)
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            wide.value[part][j] = to_f32(tile.value[part][j], format);
    keep_tile(wide, shared, along_k);
}

template <bool ON_UNITS, typename T>
ISOBIT_FN void scaled_tile(const u8 *a, const u8 *b, T *c, float *partial, const float *a_scales, const float *b_scales,
                           const Product &p, const Scaled &q) {
    __shared__ vector_detail::words4 shared_words[TILE_WORDS<float>];
    float *shared = (float *)shared_words;

    const ProductBlock block = product_block(p);
    const u32 m0 = block.m_tile * TILE_M, n0 = block.n_tile * TILE_N;
    const u64 k0 = (u64)block.segment * SCALED_SEGMENT;
    const bool apart = p.segments.size > 1;
    const u64 k = apart && p.k - k0 > SCALED_SEGMENT ? SCALED_SEGMENT : p.k - k0;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    const ScaleMatrices scales = scale_matrices(a_scales, b_scales, q, block.batch);
    a += batch.at[0] + m0 * p.a_row + k0 * p.a_col;
    b += batch.at[1] + n0 * p.b_col + k0 * p.b_row;
    const bool a_along_k = p.a_vectors != 0 ? (p.a_vectors & 1) != 0 : p.a_col <= p.a_row;
    const bool b_along_k = p.b_vectors != 0 ? (p.b_vectors & 1) != 0 : p.b_row <= p.b_col;
    const F8 of_a = f8_format(q.is_e5m2[0] != 0), of_b = f8_format(q.is_e5m2[1] != 0);

    TilePart<u8, float, TILE_M> a_part;
    TilePart<u8, float, TILE_N> b_part;
    const auto fetch = [&](u64 at) {
        // Beyond k are -0 and +0.
        fetch_tile(a_part, a + at * p.a_col, p.a_row, p.a_col, p.a_vectors, a_along_k, p.m - m0, k - at, (u8)0x80);
        fetch_tile(b_part, b + at * p.b_row, p.b_col, p.b_row, p.b_vectors, b_along_k, p.n - n0, k - at, (u8)0);
    };
    const auto keep = [&](float *a_tile, float *b_tile) {
        keep_f8(a_part, a_tile, a_along_k, of_a);
        keep_f8(b_part, b_tile, b_along_k, of_b);
    };
    // A value that is added later gets its scales there. Lines beyond the operand have none.
    const auto of_row = [&](u32 row, u32 segment) {
        return apart || m0 + row >= p.m ? 1 : scale_at(scales.a, q, 0, m0 + row, segment);
    };
    const auto of_col = [&](u32 col, u32 segment) {
        return apart || n0 + col >= p.n ? 1 : scale_at(scales.b, q, 1, n0 + col, segment);
    };
    u32 segment_index = 0;
    if constexpr (ON_UNITS) {
        using Tile = WaveTile<float>;
        const WaveResults<float> results = wave_results<float>();
        const auto end = [&](WaveTileSums<float> &sum, const WaveTileSums<float> &segment) {
            float columns[Tile::N];
#pragma unroll
            for (u32 j = 0; j < Tile::N; j++)
                columns[j] = of_col(WaveResults<float>::col(results, j), segment_index);
#pragma unroll
            for (u32 i = 0; i < Tile::M; i++)
#pragma unroll
                for (u32 e = 0; e < Tile::SUMS; e++) {
                    const float row = of_row(WaveResults<float>::row(results, i, e), segment_index);
#pragma unroll
                    for (u32 j = 0; j < Tile::N; j++)
                        sum[i][j][e] = add_scaled(sum[i][j][e], segment[i][j][e], row, columns[j]);
                }
            segment_index++;
        };
        WaveTileSums<float> sum;
        wave_product<SCALED_SEGMENT>(sum, shared, results, k, fetch, keep, end);
        store_wave(sum, results, c + batch.at[2], partial, p, block);
    } else {
        const TilePlace place = tile_place();
        const auto end = [&](TileSums<float> &sum, const TileSums<float> &segment) {
            float columns[THREAD_N];
#pragma unroll
            for (u32 j = 0; j < THREAD_N; j++)
                columns[j] = of_col(TilePlace::col(place, j), segment_index);
#pragma unroll
            for (u32 i = 0; i < THREAD_M; i++) {
                const float row = of_row(TilePlace::row(place, i), segment_index);
#pragma unroll
                for (u32 j = 0; j < THREAD_N; j++)
                    sum[i][j] = add_scaled(sum[i][j], segment[i][j], row, columns[j]);
            }
            segment_index++;
        };
        TileSums<float> sum;
        tile_product<SCALED_SEGMENT>(sum, shared, place, k, fetch, keep, end);
        store_tile(sum, place, c + batch.at[2], partial, p, block);
    }
}

// Does nothing on targets without a unit.
template <typename T>
ISOBIT_FN void scaled_tile_unit(const u8 *a, const u8 *b, T *c, float *partial, const float *a_scales,
                                const float *b_scales, const Product &p, const Scaled &q) {
    if constexpr (HAS_WAVE_UNIT)
        scaled_tile<true>(a, b, c, partial, a_scales, b_scales, p, q);
}

} // namespace isobit

#define ISOBIT_MATMUL_SCALED_TILE(NAME, T)                                                                             \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, 2)                                                                                     \
    NAME(const u8 *a, const u8 *b, T *c, float *partial, const float *a_scales, const float *b_scales,                 \
         const Product p, const Scaled q) {                                                                            \
        scaled_tile<false>(a, b, c, partial, a_scales, b_scales, p, q);                                                \
    }                                                                                                                  \
    }

#define ISOBIT_MATMUL_SCALED_TILE_UNIT(NAME, T)                                                                        \
    namespace isobit {                                                                                                 \
    ISOBIT_WAVE_UNIT_KERNEL(256)                                                                                       \
    NAME(const u8 *a, const u8 *b, T *c, float *partial, const float *a_scales, const float *b_scales,                 \
         const Product p, const Scaled q) {                                                                            \
        scaled_tile_unit(a, b, c, partial, a_scales, b_scales, p, q);                                                  \
    }                                                                                                                  \
    }
