// How teams of threads read a segment of 8 lines and make integers of it: each thread has two
// chunks of one line, 32 elements. Teams do not wait for each other.
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

// What the four threads of a line tell each other: the largest element, later the sum of sizes; the
// sum of scaled values; and how many are not zero. They are of one team, so no other team waits.
struct PackShared {
    alignas(16) u32 largest[PACK_BLOCK];
    alignas(16) u32 sums[PACK_BLOCK];
    alignas(16) u32 counts[PACK_BLOCK];
    alignas(16) u32 flags[PACK_LINES];
};

// The line of a thread among those of the block, and its number among the threads of the line.
// Eight neighbours have eight lines.
ISOBIT_FN u32 line_of_thread() { return thread_x() / TILE_TEAM * CHUNK_LINES + thread_x() % CHUNK_LINES; }
ISOBIT_FN u32 member_of_thread() { return thread_x() / CHUNK_LINES % PACK_TEAM; }
// Where a thread tells something: the members of a line are neighbours.
ISOBIT_FN u32 place_of_thread() { return line_of_thread() * PACK_TEAM + member_of_thread(); }
// What the members of this thread's line have told before a barrier of the team.
template <typename V>
ISOBIT_FN Pack<4, V> told_by_line(const V *shared) {
    return load<4>(shared + line_of_thread() * PACK_TEAM);
}
// All bits that eight lines have set, those of this thread's team for instance.
ISOBIT_FN u32 any_of_lines(const u32 *flags) {
    const Pack<4, u32> low = load<4>(flags), high = load<4>(flags + 4);
    return low.v[0] | low.v[1] | low.v[2] | low.v[3] | high.v[0] | high.v[1] | high.v[2] | high.v[3];
}
ISOBIT_FN u32 flags_of_team(const PackShared &shared) {
    return any_of_lines(shared.flags + line_of_thread() / CHUNK_LINES * CHUNK_LINES);
}

// The largest bits, without signs.
template <u32 COUNT>
ISOBIT_FN u32 largest_of(const float (&x)[COUNT]) {
    u32 largest = 0;
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) {
        const u32 bits = to_bits(x[i]) & 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}
// The same of all threads of a line.
ISOBIT_FN u32 largest_of_line(u32 (&shared)[PACK_BLOCK], const float (&x)[PACK_EACH]) {
    u32 largest = largest_of(x);
    shared[place_of_thread()] = largest;
    team_barrier();
    const Pack<4, u32> all = told_by_line(shared);
#pragma unroll
    for (u32 i = 0; i < PACK_TEAM; i++)
        largest = all.v[i] > largest ? all.v[i] : largest;
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

// The nearest integer of a scaled value, ties to even, as an unsigned word: the integer plus 0x80
// in every digit. Bytes above the digits do not count. Additions to numbers with units of 1 round,
// and both are even, so that ties stay where they are. Three digits are more than the integers that
// such an addition can have, so the upper two are found first, and what remains is exact.
template <u32 PLANES>
ISOBIT_FN u32 biased_integer(float scaled) {
    if constexpr (PLANES == 2)
        return to_bits(scaled + 12615808.0f);
    constexpr float HIGH = 12582912.0f + 0x4080, LOW = 12582912.0f + 0x80;
    const float high = fma(scaled, 0.00390625f, HIGH);
    return (to_bits(high) << 8) + to_bits(fma(high - HIGH, -256.0f, scaled) + LOW);
}
// The same of a value times a power of two, which is exact where it matters.
template <u32 PLANES>
ISOBIT_FN u32 biased_product(float x, float scale) {
    if constexpr (PLANES == 2)
        return to_bits(fma(x, scale, 12615808.0f));
    return biased_integer<PLANES>(x * scale);
}
// The integer itself.
template <u32 PLANES>
ISOBIT_FN i32 nearest_integer(float scaled) {
    return (i32)(biased_integer<PLANES>(scaled) - biased_integer<PLANES>(0.0f));
}

// The digits of four integers, which are biased words: a word for each plane.
template <u32 PLANES>
struct FourDigits {
    u32 of[PLANES];
};
template <u32 PLANES>
ISOBIT_FN FourDigits<PLANES> four_digits(const u32 *x) {
    FourDigits<PLANES> words;
    const u32 low = permute_bytes<0x5140>(x[0], x[1]), low2 = permute_bytes<0x5140>(x[2], x[3]);
    words.of[PLANES - 1] = permute_bytes<0x5410>(low, low2) ^ 0x80808080u;
    words.of[PLANES - 2] = permute_bytes<0x7632>(low, low2) ^ 0x80808080u;
    if constexpr (PLANES == 3) {
        const u32 high = permute_bytes<0x6262>(x[0], x[1]), high2 = permute_bytes<0x6262>(x[2], x[3]);
        words.of[0] = permute_bytes<0x5410>(high, high2) ^ 0x80808080u;
    }
    return words;
}

// The digits of a thread's integers, in the order of a part.
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
            const FourDigits<PLANES> four = four_digits<PLANES>(biased + c * CHUNK_K + quad * 4);
#pragma unroll
            for (u32 plane = 0; plane < PLANES; plane++)
                words.of[c][plane].v[quad] = four.of[plane];
        }
    return words;
}
// Where the words of chunk `c` of a thread lie in a plane.
ISOBIT_FN u32 chunk_place(u32 c) { return (c * PACK_TEAM + member_of_thread()) * CHUNK_BYTES; }

