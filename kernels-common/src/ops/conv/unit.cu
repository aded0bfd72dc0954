// Convolutions of f64 on units with the bits of fma(), in the tiles of the matrix product: 64
// channels by 64 outputs per block, so that two neighbouring results of a thread are two outputs.
// The input is unfolded by the copies to shared memory, element by element, because taps shift
// pairs off their alignment.
#include "ops/conv/table.cuh"
#include "ops/matmul/unit.cuh"

namespace isobit {

// The products for which the table holds offsets: as many as the block has threads, for a table of
// a whole segment leaves room for one block less per multiprocessor.
ISOBIT_CONST u32 UNIT_TABLE_STEPS = UNIT_BLOCK / UNIT_TILE_K;
using UnitTable = ConvTable<UNIT_BLOCK>;

// A tile of weights has rows of neighbours along k, and one of the input has rows of outputs.
using UnitWeights = UnitRows<true>;
using UnitImage = UnitRows<false>;
// Must match ops/conv/launch.rs.
static_assert(UNIT_TILE == 64 && UNIT_BLOCK == 128 && UNIT_SHARED<UnitWeights, UnitImage> == 70656 / sizeof(double));

// The outputs whose input a thread copies: one for every 32 of the tile. A warp copies the rows of
// four neighbours along k.
struct UnitOutputs {
    static constexpr u32 LANES = 32, EACH = UNIT_TILE / LANES, ROWS = UNIT_TILE_K / (UNIT_BLOCK / LANES);
    ConvPosition of[EACH];

    ISOBIT_FN void place(UnitOutputs &outputs, const Conv &p, const ConvPhase &phase, u32 first) {
#pragma unroll
        for (u32 j = 0; j < EACH; j++)
            outputs.of[j] = conv_position(p, phase, first + thread_x() % LANES + j * LANES);
    }

