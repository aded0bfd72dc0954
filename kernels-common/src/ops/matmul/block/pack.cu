// Packs an operand of a block product: a block takes one part, 16 lines by 128 of k.
#include "device_lib/index.cuh"
#include "ops/matmul/block/digits.cuh"

namespace isobit {

// The host's `Side` in matmul/block.rs.
struct BlockSide {
    u32 lines;
    u32 segments;
    u64 k;
    u64 line_stride, k_stride;
    // Bytes of a packed matrix.
    u64 packed;
    Divisor groups, all_segments;
    // Of the operand.
    Index<1> batch;
    // Whether the lines are columns, which have another order of words.
    u32 columns;
};

// Must match ops/matmul/block.rs.
static_assert(sizeof(BlockSide) == 240);
ISOBIT_LAYOUT(ISOBIT_OFFSET(BlockSide, groups) == 40 && ISOBIT_OFFSET(BlockSide, batch) == 64 &&
              ISOBIT_OFFSET(BlockSide, columns) == 232);

ISOBIT_CONST u32 PACK_BLOCK = 64;
// Threads per line: each has the elements of one fragment.
ISOBIT_CONST u32 PACK_TEAM = 4, PACK_EACH = FRAGMENT_K;
// Distances with which threads of different lines and teams use different banks.
ISOBIT_CONST u32 PACK_PITCH = PACK_EACH + 4, LINE_PITCH = PACK_TEAM * PACK_PITCH, PLANE_PITCH = FRAGMENT_BYTES / 4 + 4;

// What the threads of a line find out together.
struct PackShared {
    u32 largest[PACK_BLOCK];
    u32 sum[PACK_BLOCK];
    u32 count[PACK_BLOCK];
    u32 flags[FRAGMENT_LINES];
};

// The largest bits of all threads of a line.
ISOBIT_FN u32 largest_of_line(PackShared &shared, const float (&x)[PACK_EACH]) {
    u32 largest = 0;
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i++) {
        const u32 bits = to_bits(x[i]) & 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    shared.largest[thread_x()] = largest;
    barrier();
    const u32 first = thread_x() / PACK_TEAM * PACK_TEAM;
#pragma unroll
    for (u32 i = 0; i < PACK_TEAM; i++) {
        const u32 other = shared.largest[first + i];
        largest = other > largest ? other : largest;
    }
    return largest;
}

// Replaces values, of which the line's largest has these bits, by what remains of them after
// rounding to integers of PLANES digits; returns the step of the integers.
template <u32 PLANES>
ISOBIT_FN i32 quantize(i32 (&integers)[PACK_EACH], float (&x)[PACK_EACH], u32 largest) {
    constexpr i32 TOP = (i32)PLANES * 8 - 2;
    constexpr float LIMIT = PLANES == 2 ? 0x7f7f : 0x7f7f7f;
    if (largest == 0) {
#pragma unroll
        for (u32 i = 0; i < PACK_EACH; i++)
            integers[i] = 0;
        return 0;
    }
    // Brings a subnormal number into the normal range.
    const bool tiny = largest < 0x00800000u;
    const u32 normal = tiny ? to_bits(from_bits(largest) * 8388608.0f) : largest;
    const i32 exponent = (i32)(normal >> 23) - 127 - (tiny ? 23 : 0);
    const float significand = from_bits((normal & 0x007fffffu) | 0x3f800000u);
    const i32 step = exponent - TOP + (rint(significand * power_of_two(TOP)) > LIMIT ? 1 : 0);
    // 2^-step may be too large for an f32.
    const float first = power_of_two(-step > 127 ? 127 : -step), second = power_of_two(-step > 127 ? -step - 127 : 0);
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i++) {
        const float scaled = x[i] * first * second;
        const float nearest = rint(scaled);
        integers[i] = (i32)nearest;
        x[i] = scaled - nearest;
    }
    return step;
}

// Writes the digits of the threads' integers to a part, through `words`, which no thread may have
// read since the last barrier.
template <u32 PLANES>
ISOBIT_FN void store_digits(u8 *part, u32 *words, const i32 (&integers)[PACK_EACH], bool columns) {
    constexpr u32 BIAS = PLANES == 2 ? 0x8080 : 0x808080, WORDS = FRAGMENT_BYTES / 4;
    const u32 line = thread_x() / PACK_TEAM, fragment = thread_x() % PACK_TEAM;
    const u32 lower = columns ? 2 : 1, right = columns ? 1 : 2;
#pragma unroll
    for (u32 quad = 0; quad < PACK_EACH / 4; quad++) {
        const u32 place = (line % 8 * 4 + quad % 4) * 4 + line / 8 * lower + quad / 4 * right;
#pragma unroll
        for (u32 plane = 0; plane < PLANES; plane++) {
            u32 word = 0;
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                const u32 biased = (u32)integers[quad * 4 + i] + BIAS;
                word |= (biased >> (8 * (PLANES - 1 - plane)) & 255) << (8 * i);
            }
            words[(fragment * PLANES + plane) * PLANE_PITCH + place] = word ^ 0x80808080u;
        }
    }
    barrier();
#pragma unroll 4
    for (u32 at = thread_x() * 4; at < PACK_TEAM * PLANES * WORDS; at += PACK_BLOCK * 4)
        store((u32 *)part + at, load<4>(words + at / WORDS * PLANE_PITCH + at % WORDS));
}

