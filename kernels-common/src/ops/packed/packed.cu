// Elements of eight bits or fewer, packed in bytes. A thread packs or unpacks a part of a row.
#include "device_lib/cast.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

ISOBIT_CONST u32 PACKED_BLOCK = 256;

// What the bits of an element mean. Must match ops/packed/mod.rs.
ISOBIT_CONST u32 PACKED_UNSIGNED = 0, PACKED_SIGNED = 1, PACKED_E2M1 = 2, PACKED_E8M0 = 3, PACKED_E4M3FNUZ = 4;

// The host's `Packed` in packed/mod.rs: a launch of several rows, or of a part of one row.
struct Packed {
    // Parts of the launch, fewer than 2^31, and of each of its rows.
    u32 parts;
    u32 bits;
    Divisor row_parts;
    u32 kind;
    u64 elements;
    // From one row of elements, and of bytes, to the next.
    u64 element_stride, byte_stride;
    // Nonzero: every part begins at a multiple of its size, in both tensors.
    u32 vectors;
    // Nonzero: what exceeds a float of eight bits gives its largest number, not NaN.
    u32 saturates;
};

// Must match ops/packed/mod.rs.
static_assert(sizeof(Packed) == 56);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Packed, row_parts) == 8 && ISOBIT_OFFSET(Packed, kind) == 20);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Packed, elements) == 24 && ISOBIT_OFFSET(Packed, vectors) == 48);

// The f32 that becomes the same element as `x`: every f32 is itself, and others keep whether
// something was cut.
ISOBIT_FN float packable(float x) { return x; }
ISOBIT_FN float packable(double x) { return narrow_detail::odd_f32(x); }
ISOBIT_FN float packable(i32 x) { return narrow_detail::odd_f32((i64)x); }
template <typename T>
ISOBIT_FN float packable(T x) {
    return cast<float>(x);
}

// The nearest of 0, 1/2, 1, 3/2, 2, 3, 4 and 6, of two equally near the one with an even code. A
// NaN gives 6. Without branches: neighbours would take all of them.
ISOBIT_FN u32 e2m1_code(float x) {
    const u32 bits = x != x ? to_bits(6.0f) : to_bits(x), magnitude = bits & 0x7fffffffu;
    const u32 within = magnitude < to_bits(6.0f) ? magnitude : to_bits(6.0f);
    // The unit at a value of exponent e, at least 0, is 2^(e-1), which is the f32 unit next to
    // 2^(e+22). So the addition rounds, and leaves the number of units in the low bits. Codes are
    // 2e more than that; two units more make up for the bias of twice the f32 exponent.
    const u32 exponent = within & 0x7f800000u, binade = exponent > to_bits(1.0f) ? exponent : to_bits(1.0f);
    const u32 units = to_bits(from_bits(within) + from_bits(binade + (22u << 23) + 2));
    return ((units + (binade >> 22)) & 7) | (bits >> 28 & 8);
}

// The exponent of the least power of two that is not below `x`, with a bias of 127.
ISOBIT_FN u32 e8m0_code(float x) {
    const u32 bits = to_bits(x), magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x7f800000u || (bits != magnitude && magnitude != 0))
        return 255;
    // 2^-127 is the highest bit of the subnormal numbers.
    if (magnitude <= 0x400000u)
        return 0;
    const u32 exponent = (magnitude + 0x7fffffu) >> 23;
    return exponent > 254 ? 254 : exponent;
}

// Floats of eight bits with one zero and one NaN: of a kind from PACKED_E4M3FNUZ on.
struct Fnuz {
    // Bits of the significand, and the f32 exponent of the least number that has all of them.
    u32 fraction, least;
};
ISOBIT_FN Fnuz fnuz_of(u32 kind) {
    return kind == PACKED_E4M3FNUZ ? Fnuz{3, 120} : Fnuz{2, 112};
}
ISOBIT_CONST u32 FNUZ_NAN = 0x80;

