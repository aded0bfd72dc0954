// A block of 128 keys and values as integers, as flash_pack.cu writes and flash.cu reads it.
#pragma once

#include "ops/attention/attention.cuh"

namespace isobit {

// Heads of up to D elements, of a dtype with so many digits.
template <u32 PLANES, u32 D>
struct PackedKeys {
    // Bytes of a plane of eight keys or eight columns, and of eight of them.
    static constexpr u32 KEY_PLANE = D * CHUNK_LINES, KEY_GROUP = PLANES * KEY_PLANE;
    static constexpr u32 VALUE_GROUP = PART_BYTES<PLANES>;
    // Where the keys' integers, the columns', the factor of each key, the step of each column, the
    // bits of special keys and whether a value is special lie, and the bytes of all.
    static constexpr u32 KEYS = 0, VALUES = ATTENTION_KEYS * PLANES * D, KEY_SCALES = 2 * VALUES;
    static constexpr u32 VALUE_SCALES = KEY_SCALES + ATTENTION_KEYS * 4, SPECIAL = VALUE_SCALES + D * 4;
    static constexpr u32 BYTES = SPECIAL + 32;
};

// Words of special keys, and the one that says whether a value is special.
ISOBIT_CONST u32 VALUES_SPECIAL = ATTENTION_KEYS / WORD_BITS;

// Writes a thread's integers of a key or a query, as line `line` of `lines`.
template <u32 PLANES, u32 D>
ISOBIT_FN void store_key(u8 *lines, u32 line, const DigitWords<PLANES> &words) {
    using P = PackedKeys<PLANES, D>;
    u8 *group = lines + line / CHUNK_LINES * P::KEY_GROUP + line % CHUNK_LINES * CHUNK_K;
#pragma unroll
    for (u32 c = 0; c < PACK_CHUNKS; c++)
#pragma unroll
        for (u32 plane = 0; plane < PLANES; plane++)
            if (c * PACK_TEAM + member_of_thread() < D / CHUNK_K)
                store((u32 *)(group + plane * P::KEY_PLANE + chunk_place(c)), words.of[c][plane]);
}

// Which key of 16 has a line: the four columns of scores that a thread has are neighbouring keys.
ISOBIT_FN u32 key_of_line(u32 line) { return line % 8 / 2 * 4 + line / 8 * 2 + line % 2; }

} // namespace isobit
