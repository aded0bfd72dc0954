// How a block of threads reads a segment of 64 lines and makes integers of it: each thread has two
// chunks of one line, 32 elements.
#pragma once

#include "ops/matmul/block/digits.cuh"

namespace isobit {

// The host's `Lines` in matmul/block.rs: lines along k.
struct BlockLines {
    u32 lines, segments;
    u64 k;
    u64 line_stride, k_stride;
    // Whether 16 bytes of neighbours along k, or along lines, can be loaded at once.
    u32 vectors;
};

// Must match ops/matmul/block.rs.
static_assert(sizeof(BlockLines) == 40);

ISOBIT_CONST u32 PACK_BLOCK = 256, PACK_LINES = 64;
// Threads per line, chunks of each and the distance between them, and elements of each.
ISOBIT_CONST u32 PACK_TEAM = 4, PACK_CHUNKS = 2, PACK_EACH = PACK_CHUNKS * CHUNK_K;
static_assert(PACK_BLOCK == PACK_LINES * PACK_TEAM && BLOCK_SEGMENT == PACK_TEAM * PACK_EACH);

// What the threads of a line find out together.
struct PackShared {
    u32 largest[PACK_BLOCK];
    u32 sums[PACK_BLOCK];
    u32 counts[PACK_BLOCK];
    u32 flags[PACK_LINES];
};

// The line of a thread among those of the block. Eight neighbours have eight lines.
ISOBIT_FN u32 line_of_thread() { return thread_x() / TILE_TEAM * CHUNK_LINES + thread_x() % CHUNK_LINES; }
// The index in PackShared of member `i` of this thread's line.
ISOBIT_FN u32 member_of_line(u32 i) {
    return thread_x() / TILE_TEAM * TILE_TEAM + thread_x() % CHUNK_LINES + i * CHUNK_LINES;
}

// The largest bits of all threads of a line, without signs.
ISOBIT_FN u32 largest_of_line(u32 (&shared)[PACK_BLOCK], const float (&x)[PACK_EACH]) {
    u32 largest = 0;
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i++) {
        const u32 bits = to_bits(x[i]) & 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    shared[thread_x()] = largest;
    barrier();
#pragma unroll
    for (u32 i = 0; i < PACK_TEAM; i++) {
        const u32 other = shared[member_of_line(i)];
        largest = other > largest ? other : largest;
    }
    return largest;
}

// The step of the integers of PLANES digits of a line whose largest value has these bits, and the
// two factors whose product is 2^-step, which alone may be too large for an f32.
struct Step {
    i32 step;
    float first, second;
};
template <u32 PLANES>
ISOBIT_FN Step step_of(u32 largest) {
    constexpr i32 TOP = (i32)PLANES * 8 - 2;
    constexpr float LIMIT = PLANES == 2 ? 0x7f7f : 0x7f7f7f;
    if (largest == 0)
        return {0, 1, 1};
    // Brings a subnormal number into the normal range.
    const bool tiny = largest < 0x00800000u;
    const u32 normal = tiny ? to_bits(from_bits(largest) * 8388608.0f) : largest;
    const i32 exponent = (i32)(normal >> 23) - 127 - (tiny ? 23 : 0);
    const float significand = from_bits((normal & 0x007fffffu) | 0x3f800000u);
    const i32 step = exponent - TOP + (rint(significand * power_of_two(TOP)) > LIMIT ? 1 : 0);
    return {step, power_of_two(-step > 127 ? 127 : -step), power_of_two(-step > 127 ? -step - 127 : 0)};
}

// The nearest integer of a scaled value as an unsigned word: the integer plus 0x80 in every digit,
// and its size. Additions to numbers with units of 1 round, ties to even.
struct Nearest {
    u32 biased, size;
};
template <u32 PLANES>
ISOBIT_FN Nearest nearest_of(float scaled) {
    const u32 size = to_bits(abs(scaled) + 8388608.0f) & 0x007fffffu;
    if constexpr (PLANES == 2)
        // An even number of units, so that ties stay where they are; the bits above the second
        // byte do not count.
        return {to_bits(scaled + 12615808.0f), size};
    else
        return {0x808080u + (scaled < 0 ? 0u - size : size), size};
}

// The digits of a thread's integers, which are biased words, in the order of a part.
template <u32 PLANES>
struct DigitWords {
    Pack<4, u32> of[PACK_CHUNKS][PLANES];
};
template <u32 PLANES>
ISOBIT_FN DigitWords<PLANES> digits_of(const u32 (&biased)[PACK_EACH]) {
    DigitWords<PLANES> words;
#pragma unroll
    for (u32 c = 0; c < PACK_CHUNKS; c++)
#pragma unroll
        for (u32 quad = 0; quad < CHUNK_K / 4; quad++) {
            const u32 *x = biased + c * CHUNK_K + quad * 4;
            const u32 low = permute_bytes<0x5140>(x[0], x[1]), low2 = permute_bytes<0x5140>(x[2], x[3]);
            words.of[c][PLANES - 1].v[quad] = permute_bytes<0x5410>(low, low2) ^ 0x80808080u;
            words.of[c][PLANES - 2].v[quad] = permute_bytes<0x7632>(low, low2) ^ 0x80808080u;
            if constexpr (PLANES == 3) {
                const u32 high = permute_bytes<0x6262>(x[0], x[1]), high2 = permute_bytes<0x6262>(x[2], x[3]);
                words.of[c][0].v[quad] = permute_bytes<0x5410>(high, high2) ^ 0x80808080u;
            }
        }
    return words;
}
// Where the words of chunk `c` of a thread lie in a plane.
ISOBIT_FN u32 chunk_place(u32 c) { return (c * PACK_TEAM + thread_x() / CHUNK_LINES % PACK_TEAM) * CHUNK_BYTES; }

// Elements of a line that a thread loads at once.
template <typename T>
ISOBIT_CONST u32 PACK_VECTOR = 16 / sizeof(T);

// A thread's elements, of lines along which memory runs. Those that do not exist are 0.
template <typename T>
ISOBIT_FN void read_along_k(float (&x)[PACK_EACH], const T *from, const BlockLines &p, u32 lines, u64 length) {
    const u32 line = line_of_thread();
    const u32 chunk = thread_x() / CHUNK_LINES % PACK_TEAM;
#pragma unroll
    for (u32 c = 0; c < PACK_CHUNKS; c++) {
        const u32 k = (c * PACK_TEAM + chunk) * CHUNK_K;
        const T *at = from + line * p.line_stride + k * p.k_stride;
        if (p.vectors != 0 && line < lines && k + CHUNK_K <= length) {
#pragma unroll
            for (u32 i = 0; i < CHUNK_K; i += PACK_VECTOR<T>) {
                const Pack<(int)PACK_VECTOR<T>, T> some = load<(int)PACK_VECTOR<T>>(at + i);
#pragma unroll
                for (u32 e = 0; e < PACK_VECTOR<T>; e++)
                    x[c * CHUNK_K + i + e] = to_compute(some.v[e]);
            }
            continue;
        }
#pragma unroll
        for (u32 i = 0; i < CHUNK_K; i++)
            x[c * CHUNK_K + i] = line < lines && k + i < length ? to_compute(at[i * p.k_stride]) : 0.0f;
    }
}

// The same where memory runs along other lines, through `rows` in shared memory. Rows of 64 lines
// have a gap after each 16 of them, so that chunks of a warp lie in different banks.
template <typename T>
ISOBIT_CONST u32 PACK_GAP = (CHUNK_LINES * sizeof(T) < 16 ? 16 : CHUNK_LINES * sizeof(T)) / sizeof(T);
template <typename T>
ISOBIT_CONST u32 PACK_ROWS = BLOCK_SEGMENT * PACK_LINES + BLOCK_SEGMENT / CHUNK_K * PACK_GAP<T>;
template <typename T>
ISOBIT_FN u32 row_place(u32 k) {
    return k * PACK_LINES + k / CHUNK_K * PACK_GAP<T>;
}
template <typename T>
ISOBIT_FN void read_along_lines(float (&x)[PACK_EACH], T *rows, const T *from, const BlockLines &p, u32 lines,
                                u64 length) {
    constexpr u32 VECTOR = PACK_VECTOR<T>, IN_ROW = PACK_LINES / VECTOR;
    if (p.vectors != 0 && lines >= PACK_LINES) {
        const u32 row = thread_x() / IN_ROW, line = thread_x() % IN_ROW * VECTOR;
#pragma unroll
        for (u32 k = row; k < BLOCK_SEGMENT; k += PACK_BLOCK / IN_ROW) {
            Pack<(int)VECTOR, T> some{};
            if (k < length)
                some = load<(int)VECTOR>(from + line + k * p.k_stride);
            store(rows + row_place<T>(k) + line, some);
        }
    } else {
        const u32 line = thread_x() % PACK_LINES;
#pragma unroll 4
        for (u32 k = thread_x() / PACK_LINES; k < BLOCK_SEGMENT; k += PACK_TEAM)
            rows[row_place<T>(k) + line] =
                line < lines && k < length ? from[line * p.line_stride + k * p.k_stride] : T{};
    }
    barrier();
    const u32 line = line_of_thread();
    const u32 chunk = thread_x() / CHUNK_LINES % PACK_TEAM;
#pragma unroll
    for (u32 c = 0; c < PACK_CHUNKS; c++)
#pragma unroll
        for (u32 i = 0; i < CHUNK_K; i++)
            x[c * CHUNK_K + i] = to_compute(rows[row_place<T>((c * PACK_TEAM + chunk) * CHUNK_K + i) + line]);
}

// A segment of a line as integers, of which each thread has its own.
template <u32 PLANES>
struct Quantized {
    DigitWords<PLANES> words;
    Step step;
    // The same for all threads of a line.
    bool special, wide;
};

// What all threads of a line have together.
ISOBIT_FN u32 sum_of_line(const u32 (&shared)[PACK_BLOCK]) {
    u32 sum = 0;
#pragma unroll
    for (u32 i = 0; i < PACK_TEAM; i++)
        sum += shared[member_of_line(i)];
    return sum;
}

// The biased words of the nearest integers of scaled values, and the sum of their sizes.
template <u32 PLANES>
ISOBIT_FN u32 round_all(u32 (&biased)[PACK_EACH], const float (&x)[PACK_EACH], float scale) {
    u32 sum = 0;
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i++) {
        const Nearest nearest = nearest_of<PLANES>(x[i] * scale);
        biased[i] = nearest.biased;
        sum += nearest.size;
    }
    return sum;
}
// The factor that takes a line's values to integers. If it is no f32, the values are brought
// closer first, which is exact.
ISOBIT_FN float scale_of(float (&x)[PACK_EACH], const Step &step) {
    if (step.second != 1) {
#pragma unroll
        for (u32 i = 0; i < PACK_EACH; i++)
            x[i] *= step.second;
    }
    return step.first;
}

