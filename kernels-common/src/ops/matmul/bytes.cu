// Products of bytes with zero points, in tiles and with one short side, by dot products of four
// bytes. Sums wrap, so any order gives the same bits.
#include "ops/matmul/bytes.cuh"
#include "ops/matmul/store_tile.cuh"

namespace isobit {

// Blocks of 4 x 4 bytes of a tile, along the side and along k, that a thread loads. A tile has as
// many words along k as a tile of u32 has elements.
template <u32 SIDE>
struct ByteBlocks {
    static constexpr u32 WORDS = TILE_K<u32>, PARTS = SIDE / 4 * WORDS / TILE_BLOCK;
    // One word for each line with `along_k`, else for each of four bytes along k.
    u32 word[PARTS][4];

    struct Place {
        u32 side, word;
    };
    ISOBIT_FN Place place(u32 part, bool along_k) {
        const u32 i = part * TILE_BLOCK + thread_x();
        return along_k ? Place{i / WORDS * 4, i % WORDS} : Place{i % (SIDE / 4) * 4, i / (SIDE / 4)};
    }
};

template <u32 SIDE>
ISOBIT_FN void fetch_bytes(ByteBlocks<SIDE> &blocks, const u8 *src, u64 side_stride, u64 k_stride, u32 vectors,
                           bool along_k, u32 side_left, u64 k_left, u32 flip) {
    using Blocks = ByteBlocks<SIDE>;
    const u64 near = along_k ? k_stride : side_stride, next = along_k ? side_stride : k_stride;
#pragma unroll
    for (u32 part = 0; part < Blocks::PARTS; part++) {
        const auto at = Blocks::place(part, along_k);
        const u32 k = at.word * 4;
        const u32 sides = at.side < side_left ? side_left - at.side : 0;
        const u64 depth = k < k_left ? k_left - k : 0;
        const u8 *from = src + at.side * side_stride + k * k_stride;
        // Bytes of each word, and words.
        const u64 bytes = along_k ? depth : sides, words = along_k ? sides : depth;
        const bool whole = vectors != 0 && bytes >= 4;
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            u32 word = flip;
            if (j < words)
                word = whole ? *(const u32 *)(from + j * next) : word_of(from + j * next, near, bytes, flip);
            blocks.word[part][j] = word;
        }
    }
}

template <u32 SIDE>
ISOBIT_FN void keep_bytes(const ByteBlocks<SIDE> &blocks, u32 *shared, bool along_k, u32 flip) {
    using Blocks = ByteBlocks<SIDE>;
#pragma unroll
    for (u32 part = 0; part < Blocks::PARTS; part++) {
        const auto at = Blocks::place(part, along_k);
        const u32 *w = blocks.word[part];
        Pack<4, u32> lines{{w[0], w[1], w[2], w[3]}};
        if (!along_k) {
            // Byte j of word i becomes byte i of word j.
            const u32 low = permute_bytes<0x5140>(w[0], w[1]), low_next = permute_bytes<0x5140>(w[2], w[3]);
            const u32 high = permute_bytes<0x7362>(w[0], w[1]), high_next = permute_bytes<0x7362>(w[2], w[3]);
            lines.v[0] = permute_bytes<0x5410>(low, low_next);
            lines.v[1] = permute_bytes<0x7632>(low, low_next);
            lines.v[2] = permute_bytes<0x5410>(high, high_next);
            lines.v[3] = permute_bytes<0x7632>(high, high_next);
        }
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            lines.v[j] ^= flip;
        store(shared + at.word * (SIDE + TILE_PAD) + at.side, lines);
    }
}

