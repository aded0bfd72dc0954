// Tiles of 128 x 64 results per block, 8 x 4 per thread, for matrix products and convolutions.
// Tiles of both operands pass through shared memory, double-buffered: one is used while the next is
// loaded. A thread holds the values of a segment and the sums so far, so 8 x 8 results per thread
// would not leave enough registers for two blocks at once.
#pragma once

#include "ops/matmul/segments.cuh"

namespace isobit {

ISOBIT_CONST u32 TILE_M = 128, TILE_N = 64, TILE_BLOCK = 256, THREAD_M = 8, THREAD_N = 4;
// Four extra words per row of shared memory: vectors stay aligned, and rows start at different
// banks.
ISOBIT_CONST u32 TILE_PAD = 4;
template <typename C>
ISOBIT_CONST u32 TILE_K = 64 / sizeof(C);

// A thread's part of a tile of SIDE x TILE_K elements while it is loaded: vectors of four along k
// or along the side.
template <typename T, typename C, u32 SIDE>
struct TilePart {
    static constexpr u32 K = TILE_K<C>;
    static constexpr u32 PARTS = (SIDE * K / 4 + TILE_BLOCK - 1) / TILE_BLOCK;
    // In the type in which they are loaded. Widening them here would wait for each load, instead of
    // running the products in the meantime.
    T value[PARTS][4];

    struct Place {
        u32 side, k;
        bool inside;
    };
    ISOBIT_FN Place place(u32 part, bool along_k) {
        const u32 i = part * TILE_BLOCK + thread_x();
        const Place at = along_k ? Place{i / (K / 4), i % (K / 4) * 4, true} : Place{i % (SIDE / 4) * 4, i / (SIDE / 4), true};
        return Place{at.side, at.k, at.side < SIDE && at.k < K};
    }
};

template <typename T, typename C, u32 SIDE>
ISOBIT_FN void fetch_tile(TilePart<T, C, SIDE> &tile, const T *src, u64 side_stride, u64 k_stride, u32 vectors, bool along_k,
                          u32 side_left, u64 k_left, T outside) {
    using Part = TilePart<T, C, SIDE>;
#pragma unroll
    for (u32 part = 0; part < Part::PARTS; part++) {
        const auto at = Part::place(part, along_k);
        const u32 side_end = at.side + (along_k ? 1 : 4), k_end = at.k + (along_k ? 4 : 1);
        const T *from = src + at.side * side_stride + at.k * k_stride;
        if (vectors != 0 && at.inside && side_end <= side_left && k_end <= k_left) {
            constexpr int AT_ONCE = sizeof(T) > 4 ? 2 : 4;
#pragma unroll
            for (int j = 0; j < 4; j += AT_ONCE) {
                const Pack<AT_ONCE, T> x = load<AT_ONCE>(from + j);
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++)
                    tile.value[part][i + j] = x.v[i];
            }
        } else {
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 side = at.side + (along_k ? 0 : j), k = at.k + (along_k ? j : 0);
                T x = outside;
                if (at.inside && side < side_left && k < k_left)
                    x = from[j * (along_k ? k_stride : side_stride)];
                tile.value[part][j] = x;
            }
        }
    }
}

template <typename T, typename C, u32 SIDE>
ISOBIT_FN void keep_tile(const TilePart<T, C, SIDE> &tile, C *shared, bool along_k) {
    using Part = TilePart<T, C, SIDE>;
    constexpr u32 PITCH = SIDE + TILE_PAD;
#pragma unroll
    for (u32 part = 0; part < Part::PARTS; part++) {
        const auto at = Part::place(part, along_k);
        if (!at.inside)
            continue;
        C *to = shared + at.k * PITCH + at.side;
        if (along_k) {
#pragma unroll
            for (u32 j = 0; j < 4; j++)
                to[j * PITCH] = to_compute(tile.value[part][j]);
        } else {
            constexpr int AT_ONCE = 16 / sizeof(C);
#pragma unroll
            for (int j = 0; j < 4; j += AT_ONCE) {
                Pack<AT_ONCE, C> x;
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++)
                    x.v[i] = to_compute(tile.value[part][i + j]);
                store(to + j, x);
            }
        }
    }
}

// Loads four neighbours from shared memory.
template <typename C>
ISOBIT_FN void four(C *to, const C *from) {
    constexpr int AT_ONCE = 16 / sizeof(C);
#pragma unroll
    for (int j = 0; j < 4; j += AT_ONCE) {
        const Pack<AT_ONCE, C> x = load<AT_ONCE>(from + j);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            to[i + j] = x.v[i];
    }
}

// Words of shared memory for two stages of the tiles of both operands.
template <typename C>
ISOBIT_CONST u32 TILE_STAGE = TILE_K<C> *(TILE_M + TILE_PAD + TILE_N + TILE_PAD);
template <typename C>
ISOBIT_CONST u32 TILE_WORDS = 2 * TILE_STAGE<C> * sizeof(C) / 16;

// The position of a thread's results. A warp covers the results of 8 x 4 threads, so that its reads
// of shared memory have no bank conflicts.
struct TilePlace {
    u32 x, y;

