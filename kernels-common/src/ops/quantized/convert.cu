// Conversions of matrices and activations: blocks to elements, and rows to the q8_1 form that
// integer products take.
#include "device_lib/index.cuh"
#include "device_lib/halves.cuh"
#include "ops/quantized/q8.cuh"
#include "ops/quantized/formats.cuh"
#include "ops/quantized/values.cuh"

namespace isobit {

ISOBIT_CONST u32 Q_CONVERT_BLOCK = 256;
// Elements that a thread dequantizes at a time.
ISOBIT_CONST u32 Q_EACH = 8;

// The host's `Conversion` in convert.rs.
struct Conversion {
    // Blocks of 32 elements per row. Rows of elements are contiguous.
    u64 blocks;
    // Bytes from one row of blocks to the next.
    u64 row;
    u32 dtype;
    u32 unused;
    // Thread blocks per row.
    Divisor chunks;
};

// Must match ops/quantized/convert.rs.
static_assert(sizeof(Conversion) == 40);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Conversion, dtype) == 16 && ISOBIT_OFFSET(Conversion, chunks) == 24);

template <typename F>
ISOBIT_FN void q_dequantize(const Conversion &c, const u8 *from, void *to) {
    const u32 row = divide(block_x(), c.chunks);
    const u64 i = ((u64)(block_x() - row * c.chunks.size) * Q_CONVERT_BLOCK + thread_x()) * Q_EACH;
    if (i >= c.blocks * Q_BLOCK)
        return;
    const u32 at = (u32)(i % Q_SEGMENT);
    const InPlace segment{from + row * c.row + i / Q_SEGMENT * Q_SEGMENT_BYTES<F>};
    const QScale scale = scale_of<F>(segment, at / F::SUB);
    float x[Q_EACH];
#pragma unroll
    for (u32 w = 0; w < Q_EACH / 4; w++) {
        const u32 word = at / 4 + w, levels = levels_of<F>(segment, word / 8, word % 8);
        float four[4];
        four_levels(four, levels);
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            x[4 * w + e] = element<F>(scale, four[e]);
    }
    put_values(to, row * c.blocks * Q_BLOCK + i, c.dtype, x);
}

// Quantizes blocks of activations.
ISOBIT_FN void q_activations(u64 blocks, u32 dtype, const void *x, u32 *q, float *scales) {
    __shared__ vector_detail::words4 shared[Q_CONVERT_BLOCK / 4];
    const u64 i = (u64)block_x() * Q_CONVERT_BLOCK + thread_x(), block = i / Q8_THREADS;
    float values[Q8_EACH] = {};
    if (block < blocks)
        values_at(values, x, i * Q8_EACH, dtype);
    const Q8Part part = q8_part<true>(values, (u32 *)shared);
    if (block >= blocks)
        return;
    store(q + i * (Q8_EACH / 4), Pack<Q8_EACH / 4, u32>{{part.q[0], part.q[1]}});
    if (i % Q8_THREADS == 0)
        store(scales + block * 2, Pack<2, float>{{to_f32(part.d), to_f32(part.s)}});
}

} // namespace isobit

#define ISOBIT_Q_DEQUANTIZE(NAME, F)                                                                                   \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(256) NAME(const Conversion c, const u8 *from, void *to) { q_dequantize<F>(c, from, to); }     \
    }
#define ISOBIT_Q_ACTIVATIONS(NAME)                                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_HALVES(256) NAME(u64 blocks, u32 dtype, const void *x, u32 *q, float *scales) {                      \
        q_activations(blocks, dtype, x, q, scales);                                                                    \
    }                                                                                                                  \
    }
