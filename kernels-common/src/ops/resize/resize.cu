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

// Where a thread's position is in image and result, and in the image's dimensions.
template <int D, typename T>
struct Place {
    const T *image;
    T *result;
    double position[D];
    bool exists;
    // Whether the result has a value of its own there.
    bool is_beyond;
};

template <int D, typename T>
ISOBIT_FN Place<D, T> place_of(const T *image, T *result, const Resize &r) {
    Place<D, T> place{};
    const u32 unit = block_x() * ELEMENTWISE_BLOCK + thread_x();
    place.exists = unit < r.units;
    if (!place.exists)
        return place;
    const Offsets<5> at = offsets_of(r.units_at, unit);
    place.image = image + at.at[0];
    place.result = result + at.at[1];
#pragma unroll
    for (int d = 0; d < D; d++) {
        place.position[d] = position_of(r.axes[d], r.first[d] + at.at[2 + d]);
        place.is_beyond = place.is_beyond || (r.is_cropped != 0 && is_beyond(r.axes[d], place.position[d]));
    }
    return place;
}

template <typename T>
ISOBIT_FN void nearest(const T *image, T *result, const Resize &r) {
    const Place<3, T> place = place_of<3>(image, result, r);
    if (!place.exists)
        return;
    const T *from = place.image;
#pragma unroll
    for (int d = 0; d < 3; d++)
        from += clamped(r.axes[d], nearest_to(place.position[d], r.rounding)) * r.axes[d].step;
    // Read here: else clang chooses between the addresses of two u64, and keeps `r` in memory.
    const T outside = (T)r.outside_bits;
    const auto copy = [&](u32 c) { return place.is_beyond ? outside : from[c * r.image_channel]; };
    u32 c = 0;
    // Four channels are on their way at once.
#pragma unroll 1
    for (; c + 4 <= r.channels; c += 4) {
        T values[4];
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            values[i] = copy(c + i);
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            place.result[(c + i) * r.result_channel] = values[i];
    }
#pragma unroll 1
    for (; c < r.channels; c++)
        place.result[c * r.result_channel] = copy(c);
}

template <int D, int TAPS, typename T>
ISOBIT_FN void interpolated(const T *image, T *result, const Resize &r) {
    using C = compute_t<T>;
    const Place<D, T> place = place_of<D>(image, result, r);
    if (!place.exists)
        return;
    Around<TAPS, C> dims[D];
    C total = 1;
#pragma unroll
    for (int d = D; d-- > 0;) {
        C of_dimension;
        dims[d] = around<TAPS>(place.position[d], r.axes[d], r, of_dimension);
        total = total * of_dimension;
    }
    const T outside = from_compute<T>((C)r.outside);
#pragma unroll 1
    for (u32 c = 0; c < r.channels; c++) {
        C sum = sampled<D>(place.image + c * r.image_channel, dims, !place.is_beyond);
        sum = r.is_normalized != 0 ? sum / total : sum;
        place.result[c * r.result_channel] = place.is_beyond ? outside : from_compute<T>(sum);
    }
}

// The weight of an element at a distance.
template <bool IS_CUBIC, typename C>
ISOBIT_FN C weight_at(C distance, const Keys<C> &keys) {
    if constexpr (IS_CUBIC)
        return distance <= 1 ? near(keys, distance) : distance < 2 ? far(keys, distance) : 0;
    else
        return distance < 1 ? 1 - distance : 0;
}

// The elements that a kernel reaches along one dimension, without those that are excluded.
struct Reach {
    double position;
    i64 first;
    u64 count;
};

ISOBIT_FN Reach reach_of(const Axis &a, const Resize &r, double position) {
    i64 first = (i64)floor(position - a.support) + 1, end = first + (i64)a.count;
    if (r.excludes_outside != 0) {
        first = first > 0 ? first : 0;
        end = end < (i64)a.from ? end : (i64)a.from;
    }
    return Reach{position, first, end > first ? (u64)(end - first) : 0};
}

template <bool IS_CUBIC, typename C>
ISOBIT_FN C weight_of(const Axis &a, const Reach &reach, u64 tap, const Keys<C> &keys) {
    return weight_at<IS_CUBIC>(abs((C)(((double)(reach.first + (i64)tap) - reach.position) * a.filter)), keys);
}

// The weights of the columns that a thread keeps, which it needs for every row and channel.
ISOBIT_CONST u32 KEPT = 16;

