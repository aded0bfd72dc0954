// Convolutions with few output channels per group, including depthwise ones. A thread computes R
// channels of P outputs. It walks channels and taps in order, without unfolding the input, for any
// strides. Kernels without PLANES are for one plane of input and kernel, as those of one and two
// dimensions have; walking planes takes a fourth more time (f32, 3 x 3 taps, H200).
#include "ops/conv/conv.cuh"

namespace isobit {

ISOBIT_CONST u32 CONV_THIN_BLOCK = 128;

// How a factor's offset changes with a tap; and with a row of taps, a plane of them and a channel,
// whose taps have changed it already.
struct ConvSteps {
    u64 tap, row, plane, channel;
};

ISOBIT_FN ConvSteps conv_steps(const ConvPhase &phase, u64 channel, u64 plane, u64 row, u64 tap) {
    return ConvSteps{tap, row - phase.w.taps * tap, plane - phase.h.taps * row, channel - phase.d.taps * plane};
}

// What the threads of a block have in common.
struct ThinBlock {
    ConvPhase phase;
    ConvSteps in_src, in_kernel;
    u32 first_output;
};

template <bool PLANES>
ISOBIT_FN ThinBlock describe(const Conv &p, const ConvBlock &block, u32 outputs) {
    const ConvPhase phase = conv_phase<PLANES>(p, block.phase);
    const ConvPlace one = conv_reach(phase, ConvTap{1, 1, 1});
    return {phase,
            conv_steps(phase, p.src_channel, (u64)(i64)one.d * p.src_space[0], (u64)(i64)one.h * p.src_space[1],
                       (u64)(i64)one.w * p.src_space[2]),
            conv_steps(phase, p.kernel_in, phase.d.tap_step * p.kernel_space[0], phase.h.tap_step * p.kernel_space[1],
                       phase.w.tap_step * p.kernel_space[2]),
            block.output_tile * outputs};
}

template <typename T, u32 R, u32 P, bool PLANES>
ISOBIT_FN void conv_thin(const T *src, const T *kernel, const T *bias, T *dst, compute_t<T> *partial, const Conv &p) {
    using C = compute_t<T>;
    const ConvBlock block = conv_block(p);
    // In shared memory where registers are scarce.
    constexpr bool SHARED = PLANES && !HAS_SCALAR_REGISTERS;
    __shared__ ThinBlock shared;
    ThinBlock own;
    if constexpr (SHARED) {
        if (thread_x() == 0)
            shared = describe<PLANES>(p, block, CONV_THIN_BLOCK * P);
        barrier();
    } else {
        own = describe<PLANES>(p, block, CONV_THIN_BLOCK * P);
    }
    const ThinBlock &common = SHARED ? shared : own;
    const ConvPhase &phase = common.phase;
    const ConvSteps &in_src = common.in_src, &in_kernel = common.in_kernel;
    const ConvPart part = conv_part(p, block, conv_k(p, phase));
    if (!part.any)
        return;
    const u32 output = common.first_output + thread_x(), channel = block.channel_tile * R;
    const u32 channels = p.channels_out - channel < R ? p.channels_out - channel : R;
    src += block.group * p.src_group;
    kernel += block.group * p.kernel_group + channel * p.kernel_out;

    u32 at_row[P], at_w[P];
    const T *at[P];
#pragma unroll
    for (u32 j = 0; j < P; j++) {
        const ConvOutput o = conv_output<PLANES>(p, phase, output + j * CONV_THIN_BLOCK);
        const ConvPlace first = conv_first(phase, o);
        at[j] = src + o.image * p.src_image + conv_src(p, first);
        at_row[j] = conv_row(p, first);
        at_w[j] = (u32)(o.inside ? first.w : CONV_OUTSIDE);
    }

    // The first channel and tap of the part. Both are 0 if there are no taps.
    u64 first_channel = 0;
    ConvTap tap = {0, 0, 0};
    if (part.start != 0) {
        const u64 taps = conv_taps(phase);
        first_channel = part.start / taps;
        tap = conv_tap(phase, part.start - first_channel * taps);
    }
    const ConvPlace reach = conv_reach(phase, tap);
    u32 step_row = conv_row(p, reach), step_w = (u32)reach.w;
    u64 from = first_channel * p.src_channel + conv_src(p, reach);
    u64 weight = first_channel * p.kernel_in + conv_weight(p, phase, tap);

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
        u32 left = length;
#pragma unroll 1
        while (left > 0) {
            // The taps that follow one another along w, of which a row outside has none.
            const u32 in_row = phase.w.taps - tap.w, run = in_row < left ? in_row : left;
            u32 w[P];
#pragma unroll
            for (u32 j = 0; j < P; j++)
                w[j] = conv_row_inside(p, at_row[j] + step_row) ? at_w[j] : (u32)CONV_OUTSIDE;
#pragma unroll 1
            for (u32 l = 0; l < run; l++) {
                C x[P];
#pragma unroll
                for (u32 j = 0; j < P; j++)
                    x[j] = w[j] + step_w < p.axis[2].size ? to_compute(at[j][from]) : (C)0;
#pragma unroll
                for (u32 i = 0; i < R; i++) {
                    if (i >= channels)
                        continue;
                    const C factor = to_compute(kernel[i * p.kernel_out + weight]);
#pragma unroll
                    for (u32 j = 0; j < P; j++)
                        segment[i][j] = fma(factor, x[j], segment[i][j]);
                }
                step_w += (u32)phase.w.per_tap;
                from += in_src.tap;
                weight += in_kernel.tap;
            }
            left -= run;
            tap.w += run;
            if (run < in_row)
                continue;
            tap.w = 0;
            step_w = 0;
            step_row += (u32)phase.h.per_tap;
            from += in_src.row;
            weight += in_kernel.row;
            if (++tap.h < phase.h.taps)
                continue;
            tap.h = 0;
            from += in_src.plane;
            weight += in_kernel.plane;
            if (++tap.d < phase.d.taps) {
                step_row = conv_row(p, ConvPlace{(i32)tap.d * phase.d.per_tap, 0, 0});
                continue;
            }
            tap.d = 0;
            step_row = 0;
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
    const bool apart = p.segments.size > 1;
    C added[R];
#pragma unroll
    for (u32 i = 0; i < R; i++)
        added[i] = conv_bias(p, apart || i >= channels ? nullptr : bias, block.group, channel + i);
    // Read once more, so that what follows from it takes no registers until then.
    u32 again = common.first_output + thread_x();
    if constexpr (SHARED)
        again = *(const volatile u32 *)&common.first_output + thread_x();
#pragma unroll
    for (u32 j = 0; j < P; j++) {
        const u32 row = again + j * CONV_THIN_BLOCK;
        const ConvOutput o = conv_output<PLANES>(p, phase, row);
        if (!o.inside)
            continue;
        T *to = dst + conv_dst(p, phase, o);
#pragma unroll
        for (u32 i = 0; i < R; i++) {
            if (i >= channels)
                continue;
            if (apart)
                *conv_partial(p, partial, block.unit, p.segments.size, block.segment, channel + i, row) = sum[i][j];
            else
                to[i * p.dst_channel] = from_compute<T>(sum[i][j] + added[i]);
        }
    }
}

// Adds the segments of each result, of which the previous launch computed `apart` separately. A
// block takes a strip of the outputs of one channel.
template <typename T>
ISOBIT_FN void conv_segments(const T *bias, T *dst, const compute_t<T> *partial, const Conv &p, u32 apart) {
    using C = compute_t<T>;
    const ConvBlock block = conv_block(p);
    const ConvPhase phase = conv_phase(p, block.phase);
    const u64 k = conv_k(p, phase);
    const u32 output = block.output_tile * CONV_THIN_BLOCK + thread_x(), channel = block.channel_tile;
    const ConvOutput o = conv_output(p, phase, output);
    if (!o.inside)
        return;
    // The first segment has a value even for a phase without taps.
    const u32 segments = k == 0 ? 1 : (u32)((k + PRODUCT_SEGMENT - 1) / PRODUCT_SEGMENT);
    C sum = nothing<C>();
#pragma unroll 4
    for (u32 s = 0; s < segments; s++)
        sum = sum + *conv_partial(p, partial, block.unit, apart, s, channel, output);
    sum = sum + conv_bias(p, bias, block.group, channel);
    dst[block.group * p.dst_group + channel * p.dst_channel + conv_dst(p, phase, o)] = from_compute<T>(sum);
}

} // namespace isobit

#define ISOBIT_CONV_THIN(NAME, T, R, P, BLOCKS, PLANES)                                                                \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(128, BLOCKS)                                                                                \
    NAME(const T *src, const T *kernel, const T *bias, T *dst, compute_t<T> *partial, const Conv p) {                  \
        conv_thin<T, R, P, PLANES>(src, kernel, bias, dst, partial, p);                                                \
    }                                                                                                                  \
    }
#define ISOBIT_CONV_SEGMENTS(NAME, T)                                                                                  \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128) NAME(const T *bias, T *dst, const compute_t<T> *partial, const Conv p, u32 apart) {             \
        conv_segments(bias, dst, partial, p, apart);                                                                   \
    }                                                                                                                  \
    }