// Where a thread's digits of a chunk lie in a part.
ISOBIT_FN u32 digits_place(u32 c, u32 plane) {
    return plane * PLANE_BYTES + chunk_place(c) + thread_x() % CHUNK_LINES * CHUNK_K;
}

// Writes a thread's digits to a part.
template <u32 PLANES>
ISOBIT_FN void store_digits(u8 *part, const DigitWords<PLANES> &words) {
#pragma unroll
    for (u32 c = 0; c < PACK_CHUNKS; c++)
#pragma unroll
        for (u32 plane = 0; plane < PLANES; plane++)
            store((u32 *)(part + digits_place(c, plane)), words.of[c][plane]);
}

// Reads what store_digits() wrote.
template <u32 PLANES>
ISOBIT_FN DigitWords<PLANES> load_digits(const u8 *part) {
    DigitWords<PLANES> words;
#pragma unroll
    for (u32 c = 0; c < PACK_CHUNKS; c++)
#pragma unroll
        for (u32 plane = 0; plane < PLANES; plane++)
            words.of[c][plane] = load<4>((const u32 *)(part + digits_place(c, plane)));
    return words;
}

// Elements of a line that a thread loads at once.
template <typename T>
ISOBIT_CONST u32 PACK_VECTOR = 16 / sizeof(T);

// Elements of a segment of 8 lines in the shared memory of a team, as rows of the same k. Rows have
// a gap after each 16 of them, so that the chunks of a line lie in different banks.
template <typename T>
ISOBIT_CONST u32 PACK_GAP = (CHUNK_LINES * sizeof(T) < 16 ? 16 : CHUNK_LINES * sizeof(T)) / sizeof(T);
template <typename T>
ISOBIT_CONST u32 PACK_ELEMENTS = BLOCK_SEGMENT * CHUNK_LINES + BLOCK_SEGMENT / CHUNK_K * PACK_GAP<T>;
template <typename T>
ISOBIT_FN u32 row_place(u32 k) {
    return k * CHUNK_LINES + k / CHUNK_K * PACK_GAP<T>;
}

// Copies them. Those that do not exist are 0. Addresses are added up step by step, because a
// compiler that knows them all at once keeps them in registers.
template <typename T>
ISOBIT_FN void copy_lines(T *rows, const T *from, const BlockLines &p, u32 lines, u64 length) {
    constexpr u32 VECTOR = PACK_VECTOR<T> < CHUNK_LINES ? PACK_VECTOR<T> : CHUNK_LINES;
    const u32 lane = thread_x() % TILE_TEAM;
    if (p.vectors != 0 && p.k_stride > p.line_stride && lines >= CHUNK_LINES) {
        constexpr u32 IN_ROW = CHUNK_LINES / VECTOR, AT_ONCE = TILE_TEAM / IN_ROW;
        const u32 row = lane / IN_ROW, line = lane % IN_ROW * VECTOR;
        from += row * p.k_stride + line;
#pragma unroll
        for (u32 k = 0; k < BLOCK_SEGMENT; k += AT_ONCE) {
            Pack<(int)VECTOR, T> some{};
            if (row + k < length)
                some = load<(int)VECTOR>(from);
            store(rows + row_place<T>(row + k) + line, some);
            from += AT_ONCE * p.k_stride;
        }
        return;
    }
    constexpr u32 AT_ONCE = TILE_TEAM / CHUNK_LINES;
    const u32 line = lane % CHUNK_LINES, row = lane / CHUNK_LINES;
    from += line * p.line_stride + row * p.k_stride;
#pragma unroll 4
    for (u32 k = row; k < BLOCK_SEGMENT; k += AT_ONCE) {
        rows[row_place<T>(k) + line] = line < lines && k < length ? *from : T{};
        from += AT_ONCE * p.k_stride;
    }
}

