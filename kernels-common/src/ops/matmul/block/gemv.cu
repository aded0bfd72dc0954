// Block products with at most eight rows or columns, of operands that are not packed.
#include "ops/matmul/block/gemv.cuh"

namespace isobit {

// Where the i-th element of a member is in the segment: members take turns of 16 bytes.
template <typename T>
ISOBIT_FN u32 gemv_k(u32 member, u32 i) {
    return (i / PACK_VECTOR<T> * GEMV_MEMBERS + member) * PACK_VECTOR<T> + i % PACK_VECTOR<T>;
}

// Reads a member's elements of a line, one by one. All are under way before any is converted.
template <bool WHOLE, typename T>
ISOBIT_FN void read_each(float (&x)[GEMV_EACH], const T *from, u64 k_stride, u32 member, u32 left) {
    constexpr u32 VECTOR = PACK_VECTOR<T>;
    const u8 *at = (const u8 *)from;
    const u64 step = k_stride * sizeof(T), turn = step * ((GEMV_MEMBERS - 1) * VECTOR + 1);
    T some[GEMV_EACH];
#pragma unroll
    for (u32 i = 0; i < GEMV_EACH; i++) {
        some[i] = WHOLE || gemv_k<T>(member, i) < left ? *(const T *)at : T{};
        at += i % VECTOR == VECTOR - 1 ? turn : step;
    }
#pragma unroll
    for (u32 i = 0; i < GEMV_EACH; i++)
        x[i] = to_compute(some[i]);
}

// A segment of the thin operand, read element by element.
template <typename T>
struct ElementRows {
    const T *from;
    u64 line_stride, k_stride;
};
template <typename T>
ISOBIT_FN float element_of(const ElementRows<T> &rows, u32 row, u32 k) {
    return to_compute(rows.from[row * rows.line_stride + k * rows.k_stride]);
}

// A member's elements of a line.
struct ElementPart {
    static constexpr bool HAS_LEVELS = false;
    struct Rows {};
    float x[GEMV_EACH];
};
ISOBIT_FN u32 largest_of_part(const ElementPart &part) { return largest_of(part.x); }
ISOBIT_FN void take_elements(float (&x)[GEMV_EACH], const ElementPart &part) {
#pragma unroll
    for (u32 i = 0; i < GEMV_EACH; i++)
        x[i] = part.x[i];
}

// A segment of the long operand.
template <typename T>
struct ElementLines {
    using Part = ElementPart;
    static constexpr u32 PLANES = Digits<T>::COUNT, PITCH = BLOCK_SEGMENT;
    static constexpr bool IN_TEAMS = false;
    const T *from;
    u64 line_stride, k_stride;
    bool along_k, vectors;

    ISOBIT_FN u32 k_of(u32 member, u32 i) { return gemv_k<T>(member, i); }
    ISOBIT_FN u32 word_of(u32 k) { return k; }
};
template <typename T>
ISOBIT_FN bool are_along_k(const ElementLines<T> &lines) {
    return lines.along_k;
}
template <typename T>
ISOBIT_FN void add_nothing(ElementLines<T> &lines, u32 nothing) {
    lines.k_stride += nothing;
}
template <typename T>
ISOBIT_FN ElementPart read_member(const ElementLines<T> &lines, u32 line, u32 member, u32 left) {
    constexpr u32 VECTOR = PACK_VECTOR<T>;
    ElementPart part;
    const T *at = lines.from + line * lines.line_stride + member * VECTOR * lines.k_stride;
    if (left != BLOCK_SEGMENT) {
        read_each<false>(part.x, at, lines.k_stride, member, left);
    } else if (!lines.along_k || !lines.vectors) {
        read_each<true>(part.x, at, lines.k_stride, member, left);
    } else {
#pragma unroll
        for (u32 i = 0; i < GEMV_EACH; i += VECTOR) {
            const Pack<(int)VECTOR, T> some = load<(int)VECTOR>(at + i * GEMV_MEMBERS);
#pragma unroll
            for (u32 e = 0; e < VECTOR; e++)
                part.x[i + e] = to_compute(some.v[e]);
        }
    }
    return part;
}

template <typename T>
ISOBIT_FN void gemv_values_of(const T *thin, const T *from, u8 *values, const BlockThin &p) {
    const GemvBlock block = gemv_block(p);
    const Offsets<5> offsets = offsets_of(p.batch, block.batch);
    const u64 k0 = (u64)block.segment * BLOCK_SEGMENT;
    const ElementRows<T> rows = {thin + offsets.at[0] + k0 * p.rows.k_stride, p.rows.line_stride, p.rows.k_stride};
    const ElementLines<T> lines = {from + offsets.at[1] + k0 * p.lines.k_stride, p.lines.line_stride,
                                   p.lines.k_stride, p.lines.k_stride <= p.lines.line_stride, p.lines.vectors != 0};
    gemv_values(rows, lines, values, p, block);
}

} // namespace isobit

#define ISOBIT_MATMUL_BLOCK_GEMV(NAME, T)                                                                              \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(128, 4)                                                                                     \
    NAME(const T *thin, const T *from, u8 *, u8 *, u8 *values, const BlockThin p) {                                    \
        gemv_values_of(thin, from, values, p);                                                                         \
    }                                                                                                                  \
    }