// The nearest one, of two equally near the one with an even code.
ISOBIT_FN u32 fnuz_code(float x, u32 kind, bool saturates) {
    const Fnuz f = fnuz_of(kind);
    const u32 bits = to_bits(x), magnitude = bits & 0x7fffffffu;
    // The power of two behind the largest number, whose code would be 128.
    const u32 beyond = (f.least - 1 + (128 >> f.fraction)) << 23;
    const u32 within = magnitude < beyond ? magnitude : beyond;
    // As for e2m1, the addition leaves the number of units in the low bits.
    const u32 exponent = within >> 23, binade = exponent > f.least ? exponent : f.least;
    const u32 units = to_bits(from_bits(within) + from_bits((binade + 23 - f.fraction) << 23)) & 0xff;
    const u32 code = units + ((binade - f.least) << f.fraction);
    if (magnitude > 0x7f800000u || (code > 127 && !saturates))
        return FNUZ_NAN;
    const u32 number = code < 127 ? code : 127;
    return number == 0 ? 0 : number | (bits >> 24 & 0x80);
}

ISOBIT_FN float fnuz_value(u32 code, u32 kind) {
    const Fnuz f = fnuz_of(kind);
    // An f32 of the same fields, subnormal where the code is, but for the bias.
    const float magnitude = from_bits((code & 0x7f) << (23 - f.fraction)) * from_bits((f.least + 126) << 23);
    return from_bits(code == FNUZ_NAN ? 0x7fc00000u : to_bits(magnitude) | (code & 0x80) << 24);
}

// The integer of BITS bits: a float truncates and saturates, and NaN gives 0. Others wrap.
template <u32 BITS, typename T>
ISOBIT_FN u32 integer_code(T x, bool is_signed) {
    i32 whole;
    if constexpr (is_float<T>) {
        const auto value = to_compute(x);
        using C = compute_t<T>;
        const C low = is_signed ? -(C)(1 << (BITS - 1)) : (C)0, high = low + (C)((1 << BITS) - 1);
        const C above = value < low ? low : value;
        const C within = above > high ? high : above;
        whole = value != value ? 0 : (i32)within;
    } else {
        whole = cast<i32>(x);
    }
    return (u32)whole & ((1u << BITS) - 1);
}

// What codes of BITS bits mean: floats of that size if `IS_FLOAT`, or integers.
template <u32 BITS, bool IS_FLOAT, typename T>
ISOBIT_FN u32 code_of(T x, const Packed &p) {
    if constexpr (!IS_FLOAT)
        return integer_code<BITS>(x, p.kind == PACKED_SIGNED);
    else if constexpr (BITS == 4)
        return e2m1_code(packable(x));
    else if (p.kind == PACKED_E8M0)
        return e8m0_code(packable(x));
    else
        return fnuz_code(packable(x), p.kind, p.saturates != 0);
}

template <u32 BITS, bool IS_FLOAT, typename T>
ISOBIT_FN T element_of(u32 code, u32 kind) {
    if constexpr (!IS_FLOAT) {
        const u32 sign = kind == PACKED_SIGNED ? code >> (BITS - 1) : 0;
        const i32 value = (i32)code - (i32)(sign << BITS);
        return cast<T>(value);
    } else if constexpr (BITS == 4) {
        const u32 magnitude = code & 7;
        // As f32 with the same significand; a code of 1 has no exponent, and is 1/2.
        const u32 value = magnitude > 1 ? (magnitude << 22) + (126u << 23) : magnitude * 0x3f000000u;
        return cast<T>(from_bits(value | (code & 8) << 28));
    } else if (kind != PACKED_E8M0) {
        return cast<T>(fnuz_value(code, kind));
    } else {
        return cast<T>(from_bits(code == 255 ? 0x7fc00000u : code == 0 ? 0x400000u : code << 23));
    }
}

// The elements that a thread takes, which fill whole bytes: 16 bytes of them, but at least four.
template <typename T>
ISOBIT_CONST u32 PART = sizeof(T) < 4 ? 16 / sizeof(T) : 4;