// Takes a thread's elements from there.
template <typename T>
ISOBIT_FN void take_rows(float (&x)[PACK_EACH], const T *rows) {
#pragma unroll
    for (u32 c = 0; c < PACK_CHUNKS; c++) {
        const T *at = rows + row_place<T>((c * PACK_TEAM + member_of_thread()) * CHUNK_K) + thread_x() % CHUNK_LINES;
#pragma unroll
        for (u32 i = 0; i < CHUNK_K; i++)
            x[c * CHUNK_K + i] = to_compute(at[i * CHUNK_LINES]);
    }
}

// Reads a segment of the 8 lines of a team from `from` on: straight from memory where it runs along
// the lines, else through `rows`. All threads of the team must call it together.
template <typename T>
ISOBIT_FN void read_lines(float (&x)[PACK_EACH], T *rows, const T *from, const BlockLines &p, u32 lines, u64 length) {
    const u32 line = thread_x() % CHUNK_LINES;
    if (p.vectors != 0 && p.k_stride <= p.line_stride && length >= BLOCK_SEGMENT) {
        from += line * p.line_stride + member_of_thread() * CHUNK_K;
#pragma unroll
        for (u32 c = 0; c < PACK_CHUNKS; c++)
#pragma unroll
            for (u32 i = 0; i < CHUNK_K; i += PACK_VECTOR<T>) {
                Pack<(int)PACK_VECTOR<T>, T> some{};
                if (line < lines)
                    some = load<(int)PACK_VECTOR<T>>(from + c * PACK_TEAM * CHUNK_K + i);
#pragma unroll
                for (u32 e = 0; e < PACK_VECTOR<T>; e++)
                    x[c * CHUNK_K + i + e] = to_compute(some.v[e]);
            }
        return;
    }
    team_barrier();
    copy_lines(rows, from, p, lines, length);
    team_barrier();
    take_rows(x, rows);
}

// A segment of a line as integers, of which each thread has its own.
template <u32 PLANES>
struct Quantized {
    DigitWords<PLANES> words;
    Step step;
    // The same for all threads of a line.
    bool special, wide;
};

// The size of the integer of a value. It and what becomes of it share no intermediate result with
// biased_integer(), because the compiler would keep those of all elements in registers until then.
ISOBIT_FN float rounded_size(float x, float scale) { return fma(abs(x), scale, 8388608.0f) - 8388608.0f; }

// The nearest integers of scaled values, and about the sum of their sizes.
template <u32 PLANES>
ISOBIT_FN float round_all(u32 (&biased)[PACK_EACH], const float (&x)[PACK_EACH], float scale) {
    float sum = 0;
#pragma unroll
    for (u32 i = 0; i < PACK_EACH; i++) {
        const float scaled = x[i] * scale;
        biased[i] = biased_integer<PLANES>(scaled);
        sum += abs(scaled);
    }
    return sum;
}

// A line is wide if the sizes of its integers add up to less than 2 to this power for each element
// that is not zero.
template <u32 PLANES>
ISOBIT_CONST u32 WIDE_BITS = PLANES == 2 ? 11 : 18;

