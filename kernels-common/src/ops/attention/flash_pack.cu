// Makes the integers of a block of 128 keys and values once, for all tiles of queries.
#include "ops/attention/packed.cuh"

namespace isobit {

template <typename T, u32 D>
ISOBIT_FN void attention_pack(const T *key, const T *value, const u32 *lengths, u8 *to, const Attention &p) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    using P = PackedKeys<PLANES, D>;
    __shared__ vector_detail::words4 shared_rows[PACK_BLOCK / TILE_TEAM][PACK_ELEMENTS<T> * sizeof(T) / 16];
    __shared__ PackShared shared;
    // Bits of special keys, and whether a value is special.
    __shared__ u32 special[ATTENTION_KEYS], special_values[PACK_BLOCK / TILE_TEAM];
    const u32 head = divide(block_x(), p.blocks_of), block = block_x() - head * p.blocks;
    const u32 batch = divide(head, p.kv_heads), kv_head = head - batch * p.kv_heads.size;
    const u32 key0 = block * ATTENTION_KEYS, length = length_of(p, lengths, batch);
    key += kv_offset(p.key, batch, kv_head);
    value += kv_offset(p.value, batch, kv_head);
    to += (u64)block_x() * P::BYTES;
    const u32 line = line_of_thread(), team = thread_x() / TILE_TEAM, member = member_of_thread();
#pragma unroll 1
    for (u32 first = 0; first < ATTENTION_KEYS; first += PACK_LINES) {
        const u32 at = first + line, number = at / 16 * 16 + key_of_line(at % 16), of_all = key0 + number;
        float x[PACK_EACH];
        read_line(x, key + of_all * p.key[2], p.key[3], p.d, of_all < length, (p.vectors & 2) != 0);
        const auto integers = integers_of<PLANES, LINE_LIMIT>(x, shared.largest);
        store_key<PLANES, D>(to + P::KEYS, at, integers.words);
        if (member == 0) {
            ((float *)(to + P::KEY_SCALES))[at] = p.factor * power_of_two(integers.step);
            special[number] = integers.special ? 1 : 0;
        }
    }
    u32 any = 0;
#pragma unroll 1
    for (u32 first = 0; first < D; first += PACK_LINES) {
        const u32 column0 = first + line / CHUNK_LINES * CHUNK_LINES, column = first + line;
        // After the columns before have been read.
        team_barrier();
        const auto integers =
            integers_of_columns<PLANES>(value, p, key0, length, column0, (T *)shared_rows[team], shared.largest);
        store_digits<PLANES>(to + P::VALUES + column / CHUNK_LINES * P::VALUE_GROUP, integers.words);
        if (member == 0) {
            ((float *)(to + P::VALUE_SCALES))[column] = power_of_two(integers.step);
            shared.flags[line] = integers.special ? 1 : 0;
        }
        team_barrier();
        any |= flags_of_team(shared);
    }
    special_values[team] = any;
    barrier();
    if (thread_x() >= 8)
        return;
    u32 word = 0;
    if (thread_x() < VALUES_SPECIAL) {
#pragma unroll 1
        for (u32 i = 0; i < WORD_BITS; i++)
            word |= special[thread_x() * WORD_BITS + i] << i;
    } else if (thread_x() == VALUES_SPECIAL) {
#pragma unroll 1
        for (u32 i = 0; i < PACK_BLOCK / TILE_TEAM; i++)
            word |= special_values[i];
    }
    ((u32 *)(to + P::SPECIAL))[thread_x()] = word;
}

} // namespace isobit

#define ISOBIT_ATTENTION_PACK(NAME, T, D)                                                                              \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const T *key, const T *value, const u32 *lengths, u8 *to, const Attention p) {             \
        attention_pack<T, D>(key, value, lengths, to, p);                                                              \
    }                                                                                                                  \
    }