// Where a thread's part is.
struct PackedPlace {
    // Of its first element and byte.
    u64 element, byte;
    // The elements of the row from there on.
    u64 left;
    bool exists;
};
template <u32 BITS, typename T>
ISOBIT_FN PackedPlace packed_place(const Packed &p) {
    const u32 i = block_x() * PACKED_BLOCK + thread_x();
    const u32 row = divide(i, p.row_parts), part = i - row * p.row_parts.size;
    const u64 first = (u64)part * PART<T>;
    return PackedPlace{row * p.element_stride + first, row * p.byte_stride + first * BITS / 8, p.elements - first,
                       i < p.parts};
}

template <u32 BITS, bool IS_FLOAT, typename T>
ISOBIT_FN void pack_part(const Packed &p, const T *from, u8 *to) {
    constexpr u32 N = PART<T>, BYTES = N * BITS / 8, CODES = 8 / BITS;
    const PackedPlace at = packed_place<BITS, T>(p);
    if (!at.exists)
        return;
    from += at.element;
    to += at.byte;
    if (p.vectors != 0 && at.left >= N) {
        Pack<BYTES, u8> bytes;
        constexpr u32 EACH = sizeof(T) < 8 ? N : 2;
#pragma unroll
        for (u32 start = 0; start < N; start += EACH) {
            const Pack<EACH, T> x = load<EACH>(from + start);
#pragma unroll
            for (u32 e = 0; e < EACH; e++) {
                const u32 place = start + e, shift = place % CODES * BITS;
                const u32 code = code_of<BITS, IS_FLOAT>(x.v[e], p);
                bytes.v[place / CODES] = (u8)(shift == 0 ? code : bytes.v[place / CODES] | code << shift);
            }
        }
        store(to, bytes);
        return;
    }
#pragma unroll 1
    for (u32 b = 0; b < BYTES && b * CODES < at.left; b++) {
        u32 byte = 0;
#pragma unroll
        for (u32 e = 0; e < CODES; e++)
            if (b * CODES + e < at.left)
                byte |= code_of<BITS, IS_FLOAT>(from[b * CODES + e], p) << (e * BITS);
        to[b] = (u8)byte;
    }
}

template <u32 BITS, bool IS_FLOAT, typename T>
ISOBIT_FN void unpack_part(const Packed &p, const u8 *from, T *to) {
    constexpr u32 N = PART<T>, BYTES = N * BITS / 8, CODES = 8 / BITS;
    const PackedPlace at = packed_place<BITS, T>(p);
    if (!at.exists)
        return;
    from += at.byte;
    to += at.element;
    const auto element = [&](u32 byte, u32 e) {
        return element_of<BITS, IS_FLOAT, T>(byte >> (e % CODES * BITS) & ((1u << BITS) - 1), p.kind);
    };
    if (p.vectors != 0 && at.left >= N) {
        const Pack<BYTES, u8> bytes = load<BYTES>(from);
        constexpr u32 EACH = sizeof(T) < 8 ? N : 2;
#pragma unroll
        for (u32 start = 0; start < N; start += EACH) {
            Pack<EACH, T> x;
#pragma unroll
            for (u32 e = 0; e < EACH; e++)
                x.v[e] = element(bytes.v[(start + e) / CODES], start + e);
            store(to + start, x);
        }
        return;
    }
#pragma unroll 1
    for (u32 e = 0; e < N && e < at.left; e++)
        to[e] = element(from[e / CODES], e);
}

} // namespace isobit

#define ISOBIT_PACKED_KERNEL(NAME, FROM, TO, PART, T)                                                                  \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const Packed p, const FROM *from, TO *to) {                                                \
        if (p.bits == 2)                                                                                               \
            PART<2, false, T>(p, from, to);                                                                            \
        else if (p.bits == 8)                                                                                          \
            PART<8, true, T>(p, from, to);                                                                             \
        else if (p.kind == PACKED_E2M1)                                                                                \
            PART<4, true, T>(p, from, to);                                                                             \
        else                                                                                                           \
            PART<4, false, T>(p, from, to);                                                                            \
    }                                                                                                                  \
    }
#define ISOBIT_PACK(NAME, T) ISOBIT_PACKED_KERNEL(NAME, T, u8, pack_part, T)
#define ISOBIT_UNPACK(NAME, T) ISOBIT_PACKED_KERNEL(NAME, u8, T, unpack_part, T)
