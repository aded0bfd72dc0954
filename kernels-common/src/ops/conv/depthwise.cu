// Convolutions with few output channels per group, including depthwise ones. A thread computes R
// channels of RUNS runs of RUN outputs, which are neighbours along w: what is not along w is
// computed once for a run, and what follows from the tap alone once for all. It walks channels and
// taps in order, without unfolding the input, for any strides. Kernels without PLANES are for one
// plane of input and kernel, as those of one and two dimensions have.
//
// Outputs that lay apart, each with divisions and reads of its own, took 151 us instead of 55 (f32,
// 32x128x56x56, 3 x 3 taps, H200).
#include "ops/conv/conv.cuh"

namespace isobit {

ISOBIT_CONST u32 CONV_THIN_BLOCK = 128;

// Taps along w that are read together if taps and outputs are neighbours in memory: each value that
// they meet is read once.
ISOBIT_CONST u32 CONV_THIN_TAPS = 3;

// How the positions and the values that a tap's neighbouring outputs meet differ, and the weights
// of neighbouring taps.
struct ThinSteps {
    u32 w;
    u64 src, weight;
};

// Adds the products of TAPS taps that are neighbours along w. `w` and `src` are the position and
// the value that the first output of each run meets through the first tap. If taps are several, an
// output meets a tap where the output before it meets the next tap.
template <u32 TAPS, u32 R, u32 RUNS, typename T>
ISOBIT_FN void add_taps(const Conv &p, const u32 (&w)[RUNS], const T *const (&src)[RUNS], const T *weight,
                        const ThinSteps &step, u32 channels, compute_t<T> (&sum)[R][RUNS][CONV_RUN]) {
    using C = compute_t<T>;
    C x[RUNS][CONV_RUN + TAPS - 1];
#pragma unroll
    for (u32 r = 0; r < RUNS; r++)
#pragma unroll
        for (u32 j = 0; j < CONV_RUN + TAPS - 1; j++)
            x[r][j] = w[r] + j * step.w < p.axis[2].size ? to_compute(src[r][j * step.src]) : (C)0;
#pragma unroll
    for (u32 t = 0; t < TAPS; t++)
#pragma unroll
        for (u32 i = 0; i < R; i++) {
            if (i > 0 && i >= channels)
                continue;
            const C factor = to_compute(weight[i * p.kernel_out + t * step.weight]);
#pragma unroll
            for (u32 r = 0; r < RUNS; r++)
#pragma unroll
                for (u32 j = 0; j < CONV_RUN; j++)
                    sum[i][r][j] = fma(factor, x[r][j + t], sum[i][r][j]);
        }
}

// Where a walk over the taps is in the input or the kernel: at which channel, plane of taps and row
// of taps.
template <typename T>
struct ThinWalk {
    const T *channel, *plane, *row;
};

template <typename T>
ISOBIT_FN ThinWalk<T> thin_walk(const T *first, u64 channel, const u64 (&step)[3], const ConvTap &tap) {
    ThinWalk<T> at;
    at.channel = first + channel;
    at.plane = at.channel + tap.d * step[0];
    at.row = at.plane + tap.h * step[1];
    return at;
}

// Goes on to the next row of taps.
template <bool PLANES, typename T>
ISOBIT_FN void next_row(ThinWalk<T> &at, u64 channel, const u64 (&step)[3], bool plane_ends, bool channel_ends) {
    at.row += step[1];
    if (!plane_ends)
        return;
    if constexpr (PLANES)
        at.plane += step[0];
    if (channel_ends)
        at.plane = at.channel += channel;
    at.row = at.plane;
}

template <typename T, u32 R, u32 RUNS, bool PLANES>
ISOBIT_FN void conv_thin(const T *src, const T *kernel, const T *bias, T *dst, compute_t<T> *partial, const Conv &p) {
    using C = compute_t<T>;
    const ConvBlock block = conv_block(p);
    const ConvPhase phase = conv_phase<PLANES>(p, block.phase);
    const ConvPart part = conv_part(p, block, conv_k(p, phase));
    if (!part.any)
        return;
    const u32 channel = block.channel_tile * R;
    const u32 channels = p.channels_out - channel < R ? p.channels_out - channel : R;
    src += block.group * p.src_group;
    kernel += block.group * p.kernel_group + channel * p.kernel_out + conv_weight(p, phase, {0, 0, 0});
    dst += block.group * p.dst_group + channel * p.dst_channel;

    // Of each run: its first output's number, place in the result, and place in the input.
    bool inside[RUNS];
    u32 number[RUNS], dst_w[RUNS], row[RUNS], first_w[RUNS];
    T *to[RUNS];
    ThinWalk<T> in[RUNS];
#pragma unroll
    for (u32 r = 0; r < RUNS; r++) {
        u32 at = (block.output_tile * RUNS + r) * CONV_THIN_BLOCK + thread_x();
        const u32 row_of_outputs = take(at, p.runs);
        at *= CONV_RUN;
        number[r] = row_of_outputs * p.axis[2].per_phase.size + at;
        const ConvOutput output = conv_output_of_row<PLANES>(p, phase, number[r], row_of_outputs, at);
        inside[r] = output.inside;
        dst_w[r] = conv_at(phase.w, output.w);
        to[r] = dst + conv_dst(p, phase, output);
        const ConvPlace place = conv_first(phase, output);
        const T *first = src + output.image * p.src_image + conv_src(p, place);
        in[r] = {first, first, first};
        row[r] = conv_row(p, place);
        first_w[r] = (u32)(output.inside ? place.w : CONV_OUTSIDE);
    }

    const ThinSteps step = {(u32)phase.w.per_output, (u64)(i64)phase.w.per_output * p.src_space[2], p.kernel_tap[2]};
    const bool are_neighbours =
        phase.w.per_output == 1 && phase.w.per_tap == 1 && p.src_space[2] == 1 && p.kernel_tap[2] == 1;
    ThinWalk<T> weight = {kernel, kernel, kernel};
    ConvTap tap = {0, 0, 0};
    u32 step_row = 0;
    if (part.start != 0) {
        // The first channel and tap of the part. A launch computes fewer than 2^23 segments apart.
        const u32 start = (u32)part.start, taps = (u32)conv_taps(phase), first_channel = start / taps;
        tap = conv_tap(phase, start - first_channel * taps);
        step_row = conv_row(p, conv_reach(phase, tap));
        weight = thin_walk(kernel, first_channel * p.kernel_in, p.kernel_tap, tap);
#pragma unroll
        for (u32 r = 0; r < RUNS; r++)
            in[r] = thin_walk(in[r].row, first_channel * p.src_channel, p.src_tap, tap);
    }

    C sum[R][RUNS][CONV_RUN];
#pragma unroll
    for (u32 i = 0; i < R; i++)
#pragma unroll
        for (u32 r = 0; r < RUNS; r++)
#pragma unroll
            for (u32 j = 0; j < CONV_RUN; j++)
                sum[i][r][j] = part.count == 0 ? (C)0 : nothing<C>();
#pragma unroll 1
    for (u64 done = 0; done < part.count; done += PRODUCT_SEGMENT) {
        const u32 length = part.count - done < PRODUCT_SEGMENT ? (u32)(part.count - done) : PRODUCT_SEGMENT;
        C segment[R][RUNS][CONV_RUN];
#pragma unroll
        for (u32 i = 0; i < R; i++)
#pragma unroll
            for (u32 r = 0; r < RUNS; r++)
#pragma unroll
                for (u32 j = 0; j < CONV_RUN; j++)
                    segment[i][r][j] = 0;
        u32 left = length;
#pragma unroll 1
        while (left > 0) {
            // The taps that follow one another along w, of which a row outside has none.
            const u32 in_row = phase.w.taps - tap.w, run = in_row < left ? in_row : left;
            u32 w[RUNS], rest = run, step_w = 0;
            const T *at[RUNS], *weights = weight.row;
            u64 from = 0;
            if (tap.w != 0) {
                step_w = tap.w * (u32)phase.w.per_tap;
                from = tap.w * p.src_tap[2];
                weights += tap.w * p.kernel_tap[2];
            }
#pragma unroll
            for (u32 r = 0; r < RUNS; r++) {
                w[r] = conv_row_inside(p, row[r] + step_row) ? first_w[r] + step_w : (u32)CONV_OUTSIDE;
                at[r] = in[r].row + from;
            }
            if (are_neighbours) {
#pragma unroll 1
                for (; rest >= CONV_THIN_TAPS; rest -= CONV_THIN_TAPS) {
                    add_taps<CONV_THIN_TAPS>(p, w, at, weights, {1, 1, 1}, channels, segment);
                    weights += CONV_THIN_TAPS;
#pragma unroll
                    for (u32 r = 0; r < RUNS; r++) {
                        w[r] += CONV_THIN_TAPS;
                        at[r] += CONV_THIN_TAPS;
                    }
                }
            }
#pragma unroll 1
            for (; rest > 0; rest--) {
                add_taps<1>(p, w, at, weights, step, channels, segment);
                weights += p.kernel_tap[2];
#pragma unroll
                for (u32 r = 0; r < RUNS; r++) {
                    w[r] += (u32)phase.w.per_tap;
                    at[r] += p.src_tap[2];
                }
            }
            left -= run;
            tap.w += run;
            if (run < in_row)
                continue;
            tap.w = 0;
            step_row += (u32)phase.h.per_tap;
            const bool plane_ends = ++tap.h == phase.h.taps;
            bool channel_ends = plane_ends;
            if (plane_ends) {
                tap.h = 0;
                channel_ends = !PLANES || ++tap.d == phase.d.taps;
                tap.d = channel_ends ? 0 : tap.d;
                step_row = conv_row(p, ConvPlace{(i32)tap.d * phase.d.per_tap, 0, 0});
            }
            next_row<PLANES>(weight, p.kernel_in, p.kernel_tap, plane_ends, channel_ends);
#pragma unroll
            for (u32 r = 0; r < RUNS; r++)
                next_row<PLANES>(in[r], p.src_channel, p.src_tap, plane_ends, channel_ends);
        }
#pragma unroll
        for (u32 i = 0; i < R; i++)
#pragma unroll
            for (u32 r = 0; r < RUNS; r++)
#pragma unroll
                for (u32 j = 0; j < CONV_RUN; j++)
                    sum[i][r][j] = sum[i][r][j] + segment[i][r][j];
    }

    const bool apart = p.segments.size > 1;
#pragma unroll
    for (u32 i = 0; i < R; i++) {
        if (i > 0 && i >= channels)
            continue;
        const C added = conv_bias(p, apart ? nullptr : bias, block.group, channel + i);
#pragma unroll
        for (u32 r = 0; r < RUNS; r++) {
            if (!inside[r])
                continue;
            T *of_channel = to[r] + i * p.dst_channel;
            constexpr u32 AT_ONCE = sizeof(T) > 4 ? 2 : 4;
            Pack<AT_ONCE, T> result[CONV_RUN / AT_ONCE];
#pragma unroll
            for (u32 j = 0; j < CONV_RUN; j++)
                result[j / AT_ONCE].v[j % AT_ONCE] = from_compute<T>(sum[i][r][j] + added);
            if (!apart && p.dst_vectors != 0) {
#pragma unroll
                for (u32 j = 0; j < CONV_RUN; j += AT_ONCE)
                    store(of_channel + j, result[j / AT_ONCE]);
                continue;
            }
#pragma unroll
            for (u32 j = 0; j < CONV_RUN; j++) {
                if (dst_w[r] + j * phase.w.output_step >= p.axis[2].outputs)
                    continue;
                if (apart)
                    *conv_partial(p, partial, block.unit, p.segments.size, block.segment, channel + i,
                                  number[r] + j) = sum[i][r][j];
                else
                    of_channel[j * phase.w.output_step * p.dst_space[2]] = result[j / AT_ONCE].v[j % AT_ONCE];
            }
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

#define ISOBIT_CONV_THIN(NAME, T, R, RUNS, BLOCKS, PLANES)                                                             \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(128, BLOCKS)                                                                                \
    NAME(const T *src, const T *kernel, const T *bias, T *dst, compute_t<T> *partial, const Conv p) {                  \
        conv_thin<T, R, RUNS, PLANES>(src, kernel, bias, dst, partial, p);                                             \
    }                                                                                                                  \
    }
#define ISOBIT_CONV_SEGMENTS(NAME, T)                                                                                  \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(128) NAME(const T *bias, T *dst, const compute_t<T> *partial, const Conv p, u32 apart) {             \
        conv_segments(bias, dst, partial, p, apart);                                                                   \
    }                                                                                                                  \
    }
