// Factors of products of bytes: four along k in each word, as signed bytes, and zero points.
//
// Unsigned bytes become signed ones by flipping the highest bit, which subtracts 128 from the byte
// and from its zero point. So the differences stay the same, and one kernel takes any mix.
#pragma once

#include "device_lib/bits.cuh"
#include "device_lib/int_dot.cuh"
#include "ops/matmul/product.cuh"

namespace isobit {

// The host's `Bytes` in matmul/bytes.rs. An operand without zero points has a stride of 0, and
// `has_zeros` lacks its bit.
struct Bytes {
    u64 a_zero_stride, b_zero_stride;
    // For each byte of a word, what is flipped.
    u32 a_flip, b_flip;
    // Bit 0 of `a`, bit 1 of `b`.
    u32 has_zeros;
    u32 unused;
};

// Must match ops/matmul/bytes.rs.
static_assert(sizeof(Bytes) == 32);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Bytes, a_flip) == 16 && ISOBIT_OFFSET(Bytes, has_zeros) == 24);

// The zero point of a line of `a` (side 0) or of `b` (side 1), as a signed number.
ISOBIT_FN u32 zero_point(const u8 *zeros, const Bytes &q, u32 side, u64 place) {
    const u32 byte = (q.has_zeros >> side & 1) != 0 ? zeros[place] : 0;
    return (u32)(i32)(i8)(u8)(byte ^ ((side == 0 ? q.a_flip : q.b_flip) & 255));
}
// Whether zero points of a side may be others than 0.
ISOBIT_FN bool has_zero(const Bytes &q, u32 side) {
    return (q.has_zeros >> side & 1) != 0 || (side == 0 ? q.a_flip : q.b_flip) != 0;
}

// Packed lines: the bytes up to whole chunks, and the parts of a line that have a sum each. Must
// match ops/matmul/bytes_tile.rs.
ISOBIT_CONST u64 BYTES_PART = 1024;
ISOBIT_FN u64 whole_chunks(u64 k) { return (k + 15) & ~(u64)15; }
ISOBIT_FN u32 byte_parts(u64 k) { return (u32)((k + BYTES_PART - 1) / BYTES_PART); }

// Four bytes, `stride` apart, of which `count` exist. The others become 0 when they are flipped.
ISOBIT_FN u32 word_of(const u8 *from, u64 stride, u64 count, u32 flip) {
    u32 word = flip;
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        if (i < count) {
            const u32 shift = 8 * i;
            word = (word & ~((u32)255 << shift)) | (u32)from[i * stride] << shift;
        }
    return word;
}

// What a result lacks, from the sums of its factors: with signed bytes a and b and zero points y
// and z, the sum of (a - y)(b - z) is that of a b, less z times the sum of a, less y times the sum
// of b, plus k y z.
ISOBIT_FN u32 with_zeros(u32 products, u32 a_sum, u32 b_sum, u32 a_zero, u32 b_zero, u64 k) {
    return products - b_zero * a_sum - a_zero * b_sum + (u32)k * a_zero * b_zero;
}

} // namespace isobit
