// sin, cos and tan of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"

namespace isobit::narrow {

// The fractional part of 2^e / (2 pi) for e from 9 to 120, in units of 2^-64 (rounded to nearest).
ISOBIT_TABLE u64 TURNS[112] = {
    0x7cc1b727220a94feull, 0xf9836e4e441529fcull, 0xf306dc9c882a53f8ull, 0xe60db9391054a7f1ull,
    0xcc1b727220a94fe1ull, 0x9836e4e441529fc2ull, 0x306dc9c882a53f85ull, 0x60db9391054a7f0aull,
    0xc1b727220a94fe14ull, 0x836e4e441529fc27ull, 0x06dc9c882a53f84full, 0x0db9391054a7f09dull,
    0x1b727220a94fe13bull, 0x36e4e441529fc275ull, 0x6dc9c882a53f84ebull, 0xdb9391054a7f09d6ull,
    0xb727220a94fe13acull, 0x6e4e441529fc2758ull, 0xdc9c882a53f84eb0ull, 0xb9391054a7f09d5full,
    0x727220a94fe13abfull, 0xe4e441529fc2757dull, 0xc9c882a53f84eafaull, 0x9391054a7f09d5f4ull,
    0x27220a94fe13abe9ull, 0x4e441529fc2757d2ull, 0x9c882a53f84eafa4ull, 0x391054a7f09d5f48ull,
    0x7220a94fe13abe90ull, 0xe441529fc2757d1full, 0xc882a53f84eafa3full, 0x91054a7f09d5f47dull,
    0x220a94fe13abe8fbull, 0x441529fc2757d1f5ull, 0x882a53f84eafa3eaull, 0x1054a7f09d5f47d5ull,
    0x20a94fe13abe8faaull, 0x41529fc2757d1f53ull, 0x82a53f84eafa3ea7ull, 0x054a7f09d5f47d4dull,
    0x0a94fe13abe8fa9aull, 0x1529fc2757d1f535ull, 0x2a53f84eafa3ea6aull, 0x54a7f09d5f47d4d3ull,
    0xa94fe13abe8fa9a7ull, 0x529fc2757d1f534eull, 0xa53f84eafa3ea69cull, 0x4a7f09d5f47d4d37ull,
    0x94fe13abe8fa9a6full, 0x29fc2757d1f534deull, 0x53f84eafa3ea69bcull, 0xa7f09d5f47d4d377ull,
    0x4fe13abe8fa9a6eeull, 0x9fc2757d1f534ddcull, 0x3f84eafa3ea69bb8ull, 0x7f09d5f47d4d3770ull,
    0xfe13abe8fa9a6ee0ull, 0xfc2757d1f534ddc1ull, 0xf84eafa3ea69bb82ull, 0xf09d5f47d4d37703ull,
    0xe13abe8fa9a6ee07ull, 0xc2757d1f534ddc0eull, 0x84eafa3ea69bb81bull, 0x09d5f47d4d377037ull,
    0x13abe8fa9a6ee06eull, 0x2757d1f534ddc0dbull, 0x4eafa3ea69bb81b7ull, 0x9d5f47d4d377036eull,
    0x3abe8fa9a6ee06dbull, 0x757d1f534ddc0db6ull, 0xeafa3ea69bb81b6cull, 0xd5f47d4d377036d9ull,
    0xabe8fa9a6ee06db1ull, 0x57d1f534ddc0db63ull, 0xafa3ea69bb81b6c5ull, 0x5f47d4d377036d8aull,
    0xbe8fa9a6ee06db15ull, 0x7d1f534ddc0db629ull, 0xfa3ea69bb81b6c53ull, 0xf47d4d377036d8a5ull,
    0xe8fa9a6ee06db14bull, 0xd1f534ddc0db6296ull, 0xa3ea69bb81b6c52bull, 0x47d4d377036d8a56ull,
    0x8fa9a6ee06db14adull, 0x1f534ddc0db6295aull, 0x3ea69bb81b6c52b3ull, 0x7d4d377036d8a566ull,
    0xfa9a6ee06db14acdull, 0xf534ddc0db629599ull, 0xea69bb81b6c52b32ull, 0xd4d377036d8a5665ull,
    0xa9a6ee06db14accaull, 0x534ddc0db6295994ull, 0xa69bb81b6c52b328ull, 0x4d377036d8a5664full,
    0x9a6ee06db14acc9eull, 0x34ddc0db6295993cull, 0x69bb81b6c52b3279ull, 0xd377036d8a5664f1ull,
    0xa6ee06db14acc9e2ull, 0x4ddc0db6295993c4ull, 0x9bb81b6c52b32788ull, 0x377036d8a5664f11ull,
    0x6ee06db14acc9e22ull, 0xddc0db6295993c44ull, 0xbb81b6c52b327887ull, 0x77036d8a5664f10eull,
    0xee06db14acc9e21dull, 0xdc0db6295993c439ull, 0xb81b6c52b3278872ull, 0x7036d8a5664f10e4ull,
};

// A bf16 of at least 2^16 is an 8-bit integer times a power of two. The product of that integer and
// the fraction of a turn that the power makes is the argument in turns, with at least 56 bits after
// the point; 64-bit wrapping drops the whole turns.
ISOBIT_FN u64 turns(float magnitude) {
    u32 bits = to_bits(magnitude);
    return (u64)((bits >> 16 & 0x7fu) | 0x80u) * TURNS[(bits >> 23) - 143u];
}

// A reduced argument r. The low bits of `count` hold the number of quarter or half turns removed,
// modulo the relevant power of two.
struct TrigSplit {
    float r;
    u32 count;
};

// x| - count * unit, where `unit` is pi or pi/2 as two constants.
ISOBIT_FN TrigSplit trig_split(float k, u32 count, float magnitude, float unit_high, float unit_low) {
    float r = fma(k, -unit_high, magnitude);
    return TrigSplit{fma(k, -unit_low, r), count};
}

template <typename T>
ISOBIT_FN float sin(float x) {
    float magnitude = abs(x);
    magnitude = moved<T>(magnitude, 0x1.accp-3f, 0x1.acc08p-3f);
    float t = fma(magnitude, 0x1.45f306p-2f, MAGIC);
    TrigSplit s = trig_split(t - MAGIC, to_bits(t), magnitude, 0x1.921fb6p+1f, -0x1.777a5cp-24f);
    if constexpr (is_wide<T>) {
        if (magnitude >= 0x1p16f && magnitude < infinity()) {
            u64 turn = turns(magnitude);
            // Rounds to the nearest half turn, which is 2^63.
            s.count = (u32)((turn + (1ull << 62)) >> 63);
            s.r = (float)(i64)(turn << 1) * 0x1.921fb6p-63f;
        }
    }
    float z = s.r * s.r;
    float p = horner(z, 0x1.5dc95ap-19f, -0x1.9f6fdap-13f, 0x1.110efap-7f, -0x1.555554p-3f);
    return xor_sign(fma(s.r * z, p, s.r), (s.count << 31) ^ sign_of(x));
}

// cos |x| = -(-1)^k sin(|x| - (k + 1/2) pi).
template <typename T>
ISOBIT_FN float cos(float x) {
    float magnitude = abs(x);
    float t = fma(magnitude, 0x1.45f306p-2f, -0.5f) + MAGIC;
    TrigSplit s = trig_split((t - MAGIC) + 0.5f, to_bits(t), magnitude, 0x1.921fb6p+1f, -0x1.777a5cp-24f);
    if constexpr (is_wide<T>) {
        if (magnitude >= 0x1p16f && magnitude < infinity()) {
            // Shifted by a quarter turn, cos is the sine.
            u64 turn = turns(magnitude) + (1ull << 62);
            s.count = (u32)((turn + (1ull << 62)) >> 63) ^ 1u;
            s.r = (float)(i64)(turn << 1) * 0x1.921fb6p-63f;
        }
    }
    float z = s.r * s.r;
    float p = horner(z, 0x1.5dc97ep-19f, -0x1.9f7162p-13f, 0x1.110efap-7f, -0x1.55554ap-3f, 0x1p+0f);
    return xor_sign(p * s.r, ~(s.count << 31) & 0x80000000u);
}

// A quotient for |r| <= pi/4, inverted in odd quarters.
template <typename T>
ISOBIT_FN float tan(float x) {
    float magnitude = abs(x);
    magnitude = moved<T>(magnitude, 0x1.25p-5f, 0x1.25008p-5f);
    float t = fma(magnitude, 0x1.45f306p-1f, MAGIC);
    TrigSplit s = trig_split(t - MAGIC, to_bits(t), magnitude, 0x1.921fb6p+0f, -0x1.777a5cp-25f);
    if constexpr (is_wide<T>) {
        if (magnitude >= 0x1p16f && magnitude < infinity()) {
            u64 turn = turns(magnitude);
            s.count = (u32)((turn + (1ull << 61)) >> 62);
            s.r = (float)(i64)(turn << 2) * 0x1.921fb6p-64f;
        }
    }
    float z = s.r * s.r;
    float n = fma(z, -0x1.886788p-4f, 0x1p+0f);
    n = n * s.r;
    float d = fma(z, 0x1.3e66dep-7f, -0x1.b76f54p-2f);
    d = fma(d, z, 1.0f);
    bool odd = (s.count & 1u) != 0;
    float value = (odd ? -d : n) * reciprocal(odd ? n : d);
    return xor_sign(value, sign_of(x));
}

} // namespace isobit::narrow