// The weighted sums over the elements of a plane that a kernel reaches, of channels that are
// computed at once. Elements of weight 0 take no part. An fma with -0 is a product: so each sum
// starts with its first element.
template <int CHANNELS, bool IS_CUBIC, typename T, typename C>
ISOBIT_FN void covered(const T *image, const Reach *reaches, const Resize &r, const Keys<C> &keys, const C *kept,
                       C (&plane)[CHANNELS]) {
    const Axis &rows = r.axes[1], &columns = r.axes[0];
    const bool keeps = reaches[0].count <= KEPT;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        plane[c] = (C)-0.0;
#pragma unroll 1
    for (u64 y = 0; y < reaches[1].count; y++) {
        const C of_row = weight_of<IS_CUBIC>(rows, reaches[1], y, keys);
        if (of_row == 0)
            continue;
        const T *row = image + clamped(rows, reaches[1].first + (i64)y) * rows.step;
        C line[CHANNELS];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            line[c] = (C)-0.0;
#pragma unroll 1
        for (u64 x = 0; x < reaches[0].count; x++) {
            const C weight = keeps ? kept[x * ELEMENTWISE_BLOCK] : weight_of<IS_CUBIC>(columns, reaches[0], x, keys);
            if (weight == 0)
                continue;
            const T *at = row + clamped(columns, reaches[0].first + (i64)x) * columns.step;
#pragma unroll
            for (int c = 0; c < CHANNELS; c++)
                line[c] = fma(to_compute(at[c * r.image_channel]), weight, line[c]);
        }
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            plane[c] = fma(line[c], of_row, plane[c]);
    }
}

// The same over the slices of an image of three dimensions.
template <int D, int CHANNELS, bool IS_CUBIC, typename T, typename C>
ISOBIT_FN void covered_slices(const T *image, const Reach *reaches, const Resize &r, const Keys<C> &keys, const C *kept,
                              C (&sums)[CHANNELS]) {
    if constexpr (D == 2) {
        covered<CHANNELS, IS_CUBIC>(image, reaches, r, keys, kept, sums);
    } else {
        const Axis &slices = r.axes[2];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            sums[c] = (C)-0.0;
#pragma unroll 1
        for (u64 z = 0; z < reaches[2].count; z++) {
            const C of_slice = weight_of<IS_CUBIC>(slices, reaches[2], z, keys);
            if (of_slice == 0)
                continue;
            const T *slice = image + clamped(slices, reaches[2].first + (i64)z) * slices.step;
            C plane[CHANNELS];
            covered<CHANNELS, IS_CUBIC>(slice, reaches, r, keys, kept, plane);
#pragma unroll
            for (int c = 0; c < CHANNELS; c++)
                sums[c] = fma(plane[c], of_slice, sums[c]);
        }
    }
}

// Some channels of a position, from channel `c` on.
template <int CHANNELS, int D, bool IS_CUBIC, typename T, typename C>
ISOBIT_FN void several(const Place<D, T> &place, u32 c, const Reach *reaches, const Resize &r, const Keys<C> &keys,
                       const C *kept, C total, T outside) {
    C sums[CHANNELS];
    if (!place.is_beyond)
        covered_slices<D, CHANNELS, IS_CUBIC>(place.image + c * r.image_channel, reaches, r, keys, kept, sums);
#pragma unroll
    for (int i = 0; i < CHANNELS; i++)
        place.result[(c + i) * r.result_channel] = place.is_beyond ? outside : from_compute<T>(sums[i] / total);
}

template <int D, bool IS_CUBIC, typename T>
ISOBIT_FN void antialiased(const T *image, T *result, const Resize &r, compute_t<T> *shared) {
    using C = compute_t<T>;
    const Place<D, T> place = place_of<D>(image, result, r);
    if (!place.exists)
        return;
    const Keys<C> keys = keys_of<C>(r.cubic_coeff);
    C *kept = shared + thread_x();
    Reach reaches[D];
    C total = 1;
#pragma unroll
    for (int d = D; d-- > 0;) {
        reaches[d] = reach_of(r.axes[d], r, place.position[d]);
        C sum = 0;
#pragma unroll 1
        for (u64 tap = 0; tap < reaches[d].count; tap++) {
            const C weight = weight_of<IS_CUBIC>(r.axes[d], reaches[d], tap, keys);
            sum = sum + weight;
            if (d == 0 && tap < KEPT)
                kept[tap * ELEMENTWISE_BLOCK] = weight;
        }
        total = total * sum;
    }
    const T outside = from_compute<T>((C)r.outside);
    // More of them spill registers.
    constexpr int SEVERAL = 16 / sizeof(C) / (D - 1);
    u32 c = 0;
#pragma unroll 1
    for (; c + SEVERAL <= r.channels; c += SEVERAL)
        several<SEVERAL, D, IS_CUBIC>(place, c, reaches, r, keys, kept, total, outside);
#pragma unroll 1
    for (; c < r.channels; c++)
        several<1, D, IS_CUBIC>(place, c, reaches, r, keys, kept, total, outside);
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
#define ISOBIT_RESIZE_ANTIALIASED(NAME, D, IS_CUBIC, T)                                                                \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *image, isobit::T *result, const isobit::Resize resize) {                                     \
        __shared__ isobit::compute_t<isobit::T> shared[isobit::KEPT * isobit::ELEMENTWISE_BLOCK];                      \
        isobit::antialiased<D, IS_CUBIC>(image, result, resize, shared);                                               \
    }
