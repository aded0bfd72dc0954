// Convolutions with few output channels per group, including depthwise ones. A thread computes R
// channels of P outputs. It walks channels and taps in order, without unfolding the input, for any
// strides.
#include "ops/conv/conv.cuh"

namespace isobit {

ISOBIT_CONST u32 CONV_THIN_BLOCK = 128;

// How a factor's offset changes from one tap, one row of taps and one channel to the next.
struct ConvSteps {
    u64 tap, row, channel;
};

ISOBIT_FN ConvSteps conv_steps(u64 channel, u64 tap_h, u64 tap_w, u32 taps_h, u32 taps_w) {
    return ConvSteps{tap_w, tap_h - (taps_w - 1) * tap_w, channel - (taps_h - 1) * tap_h - (taps_w - 1) * tap_w};
}

template <typename T, u32 R, u32 P>
ISOBIT_FN void conv_thin(const T *src, const T *kernel, T *dst, compute_t<T> *partial, const Conv &p) {
    using C = compute_t<T>;
    const ConvBlock block = conv_block(p);
    const ConvLine h = conv_line(p.axis[0], p.transposed != 0, block.phase[0]);
    const ConvLine w = conv_line(p.axis[1], p.transposed != 0, block.phase[1]);
    const ConvPart part = conv_part(p, block, conv_k(p, h, w));
    if (!part.any)
        return;
    const u32 output = block.output_tile * (CONV_THIN_BLOCK * P) + thread_x(), channel = block.channel_tile * R;
    const u32 channels = p.channels_out - channel < R ? p.channels_out - channel : R;
    src += block.group * p.src_group;
    kernel += block.group * p.kernel_group + channel * p.kernel_out;

    i32 at_h[P], at_w[P];
    u64 at[P];
#pragma unroll
    for (u32 j = 0; j < P; j++) {
        const ConvOutput o = conv_output(p, h, w, output + j * CONV_THIN_BLOCK);
        at_h[j] = h.position + (i32)(o.h * (u32)h.per_output);
        at_w[j] = w.position + (i32)(o.w * (u32)w.per_output);
        at[j] = o.image * p.src_image + (u64)(i64)at_h[j] * p.src_space[0] + (u64)(i64)at_w[j] * p.src_space[1];
        at_w[j] = o.inside ? at_w[j] : CONV_OUTSIDE;
    }

    // The first channel and tap of the part. Both are 0 if there are no taps.
    const u64 taps = (u64)h.taps * w.taps;
    const u64 first_channel = part.start == 0 ? 0 : part.start / taps;
    const u64 in_channel = part.start - first_channel * taps;
    u32 tap_h = part.start == 0 ? 0 : (u32)(in_channel / w.taps), tap_w = (u32)(in_channel - (u64)tap_h * w.taps);
    i32 step_h = (i32)tap_h * h.per_tap, step_w = (i32)tap_w * w.per_tap;
    const ConvSteps in_src = conv_steps(p.src_channel, (u64)(i64)h.per_tap * p.src_space[0],
                                        (u64)(i64)w.per_tap * p.src_space[1], h.taps, w.taps);
    const ConvSteps in_kernel = conv_steps(p.kernel_in, h.tap_step * p.kernel_space[0], w.tap_step * p.kernel_space[1],
                                           h.taps, w.taps);
    u64 from = first_channel * p.src_channel + (u64)(i64)step_h * p.src_space[0] + (u64)(i64)step_w * p.src_space[1];
    u64 weight = first_channel * p.kernel_in + (u64)(h.tap + tap_h * h.tap_step) * p.kernel_space[0] +
                 (u64)(w.tap + tap_w * w.tap_step) * p.kernel_space[1];

    C sum[R][P];
#pragma unroll
    for (u32 i = 0; i < R; i++)
#pragma unroll
        for (u32 j = 0; j < P; j++)
            sum[i][j] = part.count == 0 ? (C)0 : nothing<C>();
#pragma unroll 1
    for (u64 done = 0; done < part.count; done += PRODUCT_SEGMENT) {
        const u32 length = part.count - done < PRODUCT_SEGMENT ? (u32)(part.count - done) : PRODUCT_SEGMENT;
        C segment[R][P];
#pragma unroll
        for (u32 i = 0; i < R; i++)
#pragma unroll
            for (u32 j = 0; j < P; j++)
                segment[i][j] = 0;
#pragma unroll 1
        for (u32 l = 0; l < length; l++) {
            C x[P];
#pragma unroll
            for (u32 j = 0; j < P; j++) {
                const bool inside = (u32)at_h[j] + (u32)step_h < p.axis[0].size &&
                                    (u32)at_w[j] + (u32)step_w < p.axis[1].size;
                x[j] = 0;
                if (inside)
                    x[j] = to_compute(src[at[j] + from]);
            }
#pragma unroll
            for (u32 i = 0; i < R; i++) {
                if (i >= channels)
                    continue;
                const C factor = to_compute(kernel[i * p.kernel_out + weight]);
#pragma unroll
                for (u32 j = 0; j < P; j++)
                    segment[i][j] = fma(factor, x[j], segment[i][j]);
            }
            step_w += w.per_tap;
            if (++tap_w < w.taps) {
                from += in_src.tap;
                weight += in_kernel.tap;
                continue;
            }
            tap_w = 0;
            step_w = 0;
            step_h += h.per_tap;
            if (++tap_h < h.taps) {
                from += in_src.row;
                weight += in_kernel.row;
                continue;
            }
            tap_h = 0;
            step_h = 0;
            from += in_src.channel;
            weight += in_kernel.channel;
        }
#pragma unroll
        for (u32 i = 0; i < R; i++)
#pragma unroll
            for (u32 j = 0; j < P; j++)
                sum[i][j] = sum[i][j] + segment[i][j];
    }

    dst += block.group * p.dst_group + channel * p.dst_channel;
#pragma unroll
    for (u32 j = 0; j < P; j++) {
        const u32 row = output + j * CONV_THIN_BLOCK;
        const ConvOutput o = conv_output(p, h, w, row);
        if (!o.inside)
            continue;
        T *to = dst + conv_dst(p, h, w, o);
#pragma unroll
        for (u32 i = 0; i < R; i++) {
            if (i >= channels)
                continue;
            if (p.segments.size > 1)
                *conv_partial(p, partial, block.unit, p.segments.size, block.segment, channel + i, row) = sum[i][j];
            else
                to[i * p.dst_channel] = from_compute<T>(sum[i][j]);
        }
    }
}

// Adds the segments of each result, of which the previous launch computed `apart` separately. A
// block takes a strip of the outputs of one channel.
template <typename T>
ISOBIT_FN void conv_segments(T *dst, const compute_t<T> *partial, const Conv &p, u32 apart) {
    using C = compute_t<T>;
    const ConvBlock block = conv_block(p);
    const ConvLine h = conv_line(p.axis[0], p.transposed != 0, block.phase[0]);
    const ConvLine w = conv_line(p.axis[1], p.transposed != 0, block.phase[1]);
    const u64 k = conv_k(p, h, w);
    const u32 output = block.output_tile * CONV_THIN_BLOCK + thread_x(), channel = block.channel_tile;
    const ConvOutput o = conv_output(p, h, w, output);
    if (!o.inside)
        return;
    // The first segment has a value even for a phase without taps.
    const u32 segments = k == 0 ? 1 : (u32)((k + PRODUCT_SEGMENT - 1) / PRODUCT_SEGMENT);
    C sum = nothing<C>();
#pragma unroll 4
    for (u32 s = 0; s < segments; s++)
        sum = sum + *conv_partial(p, partial, block.unit, apart, s, channel, output);
    dst[block.group * p.dst_group + channel * p.dst_channel + conv_dst(p, h, w, o)] = from_compute<T>(sum);
}

} // namespace isobit

#define ISOBIT_CONV_THIN(NAME, T, R, P, BLOCKS)                                                                        \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(128, BLOCKS)                                                                                \
    NAME(const T *src, const T *kernel, T *dst, compute_t<T> *partial, const Conv p) {                                 \
        conv_thin<T, R, P>(src, kernel, dst, partial, p);                                                              \
    }                                                                                                                  \
    }
#define ISOBIT_CONV_SEGMENTS(NAME, T)                                                                                  \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128) NAME(T *dst, const compute_t<T> *partial, const Conv p, u32 apart) {                            \
        conv_segments(dst, partial, p, apart);                                                                         \
    }                                                                                                                  \
    }
