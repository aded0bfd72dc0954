// Makes of an operand of bytes, in any layout, lines of signed bytes along k, as the tiles of
// bytes_tile.cu and the libraries of vendors read them. Lines end in zeros up to whole chunks of 16
// bytes, and behind these in the sums of their parts, which zero points need.
#include "device_lib/bits.cuh"
#include "device_lib/vector.cuh"
#include "ops/matmul/bytes.cuh"

namespace isobit {

// Must match ops/matmul/bytes_tile.rs.
ISOBIT_CONST u32 PACK_BLOCK = 256, PACK_LINES = 32;

// The host's `Pack`.
struct BytesPack {
    u64 line_stride, k_stride, k;
    // Bytes of a packed line.
    u64 pitch;
    u32 lines;
    // For each byte of a word, what is flipped.
    u32 flip;
    // Whether neighbours can be loaded at once, 16 along k or the bytes of four lines, and whether
    // sums are written.
    u32 vectors, sums;
    Divisor line_blocks, parts;
    // Of the operand.
    Index<1> batch;
};

// Must match ops/matmul/bytes_tile.rs.
static_assert(sizeof(BytesPack) == 240);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BytesPack, lines) == 32 && ISOBIT_OFFSET(BytesPack, line_blocks) == 48);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BytesPack, batch) == 72);

// Byte j of word i becomes byte i of word j.
ISOBIT_FN void transpose_bytes(u32 (&w)[4]) {
    const u32 low = permute_bytes<0x5140>(w[0], w[1]), low_next = permute_bytes<0x5140>(w[2], w[3]);
    const u32 high = permute_bytes<0x7362>(w[0], w[1]), high_next = permute_bytes<0x7362>(w[2], w[3]);
    w[0] = permute_bytes<0x5410>(low, low_next);
    w[1] = permute_bytes<0x7632>(low, low_next);
    w[2] = permute_bytes<0x5410>(high, high_next);
    w[3] = permute_bytes<0x7632>(high, high_next);
}

// 16 bytes along k of LINES lines, all of which exist: one line is read along k, and four are read
// as words of neighbours.
template <u32 LINES>
ISOBIT_FN void load_lines(u32 (&words)[LINES][4], const u8 *from, u64 k, const BytesPack &p) {
    if (LINES == 1) {
        const Pack<4, u32> all = load<4>((const u32 *)(from + k));
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            words[0][j] = all.v[j];
        return;
    }
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        u32 four[4];
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            four[i] = *(const u32 *)(from + (k + 4 * j + i) * p.k_stride);
        transpose_bytes(four);
#pragma unroll
        for (u32 line = 0; line < LINES; line++)
            words[line][j] = four[line];
    }
}

// Packs 16 bytes along k of LINES lines, of which `lines` exist.
template <u32 LINES>
ISOBIT_FN void pack_chunk(i32 (&sum)[LINES], const u8 *from, u8 *to, u64 k, u32 lines, const BytesPack &p) {
    if (p.vectors != 0 && lines == LINES && k + 16 <= p.k) {
        u32 words[LINES][4];
        load_lines(words, from, k, p);
#pragma unroll
        for (u32 line = 0; line < LINES; line++) {
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                words[line][j] ^= p.flip;
                sum[line] = sum4(sum[line], words[line][j]);
            }
            store((u32 *)(to + line * p.pitch + k),
                  Pack<4, u32>{{words[line][0], words[line][1], words[line][2], words[line][3]}});
        }
        return;
    }
#pragma unroll
    for (u32 line = 0; line < LINES; line++) {
        if (line >= lines)
            break;
        // Not unrolled: all registers of a thread would hold addresses, and few threads fit.
#pragma unroll 1
        for (u64 at = k; at < k + 16; at += 4) {
            const u64 left = at < p.k ? p.k - at : 0;
            const u32 word =
                word_of(from + line * p.line_stride + at * p.k_stride, p.k_stride, left, p.flip) ^ p.flip;
            sum[line] = sum4(sum[line], word);
            *(u32 *)(to + line * p.pitch + at) = word;
        }
    }
}

// Packs a part along k of 32 lines, by threads that have LINES lines each.
template <u32 LINES>
ISOBIT_FN void bytes_pack(const u8 *from, u8 *packed, const BytesPack &p) {
    // Threads that share lines, and the longest of such groups.
    constexpr u32 TEAM = PACK_BLOCK / PACK_LINES * LINES, MOST = PACK_BLOCK / PACK_LINES * 4;
    __shared__ u32 sums[PACK_LINES][MOST + 1];
    const u32 above = divide(block_x(), p.line_blocks), line_block = block_x() - above * p.line_blocks.size;
    const u32 batch = divide(above, p.parts), part = above - batch * p.parts.size;
    // Neighbouring threads read neighbouring bytes.
    const bool along_k = p.k_stride <= p.line_stride;
    const u32 own = along_k ? thread_x() / TEAM : thread_x() % (PACK_LINES / LINES);
    const u32 member = along_k ? thread_x() % TEAM : thread_x() / (PACK_LINES / LINES);
    const u32 in_block = own * LINES, line = line_block * PACK_LINES + in_block;
    from += offsets_of(p.batch, batch).at[0] + line * p.line_stride;
    packed += (u64)batch * p.lines * p.pitch;

    const u64 begin = (u64)part * BYTES_PART, whole = whole_chunks(p.k);
    const u64 end = whole - begin > BYTES_PART ? begin + BYTES_PART : whole;
    const u32 left = line < p.lines ? p.lines - line : 0, lines = left < LINES ? left : LINES;
    i32 sum[LINES];
#pragma unroll
    for (u32 i = 0; i < LINES; i++)
        sum[i] = 0;
    if (lines > 0) {
#pragma unroll 1
        for (u64 k = begin + member * 16; k < end; k += TEAM * 16)
            pack_chunk(sum, from, packed + line * p.pitch, k, lines, p);
    }
    if (p.sums == 0)
        return;
#pragma unroll
    for (u32 i = 0; i < LINES; i++)
        sums[in_block + i][member] = (u32)sum[i];
    barrier();
    const u32 summed = line_block * PACK_LINES + thread_x();
    if (thread_x() >= PACK_LINES || summed >= p.lines)
        return;
    u32 of_part = 0;
#pragma unroll
    for (u32 i = 0; i < TEAM; i++)
        of_part += sums[thread_x()][i];
    *(u32 *)(packed + summed * p.pitch + whole + 4 * part) = of_part;
}

ISOBIT_FN void bytes_pack_any(const u8 *from, u8 *packed, const BytesPack &p) {
    if (p.k_stride <= p.line_stride || p.vectors == 0)
        bytes_pack<1>(from, packed, p);
    else
        bytes_pack<4>(from, packed, p);
}

} // namespace isobit

#define ISOBIT_MATMUL_BYTES_PACK(NAME)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const u8 *from, u8 *packed, const BytesPack p) { bytes_pack_any(from, packed, p); }        \
    }
