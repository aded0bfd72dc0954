// Converts random words to f32 and f64 numbers: uniform numbers from the leading bits, normal
// numbers by the Box-Muller transform with short polynomials. Recipes and constants:
// docs/numerics/random.md.
#pragma once

#include "device_lib/elementwise.cuh"
#include "device_lib/math/f64_log.cuh"
#include "device_lib/philox.cuh"

namespace isobit {

// What a block of words provides for numbers computed in C: how many numbers it gives, and the
// stream that only they use.
template <typename C>
struct RandomBlock;

template <>
struct RandomBlock<float> {
    static constexpr int NUMBERS = 4;
    static constexpr u32 STREAM = 0;
    PhiloxWords words;

    // Uniform in [0, 1).
    ISOBIT_METHOD float unit(int i) const { return (float)(words.word[i] >> 8) * 0x1p-24f; }

    // Standard normal numbers 2i and 2i + 1.
    ISOBIT_METHOD void normal_pair(int i, float *to) const {
        const u32 a = words.word[2 * i], b = words.word[2 * i + 1];
        // -2 log(a / 2^32) of the odd number a | 1, from the exponent for a significand between 2/3
        // and 4/3, and a polynomial.
        const u32 v = to_bits((float)(a | 1u));
        const u32 exponent = (v - 0x4f2aaaabu) & 0xff800000u;
        const float f = from_bits(v - exponent - 0x10000000u) - 1.0f;
        float p = fma(-0x1.1f41f4p-2f, f, 0x1.3b2484p-2f);
        p = fma(p, f, -0x1.1ea1bcp-2f);
        p = fma(p, f, 0x1.50332cp-2f);
        p = fma(p, f, -0x1.99d434p-2f);
        p = fma(p, f, 0x1.00148p-1f);
        p = fma(p, f, -0x1.5554fap-1f);
        p = fma(p, f, 0x1.ffffd6p-1f);
        p = fma(p, f, -2.0f);
        const float square = fma((float)(i32)exponent, -0x1.62e43p-23f, f * p);
        const float radius = from_bits(to_bits(sqrt(square)) ^ (b & 0x80000000u));
        // The angle within the quarter turn around one of the half-axes, from -1/2 to 1/2.
        const float t = from_bits((b & 0x007fffffu) | 0x3f800000u) - 1.5f, z = t * t;
        float s = fma(-0x1.2d9336p-8f, z, 0x1.465e92p-4f);
        s = fma(s, z, -0x1.4abbbap-1f);
        s = t * fma(s, z, 0x1.921fb6p0f);
        float c = fma(-0x1.4ea788p-6f, z, 0x1.03b154p-2f);
        c = fma(c, z, -0x1.3bd3ap0f);
        c = fma(c, z, 1.0f);
        const bool swap = (b & 0x40000000u) != 0;
        to[0] = (swap ? s : c) * radius;
        to[1] = (swap ? c : s) * radius;
    }
};

template <>
struct RandomBlock<double> {
    static constexpr int NUMBERS = 2;
    static constexpr u32 STREAM = 1;
    PhiloxWords words;

    ISOBIT_METHOD u64 wide(int i) const { return (u64)words.word[2 * i + 1] << 32 | words.word[2 * i]; }

    ISOBIT_METHOD double unit(int i) const { return (double)(wide(i) >> 11) * 0x1p-53; }

    ISOBIT_METHOD void normal_pair(int, double *to) const {
        const u64 a = wide(0), b = wide(1);
        const double u = (double)((a >> 11) + 1) * 0x1p-53;
        const double radius = from_bits(to_bits(sqrt(-2.0 * math::log(u))) ^ (b & 0x8000000000000000ull));
        const double t = from_bits((b & 0x000fffffffffffffull) | 0x3ff0000000000000ull) - 1.5, z = t * t;
        double s = fma(-0x1.6c58cda3ca75bp-31, z, 0x1.e8eec79e194a7p-25);
        s = fma(s, z, -0x1.e3074b42c49cap-19);
        s = fma(s, z, 0x1.50783485c2d54p-13);
        s = fma(s, z, -0x1.32d2cce62abbdp-8);
        s = fma(s, z, 0x1.466bc6775aad9p-4);
        s = fma(s, z, -0x1.4abbce625be53p-1);
        s = t * fma(s, z, 0x1.921fb54442d18p0);
        double c = fma(-0x1.b270226eea04cp-28, z, 0x1.f9cc6ba6babd9p-22);
        c = fma(c, z, -0x1.a6d1ecb87ca82p-16);
        c = fma(c, z, 0x1.e1f50683b5febp-11);
        c = fma(c, z, -0x1.55d3c7e3c95d2p-6);
        c = fma(c, z, 0x1.03c1f081b5abp-2);
        c = fma(c, z, -0x1.3bd3cc9be45dep0);
        c = fma(c, z, 1.0);
        const bool swap = (b & 0x4000000000000000ull) != 0;
        to[0] = (swap ? s : c) * radius;
        to[1] = (swap ? c : s) * radius;
    }
};

// Uniform numbers from `lo` to `up`, clamped to the smallest and the largest value that a result
// may have.
template <typename C>
struct Uniform {
    using Block = RandomBlock<C>;
    using Number = C;
    C lo, up, first, last;

    // For u in [0, 1). Uses two separate products, because the difference of the ends may overflow.
    ISOBIT_METHOD C at(C u) const {
        const C between = fma(u, up, fma(-u, lo, lo));
        const C from_first = between < first ? first : between;
        return from_first > last ? last : from_first;
    }

    ISOBIT_METHOD void numbers(const RandomBlock<C> &block, C *to) const {
#pragma unroll
        for (int i = 0; i < RandomBlock<C>::NUMBERS; i++)
            to[i] = at(block.unit(i));
    }
};

// Normal numbers with a mean and a standard deviation.
template <typename C>
struct Normal {
    using Block = RandomBlock<C>;
    using Number = C;
    C mean, deviation;

    ISOBIT_METHOD void numbers(const RandomBlock<C> &block, C *to) const {
#pragma unroll
        for (int i = 0; i < RandomBlock<C>::NUMBERS / 2; i++)
            block.normal_pair(i, to + 2 * i);
#pragma unroll
        for (int i = 0; i < RandomBlock<C>::NUMBERS; i++)
            to[i] = fma(to[i], deviation, mean);
    }
};

// The bits of a 1 for each word below a threshold of up to 2^32, else 0.
template <typename T>
struct Marks {
    using Block = RandomBlock<float>;
    using Number = T;
    u64 threshold, one;

    ISOBIT_METHOD void numbers(const Block &block, T *to) const {
#pragma unroll
        for (int i = 0; i < Block::NUMBERS; i++)
            to[i] = block.words.word[i] < threshold ? (T)one : (T)0;
    }
};

// The words themselves.
struct Words {
    using Block = RandomBlock<float>;
    using Number = u32;

    ISOBIT_METHOD void numbers(const Block &block, u32 *to) const {
#pragma unroll
        for (int i = 0; i < Block::NUMBERS; i++)
            to[i] = block.words.word[i];
    }
};

} // namespace isobit
