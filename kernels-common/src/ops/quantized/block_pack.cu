// Block products with many rows of float activations: packs the matrix, whose elements are only in
// registers, and computes those results that are chains.
#include "device_lib/atomic.cuh"
#include "device_lib/halves.cuh"
#include "ops/matmul/block/chain.cuh"
#include "ops/matmul/block/pack.cuh"
#include "ops/matmul/block/tile.cuh"
#include "ops/quantized/formats.cuh"

namespace isobit {

// A thread's elements of a line: two chunks of 16, which have one scale each.
template <typename F>
ISOBIT_FN void take_chunks(float (&x)[PACK_EACH], const u8 *line, u32 segment, u32 left) {
    const InPlace from{line + (u64)(segment / 2) * Q_SEGMENT_BYTES<F>};
#pragma unroll
    for (u32 c = 0; c < PACK_CHUNKS; c++) {
        const u32 k = (c * PACK_TEAM + member_of_thread()) * CHUNK_K, at = segment % 2 * BLOCK_SEGMENT + k;
        if (k >= left) {
#pragma unroll
            for (u32 i = 0; i < CHUNK_K; i++)
                x[c * CHUNK_K + i] = 0;
            continue;
        }
        const QScale scale = scale_of<F>(from, at / F::SUB);
#pragma unroll
        for (u32 w = 0; w < CHUNK_K / 4; w++) {
            float four[4];
            four_levels(four, levels_of<F>(from, at / Q_BLOCK, at % Q_BLOCK / 4 + w));
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                x[c * CHUNK_K + w * 4 + e] = element<F>(scale, four[e]);
        }
    }
}

// Packs rows of blocks as lines of f32, whose stride is in bytes.
template <typename F>
ISOBIT_FN void q_pack(const u8 *w, u8 *packed, const BlockSide &p) {
    __shared__ PackShared shared;
    const PackPlace at = pack_place<Digits<float>::COUNT>(packed, p);
    if (at.group >= at.matrix.groups)
        return;
    const u32 line = at.group * CHUNK_LINES + thread_x() % CHUNK_LINES;
    const u64 rest = p.lines.k - (u64)at.segment * BLOCK_SEGMENT;
    const u32 left = rest < BLOCK_SEGMENT ? (u32)rest : BLOCK_SEGMENT;
    float x[PACK_EACH];
    take_chunks<F>(x, w + line * p.lines.line_stride, at.segment, line < p.lines.lines ? left : 0);
    pack_part<float>(at.matrix, at.group, at.segment, x, shared);
}

// The host's `Chains` in packed.rs.
struct QChains {
    u32 m, n, segments;
    // Blocks of 64 columns.
    Divisor n_tiles;
    u64 k;
    // Bytes from one row of the matrix to the next, and elements from one row of results to the
    // next.
    u64 w_row, y_row;
};

// Must match ops/quantized/packed.rs.
static_assert(sizeof(QChains) == 48);
ISOBIT_LAYOUT(ISOBIT_OFFSET(QChains, n_tiles) == 12 && ISOBIT_OFFSET(QChains, k) == 24);

ISOBIT_CONST u32 CHAINS_BLOCK = 256, CHAINS_SIDE = 64;

// Computes the results of rows and columns with an infinity or a NaN. A block looks at 64 x 64.
template <typename F>
ISOBIT_FN void q_chains(const float *x, const u8 *w, float *y, u8 *x_packed, u8 *w_packed, const QChains &p) {
    constexpr u32 PLANES = Digits<float>::COUNT, GROUPS = CHAINS_SIDE / CHUNK_LINES;
    __shared__ u32 any, special[2 * CHAINS_SIDE];
    const u32 m_tile = divide(block_x(), p.n_tiles), n_tile = block_x() - m_tile * p.n_tiles.size;
    const TileSide rows{packed_matrix(x_packed, p.m, p.segments), m_tile * GROUPS};
    const TileSide columns{packed_matrix(w_packed, p.n, p.segments), n_tile * GROUPS};
    if (thread_x() == 0)
        any = 0;
    barrier();
    if (((flags_of_side<PLANES, CHAINS_BLOCK>(rows, GROUPS) | flags_of_side<PLANES, CHAINS_BLOCK>(columns, GROUPS)) & PART_SPECIAL) != 0)
        atomic_or(&any, 1);
    barrier();
    if (any == 0)
        return;
    find_special<PLANES, CHAINS_SIDE, CHAINS_SIDE, CHAINS_BLOCK>(special, rows, columns, thread_x());
    barrier();
    const auto store = [&](u32 row, u32 column) {
        const float *of_x = x + row * p.k;
        const u8 *of_w = w + column * p.w_row;
        y[row * p.y_row + column] = chain_of(
            p.k, [&](float segment, u64 l) { return fma(of_x[l], element_of_blocks<F>(of_w, l), segment); });
    };
    each_special<CHAINS_SIDE, CHAINS_SIDE, CHAINS_BLOCK>(special, m_tile * CHAINS_SIDE, n_tile * CHAINS_SIDE, p.m, p.n,
                                                         thread_x(), store);
}

} // namespace isobit

#define ISOBIT_Q_PACK(NAME, F)                                                                                         \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES_RESIDENT(256, 3) NAME(const u8 *w, u8 *packed, const BlockSide p) { q_pack<F>(w, packed, p); } \
    }
#define ISOBIT_Q_CHAINS(NAME, F)                                                                                       \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(256)                                                                                          \
    NAME(const float *x, const u8 *w, float *y, u8 *x_packed, u8 *w_packed, const QChains p) {                         \
        q_chains<F>(x, w, y, x_packed, w_packed, p);                                                                   \
    }                                                                                                                  \
    }