ISOBIT_FN void bytes_tile(const u8 *a, const u8 *b, u32 *c, u32 *partial, const u8 *a_zeros, const u8 *b_zeros,
                          const Product &p, const Bytes &q) {
    __shared__ vector_detail::words4 shared_words[TILE_WORDS<u32>];
    u32 *shared = (u32 *)shared_words;

    const ProductBlock block = product_block(p);
    const u32 m0 = block.m_tile * TILE_M, n0 = block.n_tile * TILE_N;
    const u64 k0 = (u64)block.segment * PRODUCT_SEGMENT;
    const u64 k = p.segments.size > 1 && p.k - k0 > PRODUCT_SEGMENT ? PRODUCT_SEGMENT : p.k - k0;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    a += batch.at[0] + m0 * p.a_row + k0 * p.a_col;
    b += batch.at[1] + n0 * p.b_col + k0 * p.b_row;
    const bool a_along_k = p.a_vectors != 0 ? (p.a_vectors & 1) != 0 : p.a_col <= p.a_row;
    const bool b_along_k = p.b_vectors != 0 ? (p.b_vectors & 1) != 0 : p.b_row <= p.b_col;

    ByteBlocks<TILE_M> a_blocks;
    ByteBlocks<TILE_N> b_blocks;
    // `at` counts words.
    const auto fetch = [&](u64 at) {
        const u64 byte = at * 4;
        fetch_bytes(a_blocks, a + byte * p.a_col, p.a_row, p.a_col, p.a_vectors, a_along_k, p.m - m0, k - byte,
                    q.a_flip);
        fetch_bytes(b_blocks, b + byte * p.b_row, p.b_col, p.b_row, p.b_vectors, b_along_k, p.n - n0, k - byte,
                    q.b_flip);
    };
    const auto keep = [&](u32 *a_tile, u32 *b_tile) {
        keep_bytes(a_blocks, a_tile, a_along_k, q.a_flip);
        keep_bytes(b_blocks, b_tile, b_along_k, q.b_flip);
    };
    const TilePlace place = tile_place();
    i32 sum[THREAD_M][THREAD_N], a_sum[THREAD_M], b_sum[THREAD_N];
#pragma unroll
    for (u32 i = 0; i < THREAD_M; i++) {
        a_sum[i] = 0;
#pragma unroll
        for (u32 j = 0; j < THREAD_N; j++)
            sum[i][j] = 0;
    }
#pragma unroll
    for (u32 j = 0; j < THREAD_N; j++)
        b_sum[j] = 0;
    // Only the zero points of one operand need the sums of the other.
    const bool has_a = q.a_flip != 0 || (q.has_zeros & 1) != 0, has_b = q.b_flip != 0 || (q.has_zeros & 2) != 0;
    const auto add = [&](const u32 *a_tile, const u32 *b_tile) {
        a_tile += place.y * 4;
        b_tile += place.x * 4;
        // Unrolled further, gfx1100 has too few registers.
#pragma unroll 4
        for (u32 kk = 0; kk < TILE_K<u32>; kk++) {
            u32 u[THREAD_M], v[THREAD_N];
            four(u, a_tile + kk * (TILE_M + TILE_PAD));
            four(u + 4, a_tile + kk * (TILE_M + TILE_PAD) + TILE_M / 2);
            four(v, b_tile + kk * (TILE_N + TILE_PAD));
#pragma unroll
            for (u32 i = 0; i < THREAD_M; i++)
#pragma unroll
                for (u32 j = 0; j < THREAD_N; j++)
                    sum[i][j] = dot4(sum[i][j], u[i], v[j]);
            if (has_b) {
#pragma unroll
                for (u32 i = 0; i < THREAD_M; i++)
                    a_sum[i] = sum4(a_sum[i], u[i]);
            }
            if (has_a) {
#pragma unroll
                for (u32 j = 0; j < THREAD_N; j++)
                    b_sum[j] = sum4(b_sum[j], v[j]);
            }
        }
    };
    for_each_tile(shared, (k + 3) / 4, fetch, keep, add, [] {});

    u32 result[THREAD_M][THREAD_N];
#pragma unroll
    for (u32 i = 0; i < THREAD_M; i++) {
        const u32 row = m0 + TilePlace::row(place, i);
        const bool has_row = (q.has_zeros & 1) != 0 && row < p.m;
        const u32 a_zero = zero_point(a_zeros, has_row, row * q.a_zero_stride, q.a_flip & 255);
#pragma unroll
        for (u32 j = 0; j < THREAD_N; j++) {
            const u32 col = n0 + TilePlace::col(place, j);
            const bool has_col = (q.has_zeros & 2) != 0 && col < p.n;
            const u32 b_zero = zero_point(b_zeros, has_col, col * q.b_zero_stride, q.b_flip & 255);
            result[i][j] = with_zeros((u32)sum[i][j], (u32)a_sum[i], (u32)b_sum[j], a_zero, b_zero, k);
        }
    }
    store_tile<u32>(result, place, c + batch.at[2], partial, p, block);
}

ISOBIT_CONST u32 BYTES_THIN_BLOCK = 128;

// A thread's sums over R rows of one column.
template <u32 R>
struct ThinSums {
    i32 products[R], a[R], b;
};

// Four bytes of a line from `from` on.
ISOBIT_FN u32 thin_word(const u8 *from, u64 stride, u64 left, bool vectors, u32 flip) {
    return (vectors && left >= 4 ? *(const u32 *)from : word_of(from, stride, left, flip)) ^ flip;
}

