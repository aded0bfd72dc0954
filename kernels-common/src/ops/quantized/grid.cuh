// What the formats with code books share: digits of entries, signs and odd scales. The build makes
// the header with the tables of isobit-hal's grids.rs, so that they are written once.
#pragma once

#include "ops/quantized/format.cuh"
#include "ops/quantized/grids.cuh"

namespace isobit {

namespace grid_detail {

// The bytes with four digits of 2 or 3 bits, the first one lowest.
ISOBIT_FN u32 four_of_2(u32 digits) {
    const u32 two = (digits | digits << 12) & 0x000f000fu;
    return (two | two << 6) & 0x03030303u;
}
ISOBIT_FN u32 four_of_3(u32 digits) {
    const u32 two = (digits | digits << 10) & 0x003f003fu;
    return (two | two << 5) & 0x07070707u;
}

// Four levels above 0, negated where the sign is set.
ISOBIT_FN u32 with_signs(u32 levels, u32 four) {
    const u32 negative = (four & 0xf) * 0x00204081u & 0x01010101u;
    return (levels ^ negative * 0xff) + negative;
}

// The signs of four elements, `half` 0 or 1 of eight, of which seven are stored: an even number is
// set.
ISOBIT_FN u32 four_of_7(u32 seven, u32 half_number) {
    const u32 eight = (seven & 127) | (count_bits(seven & 127) & 1) << 7;
    return eight >> (4 * half_number);
}

// Nibble `i` of consecutive ones.
template <typename S>
ISOBIT_FN u32 nibble_at(const S &s, u32 at, u32 i) {
    return byte_at(s, at + i / 2) >> (i % 2 * 4) & 0xf;
}

ISOBIT_FN QScale odd_scale(float d, u32 number, float unit) { return QScale{d * ((float)(2 * number + 1) * unit), 0}; }

} // namespace grid_detail

} // namespace isobit