// Reads a segment of 64 lines from `from` on and makes the integers of the first level. `x` are the
// elements afterwards, perhaps brought closer, and 0 in lines with an infinity or a NaN.
template <u32 PLANES, typename T>
ISOBIT_FN Quantized<PLANES> quantize_lines(float (&x)[PACK_EACH], PackShared &shared, T *rows, const T *from,
                                           const BlockLines &p, u32 lines, u64 length) {
    if (p.k_stride <= p.line_stride)
        read_along_k(x, from, p, lines, length);
    else
        read_along_lines(x, rows, from, p, lines, length);
    u32 largest = largest_of_line(shared.largest, x);
    const bool special = largest >= 0x7f800000u;
    if (special) {
        largest = 0;
#pragma unroll
        for (u32 i = 0; i < PACK_EACH; i++)
            x[i] = 0;
    }
    const Step step = step_of<PLANES>(largest);
    const float scale = scale_of(x, step);
    u32 biased[PACK_EACH], count = 0;
    const u32 sum = round_all<PLANES>(biased, x, scale);
    const DigitWords<PLANES> words = digits_of<PLANES>(biased);
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i++)
        count += x[i] != 0 ? 1 : 0;
    shared.sums[thread_x()] = sum;
    shared.counts[thread_x()] = count;
    barrier();
    // The sum is below 2^30 and the threshold below 2^26.
    const u32 threshold = sum_of_line(shared.counts) << (PLANES == 2 ? 11 : 18);
    return {words, step, special, !special && sum_of_line(shared.sums) < threshold};
}

// The second level: what remains of the elements of wide lines, which `x` becomes, as integers. All
// threads of the block must call it together, after a barrier.
template <u32 PLANES>
ISOBIT_FN DigitWords<PLANES> quantize_rests(Step &step, float (&x)[PACK_EACH], PackShared &shared,
                                            const Quantized<PLANES> &first) {
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i++) {
        const float scaled = x[i] * first.step.first;
        x[i] = first.wide ? scaled - rint(scaled) : 0;
    }
    step = step_of<PLANES>(largest_of_line(shared.largest, x));
    u32 biased[PACK_EACH];
    round_all<PLANES>(biased, x, scale_of(x, step));
    // Where the first level alone is.
    step.step = first.wide ? step.step + first.step.step : 0;
    return digits_of<PLANES>(biased);
}

} // namespace isobit
