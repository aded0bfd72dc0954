// What the reductions compute: the accumulator of each operation and dtype, how an element becomes one, how two combine, and how the last
// becomes the result.
#pragma once

#include "dialect/limits.cuh"

namespace isobit {

// An element and its number in the sequence become an accumulator by `of`; `finish` gives the result, `count` being the elements of
// the sequence.

// Integers of up to 32 bits accumulate in 32: the low bits are those of their own width.
template <typename T, bool FLOAT = is_float<T>>
struct accumulator {
    using type = compute_t<T>;
};
template <typename T>
struct accumulator<T, false> {
    using type = u32;
};
template <>
struct accumulator<i64, false> {
    using type = u64;
};

template <typename T>
struct Sum {
    using In = T;
    using Acc = typename accumulator<T>::type;
    using Out = T;
    ISOBIT_FN Acc of(T x, u32) { return (Acc)to_compute(x); }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return a + b; }
    ISOBIT_FN T finish(Acc a, double) {
        if constexpr (is_float<T>)
            return from_compute<T>(a);
        else
            return (T)a;
    }
};

template <typename T>
struct Prod : Sum<T> {
    using typename Sum<T>::Acc;
    ISOBIT_FN Acc combine(Acc a, Acc b) { return a * b; }
};

template <typename T>
struct Mean : Sum<T> {
    using typename Sum<T>::Acc;
    ISOBIT_FN T finish(Acc a, double count) { return from_compute<T>(a / (Acc)count); }
};

// Floats as integers: the bits with the sign at the top, and those of the largest value; NaNs are beyond it.
template <typename T>
struct float_bits;
#define ISOBIT_FLOAT_BITS(T, BITS, LARGEST_BITS, OF, TO)                                                               \
    template <>                                                                                                        \
    struct float_bits<T> {                                                                                             \
        using Key = BITS;                                                                                              \
        static constexpr BITS LARGEST = LARGEST_BITS;                                                                  \
        ISOBIT_FN BITS of(T x) { return (BITS)(OF); }                                                                  \
        ISOBIT_FN T to(BITS x) { return TO; }                                                                          \
    };
ISOBIT_FLOAT_BITS(f8e4m3, i32, 0x7e000000, (u32)x.bits << 24, (f8e4m3{(u8)((u32)x >> 24)}))
ISOBIT_FLOAT_BITS(f16, i32, 0x7c000000, (u32)x.bits << 16, (f16{(u16)((u32)x >> 16)}))
ISOBIT_FLOAT_BITS(bf16, i32, 0x7f800000, (u32)x.bits << 16, (bf16{(u16)((u32)x >> 16)}))
ISOBIT_FLOAT_BITS(float, i32, 0x7f800000, to_bits(x), from_bits((u32)x))
ISOBIT_FLOAT_BITS(double, i64, 0x7ff0000000000000, to_bits(x), from_bits((u64)x))
#undef ISOBIT_FLOAT_BITS

// Between bits and the integer whose order is that of the values, -0 just below +0; its own inverse. NaNs are at both ends, by their sign.
ISOBIT_FN i32 ordered(i32 bits) { return bits ^ (bits < 0 ? limits<i32>::MAX : 0); }
ISOBIT_FN i64 ordered(i64 bits) { return bits ^ (bits < 0 ? limits<i64>::MAX : 0); }

template <typename T, bool FLOAT = is_float<T>>
struct order_key {
    using type = i32;
};
template <typename T>
struct order_key<T, true> {
    using type = typename float_bits<T>::Key;
};
template <>
struct order_key<u32, false> {
    using type = u32;
};
template <>
struct order_key<i64, false> {
    using type = i64;
};
template <typename T>
using order_key_t = typename order_key<T>::type;

template <typename K>
ISOBIT_FN K wrapping_add(K a, K b) {
    if constexpr (sizeof(K) == 8)
        return (K)((u64)a + (u64)b);
    else
        return (K)((u32)a + (u32)b);
}

// Keys of which the largest is the result: the order of the values, or its reverse, turned around until the NaNs of both signs lie on top.
template <typename T, bool REVERSE>
struct Extreme {
    using In = T;
    using Acc = order_key_t<T>;
    using Out = T;
    ISOBIT_FN Acc of(T x, u32) {
        if constexpr (is_float<T>) {
            const Acc key = ordered(float_bits<T>::of(x));
            return wrapping_add<Acc>(REVERSE ? ~key : key, float_bits<T>::LARGEST - limits<Acc>::MAX);
        } else {
            return REVERSE ? ~(Acc)x : (Acc)x;
        }
    }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return a < b ? b : a; }
    ISOBIT_FN T finish(Acc a, double) {
        if constexpr (is_float<T>) {
            const Acc key = wrapping_add<Acc>(a, limits<Acc>::MAX - float_bits<T>::LARGEST);
            return float_bits<T>::to(ordered(REVERSE ? (Acc)~key : key));
        } else {
            return (T)(REVERSE ? (Acc)~a : a);
        }
    }
};
template <typename T>
struct Max : Extreme<T, false> {};
template <typename T>
struct Min : Extreme<T, true> {};

template <typename K>
struct Candidate {
    K key;
    u32 index;
};

// Keys again, but of values: zeros of both signs have one, all NaNs the largest. Of equal ones the first element goes first.
template <typename T, bool REVERSE>
struct ArgExtreme {
    using In = T;
    using Key = order_key_t<T>;
    using Acc = Candidate<Key>;
    using Out = u32;
    ISOBIT_FN Acc of(T x, u32 index) {
        if constexpr (is_float<T>) {
            const Key bits = float_bits<T>::of(x);
            const Key magnitude = bits & limits<Key>::MAX;
            const Key key = magnitude == 0 ? 0 : ordered(bits);
            return Acc{magnitude > float_bits<T>::LARGEST ? limits<Key>::MAX : REVERSE ? (Key)~key : key, index};
        } else {
            return Acc{REVERSE ? (Key) ~(Key)x : (Key)x, index};
        }
    }
    ISOBIT_FN Acc combine(Acc a, Acc b) {
        const bool later = a.key < b.key || (a.key == b.key && b.index < a.index);
        return later ? b : a;
    }
    ISOBIT_FN u32 finish(Acc a, double) { return a.index; }
};
template <typename T>
struct ArgMax : ArgExtreme<T, false> {};
template <typename T>
struct ArgMin : ArgExtreme<T, true> {};

// The segments' results as a sequence of their own.
template <typename Op>
struct Again : Op {
    using In = typename Op::Acc;
    ISOBIT_FN In of(In x, u32) { return x; }
};

} // namespace isobit
