// Packs of several elements that a thread holds in registers and moves with one access of up to 16
// bytes.
#pragma once

#include "device_lib/narrow_types.cuh"

namespace isobit {

// `N` elements in registers. Indices into it are constants after unrolling.
template <int N, typename T>
struct Pack {
    T v[N];
};

// The number of elements for which the largest of the types takes 16 bytes.
template <typename... T>
ISOBIT_FN constexpr int pack_size() {
    int largest = 1;
    ((largest = (int)sizeof(T) > largest ? (int)sizeof(T) : largest), ...);
    return 16 / largest;
}

namespace vector_detail {

#if defined(__clang__)
typedef u32 words2 __attribute__((ext_vector_type(2), may_alias));
typedef u32 words4 __attribute__((ext_vector_type(4), may_alias));
#else
using words2 = uint2;
using words4 = uint4;
#endif

template <int BYTES>
struct bits_of_size;
template <>
struct bits_of_size<1> {
    using type = u8;
};
template <>
struct bits_of_size<2> {
    using type = u16;
};
template <>
struct bits_of_size<4> {
    using type = u32;
};
template <>
struct bits_of_size<8> {
    using type = u64;
};
template <typename T>
using bits_of = typename bits_of_size<(int)sizeof(T)>::type;

// Takes elements out of words by shifts: with a cast through memory, each compiler would have to
// optimize the memory away.
template <int N, typename T>
ISOBIT_FN Pack<N, T> unpack(const u32 *w) {
    Pack<N, T> x;
#pragma unroll
    for (int i = 0; i < N; i++) {
        if constexpr (sizeof(T) == 8)
            x.v[i] = __builtin_bit_cast(T, (u64)w[2 * i] | (u64)w[2 * i + 1] << 32);
        else
            x.v[i] = __builtin_bit_cast(
                T, (bits_of<T>)(w[i * (int)sizeof(T) / 4] >> (8 * (i * (int)sizeof(T) % 4))));
    }
    return x;
}

template <int N, typename T>
ISOBIT_FN void pack(const Pack<N, T> &x, u32 *w) {
#pragma unroll
    for (int i = 0; i < N; i++) {
        const bits_of<T> bits = __builtin_bit_cast(bits_of<T>, x.v[i]);
        if constexpr (sizeof(T) == 8) {
            w[2 * i] = (u32)bits;
            w[2 * i + 1] = (u32)(bits >> 32);
        } else {
            const int word = i * (int)sizeof(T) / 4, shift = 8 * (i * (int)sizeof(T) % 4);
            w[word] = shift == 0 ? (u32)bits : w[word] | (u32)bits << shift;
        }
    }
}

} // namespace vector_detail

// The element whose bits are the low ones of `bits`.
template <typename T>
ISOBIT_FN T element_of_bits(u64 bits) {
    return __builtin_bit_cast(T, (vector_detail::bits_of<T>)bits);
}

// The bits of an element.
template <typename T>
ISOBIT_FN u64 bits_of_element(T x) {
    return __builtin_bit_cast(vector_detail::bits_of<T>, x);
}

// Loads `N` elements. Their total size is at most 16 bytes, and the address is a multiple of it.
template <int N, typename T>
ISOBIT_FN Pack<N, T> load(const T *from) {
    using namespace vector_detail;
    constexpr int BYTES = N * (int)sizeof(T);
    static_assert(BYTES <= 16, "one access moves at most 16 bytes");
    if constexpr (N == 1) {
        return Pack<1, T>{{*from}};
    } else if constexpr (BYTES == 2) {
        const u32 w[1] = {*(const u16 *)from};
        return unpack<N, T>(w);
    } else if constexpr (BYTES == 4) {
        const u32 w[1] = {*(const u32 *)from};
        return unpack<N, T>(w);
    } else if constexpr (BYTES == 8) {
        const words2 q = *(const words2 *)from;
        const u32 w[2] = {q.x, q.y};
        return unpack<N, T>(w);
    } else {
        const words4 q = *(const words4 *)from;
        const u32 w[4] = {q.x, q.y, q.z, q.w};
        return unpack<N, T>(w);
    }
}

// The reverse of `load`.
template <int N, typename T>
ISOBIT_FN void store(T *to, const Pack<N, T> &x) {
    using namespace vector_detail;
    constexpr int BYTES = N * (int)sizeof(T);
    static_assert(BYTES <= 16, "one access moves at most 16 bytes");
    if constexpr (N == 1) {
        *to = x.v[0];
    } else {
        u32 w[(BYTES + 3) / 4];
        pack<N, T>(x, w);
        if constexpr (BYTES == 2) {
            *(u16 *)to = (u16)w[0];
        } else if constexpr (BYTES == 4) {
            *(u32 *)to = w[0];
        } else if constexpr (BYTES == 8) {
            words2 q;
            q.x = w[0], q.y = w[1];
            *(words2 *)to = q;
        } else {
            words4 q;
            q.x = w[0], q.y = w[1], q.z = w[2], q.w = w[3];
            *(words4 *)to = q;
        }
    }
}

} // namespace isobit
