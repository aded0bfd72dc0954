// What the reductions compute, per operation and dtype: what a lane holds, how an element joins it,
// how a lane becomes an accumulator, how two accumulators combine, and how the last one becomes the
// result.
#pragma once

#include "device_lib/extreme.cuh"
#include "device_lib/limits.cuh"

namespace isobit {

ISOBIT_CONST u32 REDUCE_SEGMENT = 65536;
ISOBIT_CONST u32 REDUCE_LANES = 256;

// A lane begins as `start()`, and `step` adds an element that is in row `row` of the segment.
// `of_lane` returns its accumulator; `first` is the number of the lane's first element in the
// sequence, and `rows` the number of its elements. `none()` is the accumulator of a lane without
// elements. Combining with it changes nothing, and neither does stepping from `start()`, not even
// the sign of a zero. So lanes need no special case for their first element, and the tree needs
// none for missing lanes. `finish` returns the result; `count` is the number of elements in the
// sequence.

// Integers of up to 32 bits accumulate in 32 bits: the low bits are the result in their own width.
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
    using Lane = Acc;
    ISOBIT_FN Acc none() { return is_float<T> ? (Acc)-0.0f : (Acc)0; }
    ISOBIT_FN Lane start() { return none(); }
    ISOBIT_FN void step(Lane &lane, T x, u32) { lane = lane + (Acc)to_compute(x); }
    ISOBIT_FN Acc of_lane(Lane lane, u32, u32) { return lane; }
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
    using typename Sum<T>::Lane;
    ISOBIT_FN Acc none() { return (Acc)1; }
    ISOBIT_FN Lane start() { return none(); }
    ISOBIT_FN void step(Lane &lane, T x, u32) { lane = lane * (Acc)to_compute(x); }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return a * b; }
};

template <typename T>
struct Mean : Sum<T> {
    using typename Sum<T>::Acc;
    ISOBIT_FN T finish(Acc a, double count) { return from_compute<T>(a / (Acc)count); }
};

// Floats as integers: the bits with the sign in the top bit, and the bits of the largest value;
// NaNs are above it.
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

// Converts bits to the integer with the order of the values, -0 just below +0, and back (it is its
// own inverse). NaNs are at both ends, by their sign.
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

