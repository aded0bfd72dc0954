// Depthwise convolutions with 3, 5 or 7 taps along h and w, with stride and dilation 1, where input
// and kernel have one plane. A thread goes down eight neighbouring rows of four outputs: it reads
// each row of the input that they meet once, and adds its products to as many rows of results as
// there are taps. The weights stay in registers.
//
// Rows from the first to the last add each result's products in the order of its taps.
#include "ops/conv/conv.cuh"

namespace isobit {

ISOBIT_CONST u32 CONV_SLIDING_BLOCK = 128;

// Must match ops/conv/launch.rs.
ISOBIT_CONST u32 CONV_ROWS = 8;

template <typename T, u32 TAPS>
ISOBIT_FN void conv_sliding(const T *src, const T *kernel, const T *bias, T *dst, const Conv &p) {
    using C = compute_t<T>;
    // The values of a row that a run of outputs meets.
    constexpr u32 MET = CONV_RUN + TAPS - 1;
    const ConvBlock block = conv_block(p);
    const ConvPhase phase = conv_phase<false>(p, block.phase);

    u32 w = block.output_tile * CONV_SLIDING_BLOCK + thread_x();
    u32 h = take(w, p.runs);
    const u32 image = take(h, p.row_groups);
    w *= CONV_RUN, h *= CONV_ROWS;
    const u32 rows = p.axis[1].outputs, columns = p.axis[2].outputs;
    if ((image * rows + h) * columns + w >= p.outputs)
        return;
    const ConvOutput output = {image, 0, h, w, true};
    const ConvPlace place = conv_first(phase, output);
    const T *row = src + block.group * p.src_group + image * p.src_image + conv_src(p, place);
    T *to = dst + block.group * p.dst_group + conv_dst(p, phase, output);
    const C added = conv_bias(p, bias, block.group, 0);

    kernel += block.group * p.kernel_group;
    C weight[TAPS][TAPS];
#pragma unroll
    for (u32 a = 0; a < TAPS; a++)
#pragma unroll
        for (u32 b = 0; b < TAPS; b++)
            weight[a][b] = to_compute(kernel[a * p.kernel_tap[1] + b * p.kernel_tap[2]]);
    bool inside[MET];
#pragma unroll
    for (u32 j = 0; j < MET; j++)
        inside[j] = (u32)place.w + j < p.axis[2].size;

    // The rows of results that the next row of the input is part of: the last one is new.
    C sum[TAPS][CONV_RUN];
#pragma unroll
    for (u32 a = 0; a < TAPS; a++)
#pragma unroll
        for (u32 j = 0; j < CONV_RUN; j++)
            sum[a][j] = 0;
    const u32 left = rows - h < CONV_ROWS ? rows - h : CONV_ROWS;
#pragma unroll 1
    for (u32 y = 0; y < left + TAPS - 1; y++, row += p.src_space[1]) {
        C x[MET];
        const bool row_inside = (u32)place.h + y < p.axis[1].size;
#pragma unroll
        for (u32 j = 0; j < MET; j++)
            x[j] = row_inside && inside[j] ? to_compute(row[j]) : (C)0;
#pragma unroll
        for (u32 a = 0; a < TAPS; a++)
#pragma unroll
            for (u32 b = 0; b < TAPS; b++)
#pragma unroll
                for (u32 j = 0; j < CONV_RUN; j++)
                    sum[a][j] = fma(weight[TAPS - 1 - a][b], x[j + b], sum[a][j]);
        if (y >= TAPS - 1) {
            constexpr u32 AT_ONCE = sizeof(T) > 4 ? 2 : 4;
            Pack<AT_ONCE, T> result[CONV_RUN / AT_ONCE];
#pragma unroll
            for (u32 j = 0; j < CONV_RUN; j++)
                result[j / AT_ONCE].v[j % AT_ONCE] = from_compute<T>(sum[0][j] + added);
#pragma unroll
            for (u32 j = 0; j < CONV_RUN; j++) {
                if (p.dst_vectors != 0 && j % AT_ONCE == 0)
                    store(to + j, result[j / AT_ONCE]);
                if (p.dst_vectors == 0 && w + j < columns)
                    to[j * p.dst_space[2]] = result[j / AT_ONCE].v[j % AT_ONCE];
            }
            to += p.dst_space[1];
        }
#pragma unroll
        for (u32 a = 0; a < TAPS; a++)
#pragma unroll
            for (u32 j = 0; j < CONV_RUN; j++)
                sum[a][j] = a + 1 < TAPS ? sum[a + 1][j] : (C)0;
    }
}

} // namespace isobit

#define ISOBIT_CONV_SLIDING(NAME, T, TAPS, BLOCKS)                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(128, BLOCKS)                                                                                \
    NAME(const T *src, const T *kernel, const T *bias, T *dst, compute_t<T> *, const Conv p) {                         \
        conv_sliding<T, TAPS>(src, kernel, bias, dst, p);                                                              \
    }                                                                                                                  \
    }
