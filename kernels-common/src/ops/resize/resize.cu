// Resizing images: nearest neighbours, which move bits, and weighted sums over the elements around
// a position. A thread finds what is around one position, and computes several channels there.
#include "device_lib/elementwise.cuh"
#include "device_lib/index.cuh"
#include "ops/neighbourhood.cuh"

namespace isobit {

// Which element is the nearest; must match ops/resize/mod.rs.
ISOBIT_CONST u32 PREFER_FLOOR = 0, PREFER_CEIL = 1, ROUND_FLOOR = 2, ROUND_CEIL = 3;

// A dimension; the host's `Axis` in resize/mod.rs.
struct Axis {
    u64 from;
    u64 step;
    // Element i of the result is at (i + shift) * factor / divisor + offset.
    double shift, factor, divisor, offset;
    // What distances are multiplied by, how far the kernel reaches, and how many elements it takes.
    double filter, support;
    u64 count;
};

// The host's `Resize` in resize/mod.rs. Dimensions are counted from the last.
struct Resize {
    // A unit is a position for some channels: its offsets in image and result, and the numbers of
    // its elements in the result's dimensions.
    Index<5> units_at;
    Axis axes[3];
    double cubic_coeff;
    // Outside a region: a value for floats, and its bits for what is moved.
    double outside;
    u64 outside_bits;
    // The numbers of the first element of this launch.
    u64 first[3];
    u64 image_channel, result_channel;
    u32 units;
    u32 channels;
    u32 rounding;
    // Nonzero: elements outside the image have no weight; results are divided by the sum of the
    // weights; positions outside the image have a value of their own.
    u32 excludes_outside, is_normalized, is_cropped;
};

// Must match ops/resize/mod.rs.
static_assert(sizeof(Axis) == 72 && sizeof(Resize) == 728);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Resize, axes) == 424 && ISOBIT_OFFSET(Resize, units) == 704);

ISOBIT_FN double position_of(const Axis &a, u64 i) {
    constexpr double FAR = power_of_two<double>(62);
    const double position = ((double)i + a.shift) * a.factor / a.divisor + a.offset;
    const double above = position > -FAR ? position : -FAR;
    return above < FAR ? above : FAR;
}

ISOBIT_FN bool is_beyond(const Axis &a, double position) {
    return position < 0 || position > (double)(a.from - 1);
}

ISOBIT_FN bool has(const Axis &a, i64 element) { return element >= 0 && element < (i64)a.from; }

ISOBIT_FN u64 clamped(const Axis &a, i64 element) {
    return element < 0 ? 0 : has(a, element) ? (u64)element : a.from - 1;
}

ISOBIT_FN i64 nearest_to(double position, u32 rounding) {
    const double low = floor(position), rest = position - low;
    const bool is_next = rounding == PREFER_FLOOR  ? rest > 0.5
                         : rounding == PREFER_CEIL ? rest >= 0.5
                                                   : rounding == ROUND_CEIL && rest > 0;
    return (i64)low + (is_next ? 1 : 0);
}

// The elements around a position, and the sum of the weights of those that are inside.
template <int TAPS, typename C>
ISOBIT_FN Around<TAPS, C> around(double position, const Axis &a, const Resize &r, C &total) {
    const double low = floor(position);
    const C rest = (C)(position - low);
    C weights[TAPS];
    if constexpr (TAPS == 4) {
        cubic_weights(keys_of<C>(r.cubic_coeff), rest, weights);
    } else {
        weights[0] = 1 - rest;
        weights[1] = rest;
    }
    Around<TAPS, C> result;
    total = 0;
#pragma unroll
    for (int tap = 0; tap < TAPS; tap++) {
        const i64 element = (i64)low + tap - (TAPS == 4 ? 1 : 0);
        const bool is_inside = r.excludes_outside == 0 || has(a, element);
        set(result, tap, clamped(a, element), a.step, is_inside, weights[tap]);
        total = is_inside ? total + weights[tap] : total;
    }
    return result;
}

// Calls `body` for each channel of a thread's position with its image and result; `finds` is told
// the position of each dimension first, and whether it is beyond the image.
template <int D, typename T, typename Find, typename Sample>
ISOBIT_FN void for_channels(const T *image, T *result, const Resize &r, T outside, Find &&find, Sample &&sample) {
    const u32 unit = block_x() * ELEMENTWISE_BLOCK + thread_x();
    if (unit >= r.units)
        return;
    const Offsets<5> at = offsets_of(r.units_at, unit);
    image += at.at[0];
    result += at.at[1];
    bool beyond = false;
#pragma unroll
    for (int d = 0; d < D; d++) {
        const double position = position_of(r.axes[d], r.first[d] + at.at[2 + d]);
        beyond = beyond || is_beyond(r.axes[d], position);
        find(d, position);
    }
    beyond = beyond && r.is_cropped != 0;
#pragma unroll 1
    for (u32 c = 0; c < r.channels; c++, image += r.image_channel, result += r.result_channel)
        *result = beyond ? outside : sample(image);
}

