// Access to the bytes of a block for the formats: in memory, or held in registers, where every
// offset must be a constant after unrolling. Blocks with an even number of bytes start at even
// addresses and all their fields have even offsets, so only accesses of up to 16 bits are always
// aligned; in other blocks only those of a byte.
#pragma once

#include "device_lib/vector.cuh"

namespace isobit {

// Bytes in memory.
struct InPlace {
    const u8 *from;
};

ISOBIT_FN u32 byte_at(const InPlace &s, u32 at) { return s.from[at]; }
ISOBIT_FN u32 half_at(const InPlace &s, u32 at) { return *(const u16 *)(s.from + at); }
// An unaligned word takes two accesses. The first one reads the word that contains its low half. It
// may start two bytes before the block, but within the allocation, which starts aligned.
ISOBIT_FN u32 word_at(const InPlace &s, u32 at) {
    const u8 *from = s.from + at;
    const u32 before = (u32)(u64)from & 2;
    const u32 word = *(const u32 *)(from - before);
    return before != 0 ? word >> 16 | half_at(s, at + 2) << 16 : word;
}

// A word at any address.
ISOBIT_FN u32 unaligned_word_at(const InPlace &s, u32 at) {
    return byte_at(s, at) | byte_at(s, at + 1) << 8 | byte_at(s, at + 2) << 16 | byte_at(s, at + 3) << 24;
}

// Bytes in memory from a word on: where the compiler knows `at`'s remainder by 4, nothing is
// chosen. A word may be read to its end, which is of the same block or of the one behind it.
struct InWords {
    const u32 *from;
};

ISOBIT_FN u32 byte_at(const InWords &s, u32 at) { return ((const u8 *)s.from)[at]; }
ISOBIT_FN u32 half_at(const InWords &s, u32 at) { return ((const u16 *)s.from)[at / 2]; }
ISOBIT_FN u32 word_at(const InWords &s, u32 at) {
    const u32 word = s.from[at / 4];
    return at % 4 == 0 ? word : word >> 16 | s.from[at / 4 + 1] << 16;
}

// BYTES bytes in registers.
template <u32 BYTES>
struct Held {
    u32 w[(BYTES + 3) / 4];
};

template <u32 BYTES>
ISOBIT_FN u32 byte_at(const Held<BYTES> &s, u32 at) {
    return s.w[at / 4] >> (at % 4 * 8) & 0xff;
}
template <u32 BYTES>
ISOBIT_FN u32 half_at(const Held<BYTES> &s, u32 at) {
    return at % 4 == 0 ? s.w[at / 4] & 0xffff : s.w[at / 4] >> 16;
}
template <u32 BYTES>
ISOBIT_FN u32 word_at(const Held<BYTES> &s, u32 at) {
    return at % 4 == 0 ? s.w[at / 4] : s.w[at / 4] >> 16 | s.w[at / 4 + 1] << 16;
}

template <u32 BYTES>
ISOBIT_FN u32 unaligned_word_at(const Held<BYTES> &s, u32 at) {
    const u32 before = at % 4 * 8;
    return before == 0 ? s.w[at / 4] : s.w[at / 4] >> before | s.w[at / 4 + 1] << (32 - before);
}

// Loads bytes from memory. Uses accesses aligned to 16 or 4 bytes if that size divides BYTES, else
// to 2, and reads no further bytes.
template <u32 BYTES>
ISOBIT_FN Held<BYTES> hold(const u8 *from) {
    Held<BYTES> s;
    if constexpr (BYTES % 16 == 0) {
#pragma unroll
        for (u32 i = 0; i < BYTES / 16; i++) {
            const Pack<4, u32> x = load<4>((const u32 *)from + 4 * i);
#pragma unroll
            for (u32 l = 0; l < 4; l++)
                s.w[4 * i + l] = x.v[l];
        }
    } else if constexpr (BYTES % 4 == 0) {
#pragma unroll
        for (u32 i = 0; i < BYTES / 4; i++)
            s.w[i] = ((const u32 *)from)[i];
    } else {
        // Loads whole words, starting with the word that contains the first byte, and shifts them
        // into place. Reads only the needed part of the last word.
        constexpr u32 WORDS = BYTES / 4;
        const u32 before = (u32)(u64)from & 2;
        const u8 *words = from - before;
        u32 at = *(const u32 *)words;
#pragma unroll
        for (u32 i = 0; i < WORDS; i++) {
            u32 next;
            if (i + 1 < WORDS) {
                next = ((const u32 *)words)[i + 1];
            } else {
                next = ((const u16 *)words)[2 * WORDS];
                if (before != 0)
                    next |= (u32)((const u16 *)words)[2 * WORDS + 1] << 16;
            }
            s.w[i] = (u32)(((u64)next << 32 | at) >> (before * 8));
            at = next;
        }
        s.w[WORDS] = before != 0 ? at >> 16 : at;
    }
    return s;
}

} // namespace isobit
