// Shared code of the quantized product kernels: the parameters and the order of sums. k is cut into
// segments of 256. A segment's value starts at +0 and adds its parts in ascending order. The result
// is the value of the first segment plus those of the others, in ascending order.
#pragma once

#include "device_lib/index.cuh"
#include "device_lib/halves.cuh"
#include "ops/quantized/format.cuh"
#include "ops/quantized/values.cuh"

namespace isobit {

// The host's `QProduct` in product.rs. `x` has rows of k elements, `w` has matrices of n rows, and
// the result has rows of n elements.
struct QProduct {
    // Rows and columns of the result.
    u32 m, n;
    // Blocks of 32 along k.
    u32 blocks;
    u32 segments;
    // Bytes from one row of `w` to the next, and from one matrix to the next.
    u64 w_row, w_matrix;
    // The number of matrices that ids select from.
    u32 matrices;
    // The dtype of `x`, before quantization, and of the result.
    u32 dtype;
    // The number of tiles along n.
    Divisor n_tiles;
    // Rows of the result that share one row of `x`.
    Divisor repeat;
    // Elements from one row of the result to the next.
    u64 y_row;
};

// Must match ops/quantized/product.rs.
static_assert(sizeof(QProduct) == 72);
ISOBIT_LAYOUT(ISOBIT_OFFSET(QProduct, w_row) == 16 && ISOBIT_OFFSET(QProduct, matrices) == 32);
ISOBIT_LAYOUT(ISOBIT_OFFSET(QProduct, n_tiles) == 40 && ISOBIT_OFFSET(QProduct, y_row) == 64);

// Activations as q8_1: the integers of each row, and for each block of 32 the scale and the scaled
// sum.
struct EightBitRows {
    const u32 *q;
    const float *scales;
};

// Must match ops/quantized/product.rs.
static_assert(sizeof(EightBitRows) == 16);

// Adding -0 changes no value, not even -0; it is the sum of no segments. As the scale of missing
// activations it gives products of -0, which change nothing either.
ISOBIT_CONST float Q_NOTHING = -0.0f;

} // namespace isobit