// Whether a line may be wide whose sizes add up to about `sum`. Integers differ from scaled values
// by 1/2 at most, so the sums of 128 by 64, and that of floats by less than 2^-18 of it. Few lines
// are so close to the threshold that it must be exact.
template <u32 PLANES>
ISOBIT_FN bool may_be_wide(float sum) {
    constexpr float ALL = (float)(BLOCK_SEGMENT << WIDE_BITS<PLANES>);
    return sum < ALL * 1.0009765625f;
}
// What decides: the sum of sizes, below 2^30 for a line, and how many elements are not zero. A line
// is wide if their sums of all its elements are.
struct WideSums {
    u32 size, count;
};
template <u32 COUNT>
ISOBIT_FN WideSums wide_sums(const float (&x)[COUNT], float scale) {
    WideSums sums = {};
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) {
        sums.size += (u32)rounded_size(x[i], scale);
        sums.count += x[i] != 0 ? 1 : 0;
    }
    return sums;
}
template <u32 PLANES>
ISOBIT_FN bool are_wide(const WideSums &sums) {
    return sums.size < sums.count << WIDE_BITS<PLANES>;
}

// Whether a line is wide. `sum` is about that of the sizes of the thread's integers.
template <u32 PLANES>
ISOBIT_FN bool is_wide(PackShared &shared, const float (&x)[PACK_EACH], float scale, float sum) {
    shared.sums[place_of_thread()] = to_bits(sum);
    team_barrier();
    const Pack<4, u32> sums = told_by_line(shared.sums);
    const bool close = may_be_wide<PLANES>(from_bits(sums.v[0]) + from_bits(sums.v[1]) + from_bits(sums.v[2]) +
                                           from_bits(sums.v[3]));
    const WideSums own = close ? wide_sums(x, scale) : WideSums{};
    shared.largest[place_of_thread()] = own.size;
    shared.counts[place_of_thread()] = own.count;
    team_barrier();
    const Pack<4, u32> sizes = told_by_line(shared.largest), counts = told_by_line(shared.counts);
    return close && are_wide<PLANES>({sizes.v[0] + sizes.v[1] + sizes.v[2] + sizes.v[3],
                                      counts.v[0] + counts.v[1] + counts.v[2] + counts.v[3]});
}

// The factor that takes a line's values to integers. If it is no f32, the values are brought
// closer first, which is exact.
template <u32 COUNT>
ISOBIT_FN float scale_of(float (&x)[COUNT], const Step &step) {
    if (step.second != 1) {
#pragma unroll
        for (u32 i = 0; i < COUNT; i++)
            x[i] *= step.second;
    }
    return step.first;
}

// What the integers of a line leave of its elements, which `x` becomes; nothing unless it is wide.
template <u32 COUNT>
ISOBIT_FN void take_rests(float (&x)[COUNT], float scale, bool wide) {
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) {
        const float rest = fma(abs(x[i]), scale, -rounded_size(x[i], scale));
        x[i] = !wide ? 0 : x[i] < 0 ? -rest : rest;
    }
}

// Makes the integers of the first level. `x` are the elements afterwards, perhaps brought closer.
// All threads of the team must call it together.
template <u32 PLANES>
ISOBIT_FN Quantized<PLANES> quantize(float (&x)[PACK_EACH], PackShared &shared) {
    u32 largest = largest_of_line(shared.largest, x);
    const bool special = largest >= 0x7f800000u;
    if (special)
        largest = 0;
    const Step step = step_of<PLANES>(largest);
    const float scale = scale_of(x, step);
    u32 biased[PACK_EACH];
    const float sum = round_all<PLANES>(biased, x, scale);
    // No result has the integers of a line with an infinity or a NaN. It is not wide.
    const DigitWords<PLANES> words = digits_of<PLANES>(biased);
    return {words, step, special, is_wide<PLANES>(shared, x, scale, special ? from_bits(0x7f800000u) : sum)};
}

// The second level: what remains of the elements of wide lines, which `x` becomes, as integers. All
// threads of the team must call it together.
template <u32 PLANES>
ISOBIT_FN DigitWords<PLANES> quantize_rests(Step &step, float (&x)[PACK_EACH], PackShared &shared,
                                            const Quantized<PLANES> &first) {
    take_rests(x, first.step.first, first.wide);
    step = step_of<PLANES>(largest_of_line(shared.largest, x));
    u32 biased[PACK_EACH];
    round_all<PLANES>(biased, x, scale_of(x, step));
    // Where the first level alone is.
    step.step = first.wide ? step.step + first.step.step : 0;
    return digits_of<PLANES>(biased);
}

} // namespace isobit
