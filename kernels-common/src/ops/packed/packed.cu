// Elements of eight bits or fewer, packed in bytes. A thread packs or unpacks one byte.
#include "device_lib/cast.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"

namespace isobit {

ISOBIT_CONST u32 PACKED_BLOCK = 256;

// What the bits of an element mean. Must match ops/packed/mod.rs.
ISOBIT_CONST u32 PACKED_UNSIGNED = 0, PACKED_SIGNED = 1, PACKED_E2M1 = 2, PACKED_E8M0 = 3;

// The host's `Packed` in packed/mod.rs: a launch of several rows, or of a part of one row.
struct Packed {
    // Bytes of the launch, fewer than 2^31, and of each of its rows.
    u32 bytes;
    u32 bits;
    Divisor row_bytes;
    u32 kind;
    u64 elements;
    // From one row of elements, and of bytes, to the next.
    u64 element_stride, byte_stride;
};

// Must match ops/packed/mod.rs.
static_assert(sizeof(Packed) == 48);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Packed, row_bytes) == 8 && ISOBIT_OFFSET(Packed, kind) == 20);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Packed, elements) == 24 && ISOBIT_OFFSET(Packed, byte_stride) == 40);

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
// NaN gives 6.
ISOBIT_FN u32 e2m1_code(float x) {
    if (x != x)
        return 7;
    const u32 bits = to_bits(x), magnitude = bits & 0x7fffffffu, sign = bits >> 28 & 8;
    // Up to 1, the unit is 1/2. Adding 2^22, whose unit is 1/2, rounds to it.
    if (magnitude < to_bits(1.0f))
        return sign | (to_bits(from_bits(magnitude) + 4194304.0f) & 7u);
    if (magnitude > to_bits(5.0f))
        return sign | 7;
    // Rounds the significand to one bit behind the point, ties to even, with the exponent below it.
    const u32 rounded = magnitude + 0x1fffffu + (magnitude >> 22 & 1);
    return sign | ((rounded >> 22) - (126u << 1));
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

template <typename T>
ISOBIT_FN u32 code_of(T x, u32 kind, u32 bits) {
    if (kind == PACKED_E2M1)
        return e2m1_code(packable(x));
    if (kind == PACKED_E8M0)
        return e8m0_code(packable(x));
    i32 whole = cast<i32>(x);
    if constexpr (is_float<T>) {
        const i32 low = kind == PACKED_SIGNED ? -(1 << (bits - 1)) : 0, high = low + (1 << bits) - 1;
        whole = whole < low ? low : whole > high ? high : whole;
    }
    return (u32)whole & ((1u << bits) - 1);
}

template <typename T>
ISOBIT_FN T element_of(u32 code, u32 kind, u32 bits) {
    if (kind == PACKED_E2M1) {
        const u32 magnitude = code & 7;
        // As f32 with the same significand; a code of 1 has no exponent, and is 1/2.
        const u32 value = magnitude > 1 ? (magnitude << 22) + (126u << 23) : magnitude * 0x3f000000u;
        return cast<T>(from_bits(value | (code & 8) << 28));
    }
    if (kind == PACKED_E8M0)
        return cast<T>(from_bits(code == 255 ? 0x7fc00000u : code == 0 ? 0x400000u : code << 23));
    const u32 sign = kind == PACKED_SIGNED ? code >> (bits - 1) : 0;
    const i32 value = (i32)code - (i32)(sign << bits);
    return cast<T>(value);
}

// Where a thread's byte is: its row and its place in the row.
struct PackedPlace {
    u32 row, byte;
    bool exists;
};
ISOBIT_FN PackedPlace packed_place(const Packed &p) {
    const u32 i = block_x() * PACKED_BLOCK + thread_x();
    const u32 row = divide(i, p.row_bytes);
    return PackedPlace{row, i - row * p.row_bytes.size, i < p.bytes};
}

template <typename T>
ISOBIT_FN void pack_byte(const Packed &p, const T *from, u8 *to) {
    const PackedPlace at = packed_place(p);
    if (!at.exists)
        return;
    const u32 each = 8 / p.bits;
    const u64 first = (u64)at.byte * each;
    from += at.row * p.element_stride + first;
    u32 byte = 0;
#pragma unroll
    for (u32 e = 0; e < 4; e++)
        if (e < each && first + e < p.elements)
            byte |= code_of(from[e], p.kind, p.bits) << (e * p.bits);
    to[at.row * p.byte_stride + at.byte] = (u8)byte;
}

template <typename T>
ISOBIT_FN void unpack_byte(const Packed &p, const u8 *from, T *to) {
    const PackedPlace at = packed_place(p);
    if (!at.exists)
        return;
    const u32 each = 8 / p.bits, byte = from[at.row * p.byte_stride + at.byte];
    const u64 first = (u64)at.byte * each;
    to += at.row * p.element_stride + first;
#pragma unroll
    for (u32 e = 0; e < 4; e++)
        if (e < each && first + e < p.elements)
            to[e] = element_of<T>(byte >> (e * p.bits) & ((1u << p.bits) - 1), p.kind, p.bits);
}

} // namespace isobit

#define ISOBIT_PACK(NAME, T)                                                                                           \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const Packed p, const T *from, u8 *to) { pack_byte(p, from, to); }                         \
    }
#define ISOBIT_UNPACK(NAME, T)                                                                                         \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const Packed p, const u8 *from, T *to) { unpack_byte(p, from, to); }                       \
    }