    // Row and column of a result in the tile.
    ISOBIT_FN u32 row(const TilePlace &at, u32 i) { return at.y * 4 + i % 4 + i / 4 * (TILE_M / 2); }
    ISOBIT_FN u32 col(const TilePlace &at, u32 j) { return at.x * 4 + j; }
};

ISOBIT_FN TilePlace tile_place() {
    constexpr u32 PATCH_X = 8, PATCH_Y = 4, PATCHES_X = TILE_N / THREAD_N / PATCH_X;
    const u32 patch = thread_x() / (PATCH_X * PATCH_Y), in_patch = thread_x() % (PATCH_X * PATCH_Y);
    return TilePlace{patch % PATCHES_X * PATCH_X + in_patch % PATCH_X,
                     patch / PATCHES_X * PATCH_Y + in_patch / PATCH_X};
}

// Moves the tiles of both operands through shared memory, over `k` products. `fetch(at)` loads the
// factors from `at` on into registers, and `keep(a, b)` moves them from there into the tiles; all
// threads of the block call them together. Beyond k the factors must be -0 and +0, whose product
// changes nothing. `add(a, b)` adds the products of a pair of tiles to a thread's segment, and
// `end_segment()` adds the segment, of at most SEGMENT elements of k, to the sums.
template <u32 SEGMENT, typename C, typename Fetch, typename Keep, typename Add, typename End>
ISOBIT_FN void for_each_tile(C *shared, u64 k, const Fetch &fetch, const Keep &keep, const Add &add,
                             const End &end_segment) {
    constexpr u32 K = TILE_K<C>, A_TILE = K * (TILE_M + TILE_PAD);
    fetch((u64)0);
    keep(shared, shared + A_TILE);
    barrier();
    u32 stage = 0;
    // The number of tiles along k fits 32 bits.
    const u32 steps = (u32)((k + K - 1) / K);
#pragma unroll 1
    for (u32 step = 1; step <= steps; step++) {
        const bool more = step < steps;
        if (more)
            fetch((u64)step * K);
        const C *tiles = shared + stage * TILE_STAGE<C>;
        add(tiles, tiles + A_TILE);
        if (!more || step % (SEGMENT / K) == 0)
            end_segment();
        if (more) {
            stage ^= 1;
            keep(shared + stage * TILE_STAGE<C>, shared + stage * TILE_STAGE<C> + A_TILE);
            barrier();
        }
    }
}

// A thread's results, or the values of their segments.
template <typename C>
using TileSums = C[THREAD_M][THREAD_N];

// The sums of a thread's results over `k` products, by the same `fetch` and `keep`. `end(sum,
// segment)` adds the values of a segment to the sums.
template <u32 SEGMENT, typename C, typename Fetch, typename Keep, typename End>
ISOBIT_FN void tile_product(TileSums<C> &sum, C *shared, const TilePlace &place, u64 k, const Fetch &fetch,
                            const Keep &keep, const End &end) {
    C segment[THREAD_M][THREAD_N];
#pragma unroll
    for (u32 i = 0; i < THREAD_M; i++)
#pragma unroll
        for (u32 j = 0; j < THREAD_N; j++) {
            sum[i][j] = nothing<C>();
            segment[i][j] = 0;
        }
    const auto add = [&](const C *a_tile, const C *b_tile) {
        a_tile += place.y * 4;
        b_tile += place.x * 4;
#pragma unroll
        for (u32 kk = 0; kk < TILE_K<C>; kk++) {
            C u[THREAD_M], v[THREAD_N];
            four(u, a_tile + kk * (TILE_M + TILE_PAD));
            four(u + 4, a_tile + kk * (TILE_M + TILE_PAD) + TILE_M / 2);
            four(v, b_tile + kk * (TILE_N + TILE_PAD));
#pragma unroll
            for (u32 i = 0; i < THREAD_M; i++)
#pragma unroll
                for (u32 j = 0; j < THREAD_N; j++)
                    segment[i][j] = fma(u[i], v[j], segment[i][j]);
        }
    };
    const auto end_segment = [&] {
        end(sum, segment);
#pragma unroll
        for (u32 i = 0; i < THREAD_M; i++)
#pragma unroll
            for (u32 j = 0; j < THREAD_N; j++)
                segment[i][j] = 0;
    };
    for_each_tile<SEGMENT>(shared, k, fetch, keep, add, end_segment);
}

// The same, of segments that are added as they are.
template <typename C, typename Fetch, typename Keep>
ISOBIT_FN void tile_product(C (&sum)[THREAD_M][THREAD_N], C *shared, const TilePlace &place, u64 k, const Fetch &fetch,
                            const Keep &keep) {
    const auto end = [](TileSums<C> &sum, const TileSums<C> &segment) {
#pragma unroll
        for (u32 i = 0; i < THREAD_M; i++)
#pragma unroll
            for (u32 j = 0; j < THREAD_N; j++)
                sum[i][j] = sum[i][j] + segment[i][j];
    };
    tile_product<PRODUCT_SEGMENT>(sum, shared, place, k, fetch, keep, end);
}

} // namespace isobit
