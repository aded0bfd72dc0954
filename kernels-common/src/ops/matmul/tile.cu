// The matrix product in tiles, by each thread or on matrix units.
#include "ops/matmul/store_tile.cuh"
#include "ops/matmul/store_wave.cuh"

namespace isobit {

template <bool ON_UNITS, typename T>
ISOBIT_FN void matmul_tile(const T *a, const T *b, T *c, compute_t<T> *partial, const Product &p) {
    using C = compute_t<T>;
    __shared__ vector_detail::words4 shared_words[TILE_WORDS<C>];
    C *shared = (C *)shared_words;

    const ProductBlock block = product_block(p);
    const u32 m0 = block.m_tile * TILE_M, n0 = block.n_tile * TILE_N;
    const u64 k0 = (u64)block.segment * PRODUCT_SEGMENT;
    const u64 k = p.segments.size > 1 && p.k - k0 > PRODUCT_SEGMENT ? PRODUCT_SEGMENT : p.k - k0;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    a += batch.at[0] + m0 * p.a_row + k0 * p.a_col;
    b += batch.at[1] + n0 * p.b_col + k0 * p.b_row;
    const bool a_along_k = p.a_vectors != 0 ? (p.a_vectors & 1) != 0 : p.a_col <= p.a_row;
    const bool b_along_k = p.b_vectors != 0 ? (p.b_vectors & 1) != 0 : p.b_row <= p.b_col;

    TilePart<T, C, TILE_M> a_part;
    TilePart<T, C, TILE_N> b_part;
    const T nothing_of_a = from_compute<T>(nothing<C>()), nothing_of_b = from_compute<T>((C)0);
    const auto fetch = [&](u64 at) {
        fetch_tile(a_part, a + at * p.a_col, p.a_row, p.a_col, p.a_vectors, a_along_k, p.m - m0, k - at, nothing_of_a);
        fetch_tile(b_part, b + at * p.b_row, p.b_col, p.b_row, p.b_vectors, b_along_k, p.n - n0, k - at, nothing_of_b);
    };
    const auto keep = [&](C *a_tile, C *b_tile) {
        keep_tile(a_part, a_tile, a_along_k);
        keep_tile(b_part, b_tile, b_along_k);
    };
    if constexpr (ON_UNITS) {
        const WaveResults<C> results = wave_results<C>();
        WaveSums<C> sum[WaveTile<C>::M][WaveTile<C>::N];
        wave_product(sum, shared, results, k, fetch, keep);
        store_wave(sum, results, c + batch.at[2], partial, p, block);
    } else {
        const TilePlace place = tile_place();
        C sum[THREAD_M][THREAD_N];
        tile_product(sum, shared, place, k, fetch, keep);
        store_tile(sum, place, c + batch.at[2], partial, p, block);
    }
}

// Does nothing on targets without a unit.
template <typename T>
ISOBIT_FN void matmul_tile_unit(const T *a, const T *b, T *c, compute_t<T> *partial, const Product &p) {
    if constexpr (HAS_WAVE_UNIT)
        matmul_tile<true>(a, b, c, partial, p);
}

} // namespace isobit

#define ISOBIT_MATMUL_TILE(NAME, T, BLOCKS)                                                                            \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS) NAME(const T *a, const T *b, T *c, compute_t<T> *partial, const Product p) {   \
        matmul_tile<false>(a, b, c, partial, p);                                                                       \
    }                                                                                                                  \
    }

#define ISOBIT_MATMUL_TILE_UNIT(NAME, T)                                                                               \
    namespace isobit {                                                                                                 \
    ISOBIT_WAVE_UNIT_KERNEL(256) NAME(const T *a, const T *b, T *c, compute_t<T> *partial, const Product p) {          \
        matmul_tile_unit(a, b, c, partial, p);                                                                         \
    }                                                                                                                  \
    }