// Keys, the largest of which is the result: the order of the values or its reverse, rotated so that
// the NaNs of both signs are on top.
template <typename T, bool REVERSE>
struct KeyExtreme {
    using In = T;
    using Acc = order_key_t<T>;
    using Lane = Acc;
    using Out = T;
    ISOBIT_FN Acc none() { return limits<Acc>::MIN; }
    ISOBIT_FN Lane start() { return none(); }
    ISOBIT_FN Acc of(T x) {
        if constexpr (is_float<T>) {
            const Acc key = ordered(float_bits<T>::of(x));
            return wrapping_add<Acc>(REVERSE ? ~key : key, float_bits<T>::LARGEST - limits<Acc>::MAX);
        } else {
            return REVERSE ? ~(Acc)x : (Acc)x;
        }
    }
    ISOBIT_FN void step(Lane &lane, T x, u32) { lane = combine(lane, of(x)); }
    ISOBIT_FN Acc of_lane(Lane lane, u32, u32) { return lane; }
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

#if ISOBIT_MAXIMUM
// A key costs four integer operations, each as expensive as two float operations: an eighth of the
// memory time for f32, and a quarter for f16.
template <typename T, bool REVERSE>
struct FloatExtreme {
    using In = T;
    using Acc = float;
    using Lane = Acc;
    using Out = T;
    ISOBIT_FN Acc none() { return from_bits(REVERSE ? 0x7f800000u : 0xff800000u); }
    ISOBIT_FN Lane start() { return none(); }
    ISOBIT_FN void step(Lane &lane, T x, u32) { lane = combine(lane, to_compute(x)); }
    ISOBIT_FN Acc of_lane(Lane lane, u32, u32) { return lane; }
    ISOBIT_FN Acc combine(Acc a, Acc b) { return REVERSE ? machine_minimum(a, b) : machine_maximum(a, b); }
    ISOBIT_FN T finish(Acc a, double) { return from_compute<T>(a); }
};
template <typename T, bool REVERSE>
struct Extreme : KeyExtreme<T, REVERSE> {};
template <bool REVERSE>
struct Extreme<f16, REVERSE> : FloatExtreme<f16, REVERSE> {};
template <bool REVERSE>
struct Extreme<bf16, REVERSE> : FloatExtreme<bf16, REVERSE> {};
template <bool REVERSE>
struct Extreme<float, REVERSE> : FloatExtreme<float, REVERSE> {};
#else
template <typename T, bool REVERSE>
using Extreme = KeyExtreme<T, REVERSE>;
#endif
template <typename T>
struct Max : Extreme<T, false> {};
template <typename T>
struct Min : Extreme<T, true> {};

template <typename K>
struct Candidate {
    K key;
    u32 index;
};
// A copy by whole words would read the padding after a 32-bit index, which nothing has written.
template <>
struct Candidate<i64> {
    i64 key;
    u64 index;
};

// A lane holds its best value so far and the row where it was found. Strictly better values replace
// it, and so does a NaN, which nothing replaces.
template <typename V>
struct Best {
    V value;
    u32 row;
};

// The type in which values are compared: the compute type of a float, or an integer of 32 or 64
// bits.
template <typename T, bool FLOAT = is_float<T>>
struct compared {
    using type = compute_t<T>;
};
template <typename T>
struct compared<T, false> {
    using type = order_key_t<T>;
};

// Candidates have the keys of their values: zeros of both signs share a key, and all NaNs share the
// largest key. Among equal keys the first element wins.
template <typename T, bool REVERSE>
struct ArgExtreme {
    using In = T;
    using Value = typename compared<T>::type;
    using Key = order_key_t<Value>;
    using Lane = Best<Value>;
    using Acc = Candidate<Key>;
    using Out = u32;
    ISOBIT_FN Acc none() { return Acc{limits<Key>::MIN, ~0u}; }
    ISOBIT_FN Lane start() {
        if constexpr (is_float<T>)
            return Lane{(Value)from_bits(REVERSE ? 0x7f800000u : 0xff800000u), 0};
        else
            return Lane{REVERSE ? limits<Value>::MAX : limits<Value>::MIN, 0};
    }
    ISOBIT_FN void step(Lane &lane, T x, u32 row) {
        const Value value = (Value)to_compute(x);
        bool better = REVERSE ? !(value >= lane.value) : !(value <= lane.value);
        if constexpr (is_float<T>)
            better = better && lane.value == lane.value;
        lane.value = better ? value : lane.value;
        lane.row = better ? row : lane.row;
    }
    ISOBIT_FN Acc of_lane(Lane lane, u32 first, u32) {
        const u32 index = first + lane.row * REDUCE_LANES;
        if constexpr (is_float<T>) {
            const Key bits = float_bits<Value>::of(lane.value);
            const Key magnitude = bits & limits<Key>::MAX;
            const Key key = magnitude == 0 ? 0 : ordered(bits);
            return Acc{magnitude > float_bits<Value>::LARGEST ? limits<Key>::MAX : REVERSE ? (Key)~key : key, index};
        } else {
            return Acc{REVERSE ? (Key)~lane.value : lane.value, index};
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

// Whether `combine` takes so long that threads had better share the work: a quotient does.
template <typename Op>
constexpr bool combines_long = false;

// Reduces the results of segments as a sequence of their own.
template <typename Op>
struct Again : Op {
    using typename Op::Acc;
    using In = Acc;
    using Lane = Acc;
    ISOBIT_FN Lane start() { return Op::none(); }
    ISOBIT_FN void step(Lane &lane, In x, u32) { lane = Op::combine(lane, x); }
    ISOBIT_FN Acc of_lane(Lane lane, u32, u32) { return lane; }
};
template <typename Op>
constexpr bool combines_long<Again<Op>> = combines_long<Op>;

} // namespace isobit
