// What sampling at a grid and resizing have in common: weighted sums over the elements around a
// position, one dimension after the other.
#pragma once

#include "device_lib/cast.cuh"

namespace isobit {

// The elements around a position along one dimension: their offsets and weights, and whether they
// take part.
template <int TAPS, typename C>
struct Around {
    u64 at[TAPS];
    C weight[TAPS];
    bool takes_part[TAPS];
};

// Sets an element of a neighbourhood, whose number is meaningful if the image has it. Elements of
// weight 0 take no part.
template <int TAPS, typename C>
ISOBIT_FN void set(Around<TAPS, C> &around, int tap, u64 number, u64 step, bool is_inside, C weight) {
    around.takes_part[tap] = is_inside && (TAPS == 1 || weight != 0);
    around.at[tap] = around.takes_part[tap] ? number * step : 0;
    around.weight[tap] = weight;
}

// The polynomials of the kernel of Keys with a parameter, up to a distance of 1 and from there to
// 2.
template <typename C>
struct Keys {
    C near_cube, near_square, a, b, c, d;
};
template <typename C>
ISOBIT_FN Keys<C> keys_of(double a) {
    return Keys<C>{(C)(a + 2), (C)(-(a + 3)), (C)a, (C)(-5 * a), (C)(8 * a), (C)(-4 * a)};
}
template <typename C>
ISOBIT_FN C near(const Keys<C> &k, C x) {
    return fma(fma(k.near_cube, x, k.near_square) * x, x, (C)1);
}
template <typename C>
ISOBIT_FN C far(const Keys<C> &k, C x) {
    return fma(fma(fma(k.a, x, k.b), x, k.c), x, k.d);
}

// The weights of the four elements around a position, `rest` after the second.
template <typename C>
ISOBIT_FN void cubic_weights(const Keys<C> &k, C rest, C (&weights)[4]) {
    weights[0] = far(k, rest + 1);
    weights[1] = near(k, rest);
    weights[2] = near(k, 1 - rest);
    weights[3] = far(k, 2 - rest);
}

// The weighted sum over the taps of dimension D - 1, counted from the last, of the sums over those
// after it. A dimension with one tap has no weight.
template <int D, int TAPS, typename T, typename C>
ISOBIT_FN auto sampled(const T *image, const Around<TAPS, C> *dims, bool takes_part) {
    if constexpr (D == 0) {
        return takes_part ? to_compute(*image) : (compute_t<T>)0;
    } else {
        const Around<TAPS, C> &taps = dims[D - 1];
        auto sum = sampled<D - 1>(image + taps.at[0], dims, takes_part && taps.takes_part[0]);
        if constexpr (TAPS > 1) {
            sum = sum * taps.weight[0];
            const auto add = [&](int tap) {
                const C value = sampled<D - 1>(image + taps.at[tap], dims, takes_part && taps.takes_part[tap]);
                sum = fma(value, taps.weight[tap], sum);
            };
            // All 64 elements of a cubic sample in three dimensions at once take more registers
            // than there are.
            if constexpr (D == 3 && TAPS == 4) {
#pragma unroll 1
                for (int tap = 1; tap < TAPS; tap++)
                    add(tap);
            } else {
#pragma unroll
                for (int tap = 1; tap < TAPS; tap++)
                    add(tap);
            }
        }
        return sum;
    }
}

} // namespace isobit