// Reads the values of a part; those that do not exist are 0.
template <bool ALONG_K, typename T>
ISOBIT_FN void read_part(float *values, const T *from, const BlockSide &p, u32 lines, u64 length) {
    // The threads of a step take this many lines.
    constexpr u32 AT_ONCE = ALONG_K ? 1 : FRAGMENT_LINES, ALONG = PACK_BLOCK / AT_ONCE;
    const u32 line0 = thread_x() % AT_ONCE, first = thread_x() / AT_ONCE;
    const T *at = from + line0 * p.line_stride + first * p.k_stride;
    const u64 next = ALONG * p.k_stride;
    const bool complete = lines >= FRAGMENT_LINES && length >= BLOCK_SEGMENT;
#pragma unroll
    for (u32 line = 0; line < FRAGMENT_LINES; line += AT_ONCE)
#pragma unroll
        for (u32 k = 0; k < BLOCK_SEGMENT; k += ALONG) {
            float value = 0;
            if (complete || (line0 + line < lines && first + k < length))
                value = to_compute(at[line * p.line_stride + k / ALONG * next]);
            const u32 to = first + k;
            values[(line0 + line) * LINE_PITCH + to / PACK_EACH * PACK_PITCH + to % PACK_EACH] = value;
        }
}

template <typename T>
ISOBIT_FN void matmul_pack(const T *from, u8 *packed, const BlockSide &p) {
    constexpr u32 PLANES = Digits<T>::COUNT;
    // The values, then the digits.
    constexpr u32 VALUES = FRAGMENT_LINES * LINE_PITCH, WORDS = PACK_TEAM * PLANES * PLANE_PITCH;
    __shared__ vector_detail::words4 shared_words[(VALUES > WORDS ? VALUES : WORDS) / 4];
    __shared__ PackShared shared;
    float *values = (float *)shared_words;
    const u32 above = divide(block_x(), p.all_segments), segment = block_x() - above * p.segments;
    const u32 batch = divide(above, p.groups), group = above - batch * p.groups.size;
    const PackedMatrix matrix{p.groups.size, p.segments};
    from += offsets_of(p.batch, batch).at[0];
    packed += batch * p.packed;

    const u64 k0 = (u64)segment * BLOCK_SEGMENT;
    const u32 line0 = group * FRAGMENT_LINES;
    from += line0 * p.line_stride + k0 * p.k_stride;
    // Neighbouring threads read neighbours in memory.
    if (p.k_stride <= p.line_stride)
        read_part<true>(values, from, p, p.lines - line0, p.k - k0);
    else
        read_part<false>(values, from, p, p.lines - line0, p.k - k0);
    barrier();
    const u32 line = thread_x() / PACK_TEAM, member = thread_x() % PACK_TEAM;
    float x[PACK_EACH];
    u32 count = 0;
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i += 4) {
        const Pack<4, float> four = load<4>(values + line * LINE_PITCH + member * PACK_PITCH + i);
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            x[i + e] = four.v[e];
            count += four.v[e] != 0 ? 1 : 0;
        }
    }
    u32 largest = largest_of_line(shared, x);
    const bool special = largest >= 0x7f800000u;
    if (special) {
        largest = 0;
#pragma unroll
        for (u32 i = 0; i < PACK_EACH; i++)
            x[i] = 0;
    }
    i32 integers[PACK_EACH];
    const i32 step = quantize<PLANES>(integers, x, largest);
    // The sum is below 2^30 and the threshold below 2^26.
    u32 sum = 0;
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i++)
        sum += (u32)(integers[i] < 0 ? -integers[i] : integers[i]);
    shared.sum[thread_x()] = sum;
    shared.count[thread_x()] = count;
    barrier();
    sum = count = 0;
#pragma unroll
    for (u32 i = 0; i < PACK_TEAM; i++) {
        sum += shared.sum[line * PACK_TEAM + i];
        count += shared.count[line * PACK_TEAM + i];
    }
    const bool wide = !special && sum < count << (PLANES == 2 ? 11 : 18);
    const u64 at_line = (u64)segment * p.groups.size * FRAGMENT_LINES + line0 + line;
    if (member == 0) {
        const bool far = step < -60 || step > 60;
        shared.flags[line] = (wide ? PART_WIDE : 0) | (special ? PART_SPECIAL : 0) | (far ? PART_FAR : 0);
        steps_of<PLANES>(packed, matrix, 0)[at_line] = special ? SPECIAL_STEP : step;
    }
    const u64 part = part_of(matrix, group, segment);
    u32 *words = (u32 *)shared_words;
    store_digits<PLANES>(parts_of<PLANES>(packed, matrix, 0) + part * PART_BYTES<PLANES>, words, integers, p.columns != 0);
    u32 flags = 0;
#pragma unroll
    for (u32 i = 0; i < FRAGMENT_LINES; i++)
        flags |= shared.flags[i];
    if (thread_x() == 0)
        flags_of<PLANES>(packed, matrix)[part] = flags;
    if ((flags & PART_WIDE) == 0)
        return;
    if (!wide) {
#pragma unroll
        for (u32 i = 0; i < PACK_EACH; i++)
            x[i] = 0;
    }
    const i32 second = quantize<PLANES>(integers, x, largest_of_line(shared, x));
    if (member == 0)
        steps_of<PLANES>(packed, matrix, 1)[at_line] = step + second;
    store_digits<PLANES>(parts_of<PLANES>(packed, matrix, 1) + part * PART_BYTES<PLANES>, words, integers, p.columns != 0);
}

} // namespace isobit

#define ISOBIT_MATMUL_PACK(NAME, T)                                                                                    \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(64) NAME(const T *from, u8 *packed, const BlockSide p) { matmul_pack(from, packed, p); }             \
    }
