// What the kernels of quantized products share: parameters, and the order of their sums. k is cut
// into segments of 256; a segment's value starts from +0 and takes its parts in ascending order;
// the result is the first segment's value and then the others, in ascending order.
#pragma once

#include "device_lib/index.cuh"
#include "device_lib/halves.cuh"
#include "ops/quantized/format.cuh"
#include "ops/quantized/values.cuh"

namespace isobit {

// The host's `QProduct` in product.rs. `x` is rows of k, `w` matrices of n rows, the result rows of
// n.
struct QProduct {
    // Rows of the result, and its columns.
    u32 m, n;
    // Blocks of 32 in k.
    u32 blocks;
    u32 segments;
    // Bytes from a row of `w`, and from a matrix, to the next.
    u64 w_row, w_matrix;
    // How many matrices there are for ids to choose from.
    u32 matrices;
    // Of `x`, as it comes, and of the result.
    u32 dtype;
    // Tiles along n.
    Divisor n_tiles;
    // Rows of the result that one row of `x` serves.
    Divisor repeat;
    // Elements from a row of the result to the next.
    u64 y_row;
};

// As in ops/quantized/product.rs.
static_assert(sizeof(QProduct) == 72);
ISOBIT_LAYOUT(ISOBIT_OFFSET(QProduct, w_row) == 16 && ISOBIT_OFFSET(QProduct, matrices) == 32);
ISOBIT_LAYOUT(ISOBIT_OFFSET(QProduct, n_tiles) == 40 && ISOBIT_OFFSET(QProduct, y_row) == 64);

// Activations as q8_1: the integers of each row, and for each block of 32 the scale and the scaled
// sum.
struct EightBitRows {
    const u32 *q;
    const float *scales;
};

// As in ops/quantized/product.rs.
static_assert(sizeof(EightBitRows) == 16);

// -0 leaves every value as it is when it is added, -0 included: the sum of no segments. As the
// scale of activations that are not there it makes products of -0, which change nothing either.
ISOBIT_CONST float Q_NOTHING = -0.0f;

} // namespace isobit
