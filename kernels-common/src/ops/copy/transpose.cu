// Copies between layouts with different innermost dimensions, through tiles in shared memory, so
// that reads and writes both access neighbours. Dimension A is the source's innermost one, B the
// destination's.
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// The host's `Tiles` in copy/mod.rs.
struct Tiles {
    u32 a;
    u32 b;
    Divisor a_tiles;
    Divisor b_tiles;
    u64 src_a;
    u64 src_b;
    u64 dst_a;
    u64 dst_b;
    Index<2> batch;
};

// Must match ops/copy/mod.rs.
static_assert(sizeof(Tiles) == 296);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Tiles, a_tiles) == 8 && ISOBIT_OFFSET(Tiles, src_a) == 32);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Tiles, batch) == 64);

// The first element of a block's tile, and the offsets of its batch.
struct Tile {
    u32 a;
    u32 b;
    Offsets<2> batch;
};

ISOBIT_FN Tile tile_of_block(const Tiles &tiles, u32 side) {
    const u32 block = block_x();
    const u32 row = divide(block, tiles.a_tiles);
    const u32 batch = divide(row, tiles.b_tiles);
    return Tile{(block - row * tiles.a_tiles.size) * side, (row - batch * tiles.b_tiles.size) * side,
                offsets_of(tiles.batch, batch)};
}

// Element by element. Narrow elements take one word each in shared memory, and rows with an odd
// number of words cause no bank conflicts.
template <typename T>
ISOBIT_FN void transpose(const T *src, T *dst, const Tiles &tiles) {
    constexpr u32 SIDE = 64, ROWS = 4, EACH = SIDE / ROWS;
    using Word = vector_detail::bits_of_size<sizeof(T) < 4 ? 4 : (int)sizeof(T)>::type;
    __shared__ Word shared[SIDE * (SIDE + 1)];
    const Tile tile = tile_of_block(tiles, SIDE);
    const u32 x = thread_x() % SIDE, y = thread_x() / SIDE;
    src += tile.batch.at[0] + (tile.a + x) * tiles.src_a + tile.b * tiles.src_b;
    dst += tile.batch.at[1] + tile.a * tiles.dst_a + (tile.b + x) * tiles.dst_b;
    T value[EACH];
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
        if (tile.a + x < tiles.a && tile.b + y + i * ROWS < tiles.b)
            value[i] = src[(y + i * ROWS) * tiles.src_b];
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
        if (tile.a + x < tiles.a && tile.b + y + i * ROWS < tiles.b)
            shared[(y + i * ROWS) * (SIDE + 1) + x] = value[i];
    barrier();
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
        if (tile.b + x < tiles.b && tile.a + y + i * ROWS < tiles.a)
            dst[(y + i * ROWS) * tiles.dst_a] = (T)shared[x * (SIDE + 1) + y + i * ROWS];
}

// A thread transposes K x K elements in registers and moves vectors of K everywhere, also in shared
// memory. There an exclusive or permutes the columns of vectors, so that neither side has bank
// conflicts. `src_a` and `dst_b` are 1, and everything else is a multiple of K.
template <typename T, int K>
ISOBIT_FN void transpose_vector(const T *src, T *dst, const Tiles &tiles) {
    constexpr u32 VECTORS = 16, SIDE = VECTORS * K;
    __shared__ vector_detail::words4 shared_words[SIDE * SIDE * sizeof(T) / 16];
    T *shared = (T *)shared_words;
    const Tile tile = tile_of_block(tiles, SIDE);
    const u32 x = thread_x() % VECTORS, y = thread_x() / VECTORS;
    src += tile.batch.at[0] + tile.a + tile.b * tiles.src_b;
    dst += tile.batch.at[1] + tile.a * tiles.dst_a + tile.b;

    Pack<K, T> rows[K];
#pragma unroll
    for (u32 i = 0; i < K; i++)
        if (tile.a + x * K < tiles.a && tile.b + y * K + i < tiles.b)
            rows[i] = load<K>(src + x * K + (y * K + i) * tiles.src_b);
        else
            rows[i] = Pack<K, T>{};
#pragma unroll
    for (u32 j = 0; j < K; j++) {
        Pack<K, T> column;
#pragma unroll
        for (u32 i = 0; i < K; i++)
            column.v[i] = rows[i].v[j];
        store(shared + (x * K + j) * SIDE + (x ^ y) * K, column);
    }
    barrier();
    if (tile.b + x * K >= tiles.b)
        return;
#pragma unroll
    for (u32 j = 0; j < K; j++)
        if (tile.a + y * K + j < tiles.a)
            store(dst + (y * K + j) * tiles.dst_a + x * K, load<K>(shared + (y * K + j) * SIDE + (x ^ y) * K));
}

} // namespace isobit

#define ISOBIT_TRANSPOSE(NAME, T)                                                                                      \
    ISOBIT_KERNEL(256) NAME(const isobit::T *src, isobit::T *dst, const isobit::Tiles tiles) {                         \
        isobit::transpose(src, dst, tiles);                                                                            \
    }
#define ISOBIT_TRANSPOSE_VECTOR(NAME, T, K)                                                                            \
    ISOBIT_KERNEL(256) NAME(const isobit::T *src, isobit::T *dst, const isobit::Tiles tiles) {                         \
        isobit::transpose_vector<isobit::T, K>(src, dst, tiles);                                                       \
    }
