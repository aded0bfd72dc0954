// Products of f8 with scales: how their elements widen, and the scales of a segment of k.
#pragma once

#include "ops/matmul/product.cuh"

namespace isobit {

// The elements of k of a segment, and the lines and the elements of k that share a scale.
ISOBIT_CONST u32 SCALED_SEGMENT = 128;

// A format of 8 bits, f8e4m3 or f8e5m2, known at run time: 15 kernels serve four pairs of formats
// and three results.
struct F8 {
    u32 shift, mask;
    float unit, largest;
};

// The bits move to the place of an f32's, whose exponent has another bias.
ISOBIT_FN F8 f8_format(bool e5m2) {
    return e5m2 ? F8{3, 0x8fe00000u, 0x1p112f, 57344} : F8{4, 0x87f00000u, 0x1p120f, 448};
}

// The arithmetic shift fills the bits above the exponent with copies of the sign, which the mask
// clears. A value above the largest number is an infinity or a NaN, as its significand says: f8e4m3
// has one there, whose significand is not zero.
ISOBIT_FN float to_f32(u8 x, const F8 &format) {
    const u32 bits = (u32)((i32)((u32)x << 24) >> format.shift) & format.mask;
    const float finite = from_bits(bits) * format.unit;
    return abs(finite) > format.largest ? from_bits(to_bits(finite) | 0x7f800000u) : finite;
}

// The host's `Scaled` in matmul/scaled.rs: of a and of b.
struct Scaled {
    // From the scale of a line, and of a segment, to the next; 0 if all have the same.
    u64 line[2], k[2];
    // The lines of the operand before those of this launch, and those that share a scale as a
    // power of two.
    u64 first[2];
    u32 shift[2];
    u32 is_e5m2[2];
    Index<2> batch;
};

// Must match ops/matmul/scaled.rs.
static_assert(sizeof(Scaled) == 296);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Scaled, first) == 32 && ISOBIT_OFFSET(Scaled, shift) == 48);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Scaled, batch) == 64);

// The scale of a line of operand `side` in a segment; `scales` are those of the line's matrix.
ISOBIT_FN float scale_at(const float *scales, const Scaled &q, u32 side, u32 line, u32 segment) {
    return scales[((q.first[side] + line) >> q.shift[side]) * q.line[side] + segment * q.k[side]];
}

// Scales of both operands in one matrix of the batch.
struct ScaleMatrices {
    const float *a, *b;
};
ISOBIT_FN ScaleMatrices scale_matrices(const float *a, const float *b, const Scaled &q, u32 batch) {
    const Offsets<2> offsets = offsets_of(q.batch, batch);
    return ScaleMatrices{a + offsets.at[0], b + offsets.at[1]};
}

// The sum with the value of a segment, by the product of its scales.
ISOBIT_FN float add_scaled(float sum, float segment, float of_a, float of_b) { return fma(segment, of_a * of_b, sum); }

} // namespace isobit