    // Starts the copies of the tile whose offsets are in the table from `at` on.
    ISOBIT_FN void start(const UnitOutputs &outputs, double *tile, const double *src, const UnitTable &table,
                         const Conv &p, u32 at) {
#pragma unroll
        for (u32 i = 0; i < ROWS; i++) {
            const u32 k = thread_x() / LANES * ROWS + i;
            const ConvOffset tap = offset_at(table.offset, at + k);
            double *to = tile + UnitImage::place(thread_x() % LANES, k);
#pragma unroll
            for (u32 j = 0; j < EACH; j++) {
                const ConvPosition &output = outputs.of[j];
                copy_or_zero_start<8>(to + j * LANES, src + tap.src + output.at, conv_sees(p, output.row, output.w, tap));
            }
        }
    }
};

// Starts the copies of a tile of weights, whose offsets are in the table from `at` on. `first` is
// the tile's first weight if they are contiguous along k. Weights that do not exist are -0.
ISOBIT_FN void start_weights(double *tile, const double *kernel, const double *first, const UnitTable &table,
                             const Conv &p, u32 at, u32 channels_left, u64 k_left) {
    const bool whole = channels_left >= UNIT_TILE && k_left >= UNIT_TILE_K;
    if (whole && p.kernel_vectors != 0) {
        // Pairs along k.
        constexpr u32 IN_ROW = UNIT_TILE_K / 2, ROWS = UNIT_BLOCK / IN_ROW;
        const u32 channel = thread_x() / IN_ROW, k = thread_x() % IN_ROW * 2;
#pragma unroll
        for (u32 i = 0; i < UNIT_TILE; i += ROWS)
            copy16_start(tile + UnitWeights::place(channel + i, k), first + (channel + i) * p.kernel_out + k);
        return;
    }
    // Neighbouring threads are neighbours along k, or in eights along the channels, which leaves
    // half a warp in different banks.
    constexpr u32 ROWS = UNIT_BLOCK / UNIT_TILE_K, LANES = UnitOutputs::LANES;
    const bool along_k = p.along_k != 0;
    const u32 thread = thread_x();
    const u32 k = along_k ? thread % UNIT_TILE_K : thread / LANES * 4 + thread % 4;
    const u32 channel = along_k ? thread / UNIT_TILE_K : thread % LANES / 4;
    const double *from = kernel + table.kernel[at + k] + channel * p.kernel_out;
    double *to = tile + UnitWeights::place(channel, k);
    if (whole) {
#pragma unroll
        for (u32 i = 0; i < UNIT_TILE; i += ROWS)
            copy8_start(to + UnitWeights::place(i, 0), from + i * p.kernel_out);
        return;
    }
#pragma unroll 1
    for (u32 i = 0; i < UNIT_TILE; i += ROWS) {
        if (channel + i < channels_left && k < k_left)
            copy8_start(to + UnitWeights::place(i, 0), from + i * p.kernel_out);
        else
            to[UnitWeights::place(i, 0)] = nothing<double>();
    }
}

// Does nothing on targets without a unit.
template <bool HAS_UNIT>
ISOBIT_FN void conv_unit(const double *src, const double *kernel, const double *bias, double *dst, double *partial,
                         const Conv &p) {
    if constexpr (HAS_UNIT) {
        extern __shared__ vector_detail::words4 shared_words[];
        __shared__ UnitTable table;

        const ConvBlock block = conv_block(p);
        // In shared memory, because every thread would make the same.
        __shared__ ConvPhase phase;
        if (thread_x() == 0)
            phase = conv_phase(p, block.phase);
        barrier();
        const ConvPart part = conv_part(p, block, conv_k(p, phase));
        if (!part.any)
            return;
        const u32 output = block.output_tile * UNIT_TILE, channel = block.channel_tile * UNIT_TILE;
        src += block.group * p.src_group;
        kernel += block.group * p.kernel_group + channel * p.kernel_out;

        UnitOutputs outputs;
        UnitOutputs::place(outputs, p, phase, output);
        const auto start = [&](u32 step, double *weights, double *image) {
            const u64 at = (u64)step * UNIT_TILE_K;
            const u32 in_table = step % UNIT_TABLE_STEPS * UNIT_TILE_K;
            // The block's last copies by the table were started before its last barrier.
            if (in_table == 0) {
                fill_table(table, p, phase, part.start + at, part.start + part.count);
                barrier();
            }
            start_weights(weights, kernel, kernel + part.start + at, table, p, in_table, p.channels_out - channel,
                          part.count - at);
            UnitOutputs::start(outputs, image, src, table, p, in_table);
        };
        const UnitResults results = unit_results();
        // The number of steps along k fits 32 bits.
        const u32 steps = (u32)((part.count + UNIT_TILE_K - 1) / UNIT_TILE_K);
        double sum[UNITS_M][UNITS_N][4];
        unit_product<UnitWeights, UnitImage>(sum, (double *)shared_words, results, steps, start);

        dst += block.group * p.dst_group;
        const bool apart = p.segments.size > 1;
#pragma unroll
        for (u32 j = 0; j < UNITS_N; j++)
#pragma unroll
            for (u32 x = 0; x < 2; x++) {
                const u32 col = output + UnitResults::col(results, j, x);
                const ConvOutput o = conv_output(p, phase, col);
                if (!o.inside)
                    continue;
                double *to = dst + conv_dst(p, phase, o);
#pragma unroll
                for (u32 i = 0; i < UNITS_M; i++)
#pragma unroll
                    for (u32 l = x; l < 4; l += 2) {
                        const u32 c = channel + UnitResults::row(results, i, l);
                        if (c >= p.channels_out)
                            continue;
                        const double result = sum[i][j][l];
                        if (apart) {
                            *conv_partial(p, partial, block.unit, p.segments.size, block.segment, c, col) = result;
                            continue;
                        }
                        const double added = conv_bias(p, bias, block.group, c);
                        if (p.dst_vectors == 0)
                            to[c * p.dst_channel] = result + added;
                        else if (x == 0)
                            // Both outputs are in one row of the image.
                            store(to + c * p.dst_channel,
                                  Pack<2, double>{result + added, sum[i][j][(l + 1) % 4] + added});
                    }
            }
    }
}

} // namespace isobit

#define ISOBIT_CONV_UNIT(NAME)                                                                                         \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(128, 3)                                                                                     \
    NAME(const double *src, const double *kernel, const double *bias, double *dst, double *partial, const Conv p) {    \
        conv_unit<HAS_F64_UNIT>(src, kernel, bias, dst, partial, p);                                                   \
    }                                                                                                                  \
    }
