// Convolutions in the tiles of the matrix product: 128 outputs by 64 channels per block. The input
// is unfolded while it is fetched. A thread has four outputs; the table is refilled for every
// segment. The products are added by each thread or on matrix units.
#include "ops/conv/table.cuh"
#include "ops/matmul/wave_tile.cuh"

namespace isobit {

// The offsets for the k's of a segment.
using TileTable = ConvTable<PRODUCT_SEGMENT>;
static_assert(TILE_BLOCK == PRODUCT_SEGMENT, "a thread makes one entry");

// A thread's part of a tile of the unfolded input. Its four outputs are a quarter of the tile
// apart, so that neighbouring threads have neighbouring outputs; its parts are ROWS rows of k
// apart.
template <typename T, typename C>
struct ImagePart {
    static constexpr u32 APART = TILE_M / 4, ROWS = TILE_BLOCK / APART, PARTS = TILE_K<C> / ROWS;
    u32 row[4], w[4];
    i32 at[4];
    T value[PARTS][4];

    ISOBIT_FN void place(ImagePart &part, const Conv &p, const ConvPhase &phase, u32 first) {
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            const ConvPosition at = conv_position(p, phase, first + thread_x() % APART + j * APART);
            part.row[j] = at.row;
            part.w[j] = at.w;
            part.at[j] = at.at;
        }
    }

    ISOBIT_FN void fetch(ImagePart &part, const T *src, const TileTable &table, const Conv &p, u32 at) {
#pragma unroll
        for (u32 i = 0; i < PARTS; i++) {
            const u32 k = at + thread_x() / APART + i * ROWS;
            const ConvOffset tap = offset_at(table.offset, k);
            const T *from = src + tap.src;
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                part.value[i][j] = from_compute<T>((C)0);
                if (conv_sees(p, part.row[j], part.w[j], tap))
                    part.value[i][j] = from[part.at[j]];
            }
        }
    }

    ISOBIT_FN void keep(const ImagePart &part, C *tile) {
#pragma unroll
        for (u32 i = 0; i < PARTS; i++) {
            C *row = tile + (thread_x() / APART + i * ROWS) * (TILE_M + TILE_PAD) + thread_x() % APART;
#pragma unroll
            for (u32 j = 0; j < 4; j++)
                row[j * APART] = to_compute(part.value[i][j]);
        }
    }
};

// A thread's part of a tile of weights if four neighbours along k cannot be loaded at once.
// Neighbouring threads are neighbours along k or along the channels.
template <typename T, typename C>
struct KernelPart {
    static constexpr u32 K = TILE_K<C>, EACH = K * TILE_N / TILE_BLOCK;

    ISOBIT_FN u32 k(u32 i, bool along_k) {
        const u32 at = thread_x() + i * TILE_BLOCK;
        return along_k ? at % K : at / TILE_N;
    }
    ISOBIT_FN u32 channel(u32 i, bool along_k) {
        const u32 at = thread_x() + i * TILE_BLOCK;
        return along_k ? at / K : at % TILE_N;
    }

    ISOBIT_FN void fetch(T (&value)[4], const T *kernel, const TileTable &table, const Conv &p, u32 at,
                         u32 channels_left, u64 k_left) {
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            const u32 kk = k(i, p.along_k != 0), c = channel(i, p.along_k != 0);
            value[i] = from_compute<T>(nothing<C>());
            if (c < channels_left && kk < k_left)
                value[i] = kernel[c * p.kernel_out + table.kernel[at + kk]];
        }
    }

    ISOBIT_FN void keep(const T (&value)[4], const Conv &p, C *tile) {
#pragma unroll
        for (u32 i = 0; i < EACH; i++)
            tile[k(i, p.along_k != 0) * (TILE_N + TILE_PAD) + channel(i, p.along_k != 0)] = to_compute(value[i]);
    }
};

// The work of a block, and its first output and channel.
struct ConvTile {
    ConvBlock block;
    ConvPart part;
    u32 output, channel;
};

template <typename T>
ISOBIT_FN void store_tile(const compute_t<T> (&sum)[THREAD_M][THREAD_N], const TilePlace &place, const T *bias,
                          T *dst, compute_t<T> *partial, const Conv &p, const ConvPhase &phase, const ConvTile &tile) {
    using C = compute_t<T>;
    const bool apart = p.segments.size > 1;
    C added[THREAD_N];
#pragma unroll
    for (u32 j = 0; j < THREAD_N; j++) {
        const u32 c = tile.channel + TilePlace::col(place, j);
        added[j] = conv_bias(p, apart || c >= p.channels_out ? nullptr : bias, tile.block.group, c);
    }
#pragma unroll
    for (u32 i = 0; i < THREAD_M; i++) {
        const u32 row = tile.output + TilePlace::row(place, i);
        const ConvOutput o = conv_output(p, phase, row);
        if (!o.inside)
            continue;
        T *to = dst + conv_dst(p, phase, o);
#pragma unroll
        for (u32 j = 0; j < THREAD_N; j++) {
            const u32 c = tile.channel + TilePlace::col(place, j);
            if (c >= p.channels_out)
                continue;
            // An empty sum is +0.
            const C result = tile.part.count == 0 ? (C)0 : sum[i][j];
            if (apart)
                *conv_partial(p, partial, tile.block.unit, p.segments.size, tile.block.segment, c, row) = result;
            else if (p.dst_vectors == 0)
                to[c * p.dst_channel] = from_compute<T>(result + added[j]);
            else if (i % 4 == 0) {
                // Four outputs in one row of the image.
                constexpr int AT_ONCE = sizeof(T) > 4 ? 2 : 4;
#pragma unroll
                for (int l = 0; l < 4; l += AT_ONCE) {
                    Pack<AT_ONCE, T> out;
#pragma unroll
                    for (int n = 0; n < AT_ONCE; n++)
                        out.v[n] = from_compute<T>(
                            (tile.part.count == 0 ? (C)0 : sum[(i + l + n) % THREAD_M][j]) + added[j]);
                    store(to + c * p.dst_channel + l, out);
                }
            }
        }
    }
}