// Adds the products of WORDS words along k, which are loaded before they are used.
template <u32 WORDS, u32 R>
ISOBIT_FN void add_words(ThinSums<R> &sums, const u8 *a, const u8 *b, u64 left, u32 rows, const Product &p,
                         const Bytes &q) {
    u32 v[WORDS];
#pragma unroll
    for (u32 w = 0; w < WORDS; w++)
        v[w] = thin_word(b + 4 * w * p.b_row, p.b_row, left - 4 * w, (p.b_vectors & 1) != 0, q.b_flip);
#pragma unroll
    for (u32 w = 0; w < WORDS; w++)
        sums.b = sum4(sums.b, v[w]);
#pragma unroll
    for (u32 i = 0; i < R; i++)
        if (i < rows) {
            const u8 *row = a + i * p.a_row;
#pragma unroll
            for (u32 w = 0; w < WORDS; w++) {
                const u32 u =
                    thin_word(row + 4 * w * p.a_col, p.a_col, left - 4 * w, (p.a_vectors & 1) != 0, q.a_flip);
                sums.products[i] = dot4(sums.products[i], u, v[w]);
                sums.a[i] = sum4(sums.a[i], u);
            }
        }
}

// A thread computes R rows of one column.
template <u32 R>
ISOBIT_FN void bytes_thin(const u8 *a, const u8 *b, u32 *c, u32 *partial, const u8 *a_zeros, const u8 *b_zeros,
                          const Product &p, const Bytes &q) {
    const ProductBlock block = product_block(p);
    const u32 col = block.n_tile * BYTES_THIN_BLOCK + thread_x(), row = block.m_tile * R;
    if (col >= p.n)
        return;
    const u64 k0 = (u64)block.segment * PRODUCT_SEGMENT;
    const u64 k = p.segments.size > 1 && p.k - k0 > PRODUCT_SEGMENT ? PRODUCT_SEGMENT : p.k - k0;
    const Offsets<3> batch = offsets_of(p.batch, block.batch);
    a += batch.at[0] + row * p.a_row + k0 * p.a_col;
    b += batch.at[1] + col * p.b_col + k0 * p.b_row;
    const u32 rows = p.m - row < R ? p.m - row : R;

    ThinSums<R> sums;
    sums.b = 0;
#pragma unroll
    for (u32 i = 0; i < R; i++)
        sums.products[i] = sums.a[i] = 0;
    // Words in flight at once.
    constexpr u32 WORDS = 4;
    u64 at = 0;
#pragma unroll 1
    for (; at + 4 * WORDS <= k; at += 4 * WORDS)
        add_words<WORDS>(sums, a + at * p.a_col, b + at * p.b_row, k - at, rows, p, q);
#pragma unroll 1
    for (; at < k; at += 4)
        add_words<1>(sums, a + at * p.a_col, b + at * p.b_row, k - at, rows, p, q);
    const u32 b_zero = zero_point(b_zeros, (q.has_zeros & 2) != 0, col * q.b_zero_stride, q.b_flip & 255);
#pragma unroll
    for (u32 i = 0; i < R; i++)
        if (i < rows) {
            const u64 place = (row + i) * q.a_zero_stride;
            const u32 a_zero = zero_point(a_zeros, (q.has_zeros & 1) != 0, place, q.a_flip & 255);
            const u32 result = with_zeros((u32)sums.products[i], (u32)sums.a[i], (u32)sums.b, a_zero, b_zero, k);
            if (p.segments.size > 1)
                *partial_place(p, partial, block, row + i, col) = result;
            else
                c[batch.at[2] + (row + i) * p.c_row + col * p.c_col] = result;
        }
}

} // namespace isobit

#define ISOBIT_MATMUL_BYTES(NAME, KERNEL, FUNCTION)                                                                    \
    namespace isobit {                                                                                                 \
    KERNEL NAME(const u8 *a, const u8 *b, u32 *c, u32 *partial, const u8 *a_zeros, const u8 *b_zeros, const Product p, \
                const Bytes q) {                                                                                       \
        FUNCTION(a, b, c, partial, a_zeros, b_zeros, p, q);                                                            \
    }                                                                                                                  \
    }
#define ISOBIT_MATMUL_BYTES_TILE(NAME) ISOBIT_MATMUL_BYTES(NAME, ISOBIT_KERNEL_RESIDENT(256, 2), bytes_tile)
#define ISOBIT_MATMUL_BYTES_THIN(NAME, R) ISOBIT_MATMUL_BYTES(NAME, ISOBIT_KERNEL(128), bytes_thin<R>)
