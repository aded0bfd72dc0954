// Combines each source with its destination where that is, by atomics: for minima, maxima and
// wrapping sums of integers, which do not depend on the order.
//
// NaNs are what could show it. A destination that is a NaN stays as it is, whoever comes. Any other
// that meets a NaN gets the NaN that is beyond all numbers in the order of the integers below, so
// that it stays whatever follows.
#pragma once

#include "device_lib/atomic_extreme.cuh"
#include "device_lib/vector.cuh"
#include "ops/indexing/combine.cuh"
#include "ops/indexing/each.cuh"
#include "ops/indexing/tuples_ahead.cuh"

namespace isobit {

// What is changed at once: the element, or the word that holds it.
template <typename T>
using word_t = typename vector_detail::bits_of_size<sizeof(T) == 8 ? 8 : 4>::type;

template <typename Word>
struct signed_word {
    using type = i32;
};
template <>
struct signed_word<u64> {
    using type = i64;
};

template <typename T>
struct WordAt {
    word_t<T> *word;
    u32 shift;
};

// The host ensures that all words are the destination's.
template <typename T>
ISOBIT_FN WordAt<T> word_at(T *element) {
    const u32 before = sizeof(T) < 4 ? (u32)((u64)element & 3) : 0;
    return {(word_t<T> *)((u8 *)element - before), 8 * before};
}

template <typename T>
ISOBIT_FN T element_of(word_t<T> word, u32 shift) {
    return __builtin_bit_cast(T, (vector_detail::bits_of<T>)(word >> shift));
}

// The bits of a source; every NaN has the same.
template <typename Op, typename T>
ISOBIT_FN vector_detail::bits_of<T> settled(T x) {
    using Bits = vector_detail::bits_of<T>;
    if constexpr (is_narrow<T>)
        return __builtin_bit_cast(Bits, is_nan(to_compute(x)) ? nan_of<T>() : x);
    else if constexpr (is_float<T>)
        if (is_nan(x))
            return is_same<Op, CombineAmax> ? (Bits)~(Bits)0 >> 1 : (Bits)~(Bits)0;
    return __builtin_bit_cast(Bits, x);
}

// Whether a minimum or maximum with `x` is another value than the one before.
template <typename Op, typename T>
ISOBIT_FN bool changes(T before, T x) {
    const compute_t<T> a = to_compute(before), b = to_compute(x);
    if constexpr (is_float<T>)
        return !is_nan(a) && (is_nan(b) || to_bits(Op::of(a, b)) != to_bits(a));
    else
        return Op::of(a, b) != a;
}

// Makes a word that holds one element the larger or the smaller one. Floats of one sign are in the
// order of their bits, the negative ones backwards; any of the other sign is on the same side of
// all of them if the integers are signed for positive ones and unsigned for negative ones.
template <typename Op, typename T>
ISOBIT_FN void to_extreme(word_t<T> *word, word_t<T> bits) {
    using Word = word_t<T>;
    using Signed = typename signed_word<Word>::type;
    const bool is_negative = is_float<T> && (Signed)bits < 0;
    const bool is_signed = is_float<T> ? !is_negative : limits<T>::IS_SIGNED;
    const bool up = is_same<Op, CombineAmax> != is_negative;
    if (is_signed && up)
        raise_to((Signed *)word, (Signed)bits);
    else if (is_signed)
        lower_to((Signed *)word, (Signed)bits);
    else if (up)
        raise_to(word, bits);
    else
        lower_to(word, bits);
}

// Combines a source with an element whose word was `old` a moment ago.
template <typename Op, typename T>
ISOBIT_FN void combine_in_place(WordAt<T> at, word_t<T> old, T value) {
    using Word = word_t<T>;
    const vector_detail::bits_of<T> bits = settled<Op>(value);
    if constexpr (is_same<Op, CombineAdd>) {
        if (bits != 0)
            add_to(at.word, bits);
    } else {
        const T x = __builtin_bit_cast(T, bits);
        bool more = changes<Op>(element_of<T>(old, at.shift), x);
        if constexpr (sizeof(T) >= 4) {
            if (more)
                to_extreme<Op, T>(at.word, bits);
        } else {
            // Most sources change nothing, so few try more than once.
            const Word all = (Word)(vector_detail::bits_of<T>)~(vector_detail::bits_of<T>)0 << at.shift;
#pragma unroll 1
            while (more) {
                const Word seen = compare_and_swap(at.word, old, (old & ~all) | (Word)bits << at.shift);
                more = seen != old && changes<Op>(element_of<T>(seen, at.shift), x);
                old = seen;
            }
        }
    }
}

template <typename T, typename I, typename Op>
ISOBIT_FN void in_place(T *dst, const I *ids, const T *src, const Each &g, u64 *flag) {
    const u32 first = block_x() * (EACH_BLOCK * EACH_AHEAD) + thread_x();
    Offsets<4> place[EACH_AHEAD];
    I id[EACH_AHEAD];
    T value[EACH_AHEAD];
    WordAt<T> to[EACH_AHEAD];
    word_t<T> old[EACH_AHEAD];
    bool is_somewhere[EACH_AHEAD];
    bool fault = false;
#pragma unroll
    for (u32 e = 0; e < EACH_AHEAD; e++)
        place[e] = offsets_of(g.index, first + e * EACH_BLOCK);
#pragma unroll
    for (u32 e = 0; e < EACH_AHEAD; e++)
        if (first + e * EACH_BLOCK < g.n) {
            id[e] = ids[place[e].at[1]];
            value[e] = src[place[e].at[2]];
        }
#pragma unroll
    for (u32 e = 0; e < EACH_AHEAD; e++) {
        u64 at = 0;
        is_somewhere[e] = first + e * EACH_BLOCK < g.n && is_inside(id[e], g.size, g.from_end, at, fault);
        to[e] = word_at(dst + (is_somewhere[e] ? place[e].at[0] + at * g.step : 0));
        // Sums need not know what was there.
        old[e] = !is_same<Op, CombineAdd> && is_somewhere[e] ? atomic_load(to[e].word) : 0;
    }
#pragma unroll
    for (u32 e = 0; e < EACH_AHEAD; e++)
        if (is_somewhere[e])
            combine_in_place<Op, T>(to[e], old[e], value[e]);
    if (fault)
        report_each(flag, ids, g, first);
}

// The same at positions by tuples of ids. The walk has a unit's offset in the destination, which
// joins the position, and that of its source.
template <typename T, typename I, typename Op>
ISOBIT_FN void in_place_nd(T *dst, const I *ids, const T *src, const Tuples &t, u64 *flag) {
    TuplesAhead a = tuples_ahead(t);
    T value[TUPLES_AHEAD];
    WordAt<T> to[TUPLES_AHEAD];
    word_t<T> old[TUPLES_AHEAD];
#pragma unroll
    for (u32 e = 0; e < TUPLES_AHEAD; e++)
        if (exists(a, t, e))
            value[e] = src[a.place[e].at[3]];
    add_ids(a, ids, t);
#pragma unroll
    for (u32 e = 0; e < TUPLES_AHEAD; e++) {
        to[e] = word_at(dst + (a.is_somewhere[e] ? a.position[e] : 0));
        old[e] = !is_same<Op, CombineAdd> && a.is_somewhere[e] ? atomic_load(to[e].word) : 0;
    }
#pragma unroll
    for (u32 e = 0; e < TUPLES_AHEAD; e++)
        if (a.is_somewhere[e])
            combine_in_place<Op, T>(to[e], old[e], value[e]);
    if (a.fault)
        report_tuples(flag, ids, t, a.first);
}

} // namespace isobit