// Stores a lane's results: a unit's columns are in neighbouring lanes.
template <typename T>
ISOBIT_FN void store_wave(const WaveSums<compute_t<T>> (&sum)[WaveTile<compute_t<T>>::M][WaveTile<compute_t<T>>::N],
                          const WaveResults<compute_t<T>> &results, const T *bias, T *dst, compute_t<T> *partial,
                          const Conv &p, const ConvPhase &phase, const ConvTile &tile) {
    using C = compute_t<T>;
    using Tile = WaveTile<C>;
#pragma unroll
    for (u32 i = 0; i < Tile::M; i++)
#pragma unroll
        for (u32 e = 0; e < Tile::SUMS; e++) {
            const u32 row = tile.output + WaveResults<C>::row(results, i, e);
            const ConvOutput o = conv_output(p, phase, row);
            if (!o.inside)
                continue;
            T *to = dst + conv_dst(p, phase, o);
#pragma unroll
            for (u32 j = 0; j < Tile::N; j++) {
                const u32 c = tile.channel + WaveResults<C>::col(results, j);
                if (c >= p.channels_out)
                    continue;
                // An empty sum is +0.
                const C result = tile.part.count == 0 ? (C)0 : sum[i][j][e];
                if (p.segments.size > 1)
                    *conv_partial(p, partial, tile.block.unit, p.segments.size, tile.block.segment, c, row) = result;
                else
                    to[c * p.dst_channel] = from_compute<T>(result + conv_bias(p, bias, tile.block.group, c));
            }
        }
}

template <bool ON_UNITS, typename T>
ISOBIT_FN void conv_tile(const T *src, const T *kernel, const T *bias, T *dst, compute_t<T> *partial, const Conv &p) {
    using C = compute_t<T>;
    using Image = ImagePart<T, C>;
    using Weights = KernelPart<T, C>;
    __shared__ vector_detail::words4 shared_words[TILE_WORDS<C>];
    __shared__ TileTable table;

    const ConvBlock block = conv_block(p);
    // In shared memory, because registers are scarce while they hold the sums.
    __shared__ ConvPhase phase;
    if (thread_x() == 0)
        phase = conv_phase(p, block.phase);
    barrier();
    const ConvPart part = conv_part(p, block, conv_k(p, phase));
    if (!part.any)
        return;
    const u32 output = block.output_tile * TILE_M, channel = block.channel_tile * TILE_N;
    src += block.group * p.src_group;
    kernel += block.group * p.kernel_group + channel * p.kernel_out;

    Image image;
    Image::place(image, p, phase, output);
    TilePart<T, C, TILE_N> weights;
    const auto fetch = [&](u64 at) {
        const u32 in_segment = (u32)at % PRODUCT_SEGMENT;
        // The block's last fetch from the table came before its last barrier.
        if (in_segment == 0) {
            fill_table(table, p, phase, part.start + at, part.start + part.count);
            barrier();
        }
        Image::fetch(image, src, table, p, in_segment);
        const u32 channels_left = p.channels_out - channel;
        if (p.kernel_vectors != 0)
            fetch_tile(weights, kernel + part.start + at, p.kernel_out, 1, 1, true, channels_left, part.count - at,
                       from_compute<T>(nothing<C>()));
        else
            Weights::fetch(weights.value[0], kernel, table, p, in_segment, channels_left, part.count - at);
    };
    const auto keep = [&](C *image_tile, C *kernel_tile) {
        Image::keep(image, image_tile);
        if (p.kernel_vectors != 0)
            keep_tile(weights, kernel_tile, true);
        else
            Weights::keep(weights.value[0], p, kernel_tile);
    };
    const ConvTile tile = {block, part, output, channel};
    dst += block.group * p.dst_group;
    if constexpr (ON_UNITS) {
        const WaveResults<C> results = wave_results<C>();
        WaveSums<C> sum[WaveTile<C>::M][WaveTile<C>::N];
        wave_product(sum, (C *)shared_words, results, part.count, fetch, keep);
        store_wave(sum, results, bias, dst, partial, p, phase, tile);
    } else {
        const TilePlace place = tile_place();
        C sum[THREAD_M][THREAD_N];
        tile_product(sum, (C *)shared_words, place, part.count, fetch, keep);
        store_tile(sum, place, bias, dst, partial, p, phase, tile);
    }
}

// Does nothing on targets without a unit.
template <typename T>
ISOBIT_FN void conv_tile_unit(const T *src, const T *kernel, const T *bias, T *dst, compute_t<T> *partial,
                              const Conv &p) {
    if constexpr (HAS_WAVE_UNIT)
        conv_tile<true>(src, kernel, bias, dst, partial, p);
}

} // namespace isobit

#define ISOBIT_CONV_TILE(NAME, T, BLOCKS)                                                                              \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, BLOCKS)                                                                                \
    NAME(const T *src, const T *kernel, const T *bias, T *dst, compute_t<T> *partial, const Conv p) {                  \
        conv_tile<false>(src, kernel, bias, dst, partial, p);                                                          \
    }                                                                                                                  \
    }

#define ISOBIT_CONV_TILE_UNIT(NAME, T)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_WAVE_UNIT_KERNEL(256)                                                                                       \
    NAME(const T *src, const T *kernel, const T *bias, T *dst, compute_t<T> *partial, const Conv p) {                  \
        conv_tile_unit(src, kernel, bias, dst, partial, p);                                                            \
    }                                                                                                                  \
    }