template <typename T>
ISOBIT_FN void nearest(const T *image, T *result, const Resize &r) {
    u64 offset = 0;
    for_channels<3>(
        image, result, r, (T)r.outside_bits,
        [&](int d, double position) {
            offset += clamped(r.axes[d], nearest_to(position, r.rounding)) * r.axes[d].step;
        },
        [&](const T *from) { return from[offset]; });
}

template <int D, int TAPS, typename T>
ISOBIT_FN void interpolated(const T *image, T *result, const Resize &r) {
    using C = compute_t<T>;
    Around<TAPS, C> dims[D];
    C totals[D];
    for_channels<D>(
        image, result, r, from_compute<T>((C)r.outside),
        [&](int d, double position) { dims[d] = around<TAPS>(position, r.axes[d], r, totals[d]); },
        [&](const T *from) {
            C sum = sampled<D>(from, dims, true);
            if (r.is_normalized != 0) {
                C total = 1;
#pragma unroll
                for (int d = D; d-- > 0;)
                    total = total * totals[d];
                sum = sum / total;
            }
            return from_compute<T>(sum);
        });
}

// The weight of an element at a distance.
template <bool IS_CUBIC, typename C>
ISOBIT_FN C weight_at(C distance, const Keys<C> &keys) {
    if constexpr (IS_CUBIC)
        return distance <= 1 ? near(keys, distance) : distance < 2 ? far(keys, distance) : 0;
    else
        return distance < 1 ? 1 - distance : 0;
}

// The elements that a kernel reaches along one dimension.
struct Reach {
    double position;
    i64 first;
};

template <bool IS_CUBIC, typename C>
ISOBIT_FN C weight_of(const Axis &a, const Reach &reach, i64 element, const Keys<C> &keys) {
    return weight_at<IS_CUBIC>(abs((C)(((double)element - reach.position) * a.filter)), keys);
}

// As `sampled`, with as many taps as each dimension's kernel reaches.
template <int D, bool IS_CUBIC, typename T, typename C>
ISOBIT_FN C covered(const T *image, const Reach *reaches, const Resize &r, const Keys<C> &keys) {
    if constexpr (D == 0) {
        return to_compute(*image);
    } else {
        const Axis &a = r.axes[D - 1];
        const Reach &reach = reaches[D - 1];
        C sum = 0;
#pragma unroll 1
        for (u64 tap = 0; tap < a.count; tap++) {
            const i64 element = reach.first + (i64)tap;
            const C weight = weight_of<IS_CUBIC>(a, reach, element, keys);
            C value = 0;
            if (weight != 0 && (r.excludes_outside == 0 || has(a, element)))
                value = covered<D - 1, IS_CUBIC>(image + clamped(a, element) * a.step, reaches, r, keys);
            sum = tap == 0 ? value * weight : fma(value, weight, sum);
        }
        return sum;
    }
}

template <bool IS_CUBIC, typename T>
ISOBIT_FN void antialiased(const T *image, T *result, const Resize &r) {
    using C = compute_t<T>;
    const Keys<C> keys = keys_of<C>(r.cubic_coeff);
    Reach reaches[3];
    C total, totals[3];
    for_channels<3>(
        image, result, r, from_compute<T>((C)r.outside),
        [&](int d, double position) {
            const Axis &a = r.axes[d];
            reaches[d] = Reach{position, (i64)floor(position - a.support) + 1};
            C sum = 0;
#pragma unroll 1
            for (u64 tap = 0; tap < a.count; tap++) {
                const i64 element = reaches[d].first + (i64)tap;
                if (r.excludes_outside == 0 || has(a, element))
                    sum = sum + weight_of<IS_CUBIC>(a, reaches[d], element, keys);
            }
            totals[d] = sum;
            if (d == 2)
                total = totals[2] * totals[1] * totals[0];
        },
        [&](const T *from) { return from_compute<T>(covered<3, IS_CUBIC>(from, reaches, r, keys) / total); });
}

} // namespace isobit

#define ISOBIT_RESIZE(NAME, FUNCTION, T)                                                                               \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *image, isobit::T *result, const isobit::Resize resize) {                                     \
        isobit::FUNCTION(image, result, resize);                                                                       \
    }
#define ISOBIT_RESIZE_INTERPOLATED(NAME, D, TAPS, T)                                                                   \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *image, isobit::T *result, const isobit::Resize resize) {                                     \
        isobit::interpolated<D, TAPS>(image, result, resize);                                                          \
    }
#define ISOBIT_RESIZE_ANTIALIASED(NAME, IS_CUBIC, T)                                                                   \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *image, isobit::T *result, const isobit::Resize resize) {                                     \
        isobit::antialiased<IS_CUBIC>(image, result, resize);                                                          \
    }
