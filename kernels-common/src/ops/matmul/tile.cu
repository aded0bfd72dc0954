// The product in tiles of 128 x 64 results a block, 8 x 4 a thread. Tiles of both operands pass through shared memory, two at a time: one
// is used while the next comes in. A thread holds a segment's values and the sums so far, so 8 x 8 would not leave registers for two
// blocks at once.
#include "ops/matmul/product.cuh"

namespace isobit {

ISOBIT_CONST u32 TILE_M = 128, TILE_N = 64, TILE_BLOCK = 256, THREAD_M = 8, THREAD_N = 4;
// Four words more a row of shared memory: vectors stay aligned, and rows start at other banks.
ISOBIT_CONST u32 TILE_PAD = 4;
template <typename C>
ISOBIT_CONST u32 TILE_K = 64 / sizeof(C);

// A thread's part of a tile of SIDE x TILE_K elements, on its way: vectors of four along k or along the side.
template <typename T, typename C, u32 SIDE>
struct TilePart {
    static constexpr u32 K = TILE_K<C>;
    static constexpr u32 PARTS = (SIDE * K / 4 + TILE_BLOCK - 1) / TILE_BLOCK;
    C value[PARTS][4];

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
                          u32 side_left, u64 k_left, C outside) {
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
                    tile.value[part][i + j] = to_compute(x.v[i]);
            }
        } else {
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 side = at.side + (along_k ? 0 : j), k = at.k + (along_k ? j : 0);
                C x = outside;
                if (at.inside && side < side_left && k < k_left)
                    x = to_compute(from[j * (along_k ? k_stride : side_stride)]);
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
                to[j * PITCH] = tile.value[part][j];
        } else {
            constexpr int AT_ONCE = 16 / sizeof(C);
#pragma unroll
            for (int j = 0; j < 4; j += AT_ONCE) {
                Pack<AT_ONCE, C> x;
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++)
                    x.v[i] = tile.value[part][i + j];
                store(to + j, x);
            }
        }
    }
}

// Four neighbours in shared memory.
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

template <typename T>
ISOBIT_FN void matmul_tile(const T *a, const T *b, T *c, compute_t<T> *partial, const Product &p) {
    using C = compute_t<T>;
    constexpr u32 K = TILE_K<C>, A_PITCH = TILE_M + TILE_PAD, B_PITCH = TILE_N + TILE_PAD;
    constexpr u32 A_TILE = K * A_PITCH, B_TILE = K * B_PITCH, TILE = A_TILE + B_TILE;
    __shared__ vector_detail::words4 shared_words[2 * TILE * sizeof(C) / 16];
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

    // A warp covers 8 x 4 threads' results, so that its reads of shared memory meet each bank once.
    constexpr u32 PATCH_X = 8, PATCH_Y = 4, PATCHES_X = TILE_N / THREAD_N / PATCH_X;
    const u32 patch = thread_x() / (PATCH_X * PATCH_Y), in_patch = thread_x() % (PATCH_X * PATCH_Y);
    const u32 x = patch % PATCHES_X * PATCH_X + in_patch % PATCH_X;
    const u32 y = patch / PATCHES_X * PATCH_Y + in_patch / PATCH_X;

    C sum[THREAD_M][THREAD_N], segment[THREAD_M][THREAD_N];
#pragma unroll
    for (u32 i = 0; i < THREAD_M; i++)
#pragma unroll
        for (u32 j = 0; j < THREAD_N; j++) {
            sum[i][j] = nothing<C>();
            segment[i][j] = 0;
        }

    // Beyond k the factors are -0 and +0, whose product changes nothing.
    TilePart<T, C, TILE_M> a_part;
    TilePart<T, C, TILE_N> b_part;
    const auto fetch = [&](u64 at) {
        fetch_tile(a_part, a + at * p.a_col, p.a_row, p.a_col, p.a_vectors, a_along_k, p.m - m0, k - at, nothing<C>());
        fetch_tile(b_part, b + at * p.b_row, p.b_col, p.b_row, p.b_vectors, b_along_k, p.n - n0, k - at, (C)0);
    };
    const auto keep = [&](u32 stage) {
        keep_tile(a_part, shared + stage * TILE, a_along_k);
        keep_tile(b_part, shared + stage * TILE + A_TILE, b_along_k);
    };
    fetch(0);
    keep(0);
    barrier();
    u32 stage = 0;
#pragma unroll 1
    for (u64 at = 0; at < k; at += K) {
        const bool more = at + K < k;
        if (more)
            fetch(at + K);
        const C *a_tile = shared + stage * TILE + y * 4;
        const C *b_tile = shared + stage * TILE + A_TILE + x * 4;
#pragma unroll
        for (u32 kk = 0; kk < K; kk++) {
            C u[THREAD_M], v[THREAD_N];
            four(u, a_tile + kk * A_PITCH);
            four(u + 4, a_tile + kk * A_PITCH + TILE_M / 2);
            four(v, b_tile + kk * B_PITCH);
#pragma unroll
            for (u32 i = 0; i < THREAD_M; i++)
#pragma unroll
                for (u32 j = 0; j < THREAD_N; j++)
                    segment[i][j] = fma(u[i], v[j], segment[i][j]);
        }
        if (!more || (at + K) % PRODUCT_SEGMENT == 0) {
#pragma unroll
            for (u32 i = 0; i < THREAD_M; i++)
#pragma unroll
                for (u32 j = 0; j < THREAD_N; j++) {
                    sum[i][j] = sum[i][j] + segment[i][j];
                    segment[i][j] = 0;
                }
        }
        if (more) {
            stage ^= 1;
            keep(stage);
            barrier();
        }
    }

    c += batch.at[2];
    const u32 col = n0 + x * 4;
#pragma unroll
    for (u32 i = 0; i < THREAD_M; i++) {
        const u32 row = m0 + y * 4 + i % 4 + i / 4 * (TILE_M / 2);
        if (row >= p.m)
            continue;
        if (p.segments.size > 1) {
#pragma unroll
            for (u32 j = 0; j < THREAD_N; j++)
                if (col + j < p.n)
                    *partial_place(p, partial, block, row, col + j) = sum[i][j];
        } else if (p.c_vectors != 0 && col + 4 <= p.n) {
            constexpr int AT_ONCE = sizeof(T) > 4 ? 2 : 4;
#pragma unroll
            for (int j = 0; j < 4; j += AT_ONCE) {
                Pack<AT_ONCE, T> out;
#pragma unroll
                for (int l = 0; l < AT_ONCE; l++)
                    out.v[l] = from_compute<T>(sum[i][j + l]);
                store(c + row * p.c_row + col + j, out);
            }
        } else {
#pragma unroll
            for (u32 j = 0; j < THREAD_N; j++)
                if (col + j < p.n)
                    c[row * p.c_row + (col + j) * p.c_col] = from_compute<T>(sum[i][j]);
        }
    }
}

} // namespace isobit

#define ISOBIT_MATMUL_TILE(NAME, T, BLOCKS)                                                                            \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS) NAME(const T *a, const T *b, T *c, compute_t<T> *partial, const Product p) {   \
        matmul_tile(a, b, c, partial, p);                                                                              \
    }                                                                                                                  \
    }
