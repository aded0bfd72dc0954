// Block products of convolutions on Hopper's warpgroups, whose columns are never in memory: each
// thread of the warpgroup that brings segments has a column of the tile, and copies what it sees of
// the packed pixels. Writing the columns first took as long as multiplying them.
#include "device_lib/async_copy.cuh"
#include "ops/conv/unfold.cuh"
#include "ops/matmul/block/warpgroup.cuh"

namespace isobit {

#if defined(ISOBIT_WARPGROUP)

// The last warp that brings segments brings the weights. A barrier of all of them.
ISOBIT_CONST u32 BRING_WARPS = GROUP_THREADS / TILE_TEAM, BARRIER_BRING = 4;

// Tiles whose columns' places are kept: one is in the results, and as many are ahead as segments.
ISOBIT_CONST u32 PLACE_SLOTS = SEGMENTS_AHEAD + 1;
// The place of a column that does not exist.
ISOBIT_CONST u64 NOWHERE = ~0ull;

// What the warps that bring segments have seen of a tile, of two tiles in turns; and where the
// results of its columns go.
struct BringShared {
    u32 seen[2][BRING_WARPS];
    alignas(16) u64 places[PLACE_SLOTS][WarpgroupShape<2>::TILE_N];
};

// Starts the copies of a column's segment: the digits of its pixel, and its scale or its step.
template <typename S>
ISOBIT_FN void start_column(u8 *to, u8 *scale_to, const PackedMatrix &pixels, const SegmentPixel &pixel, u32 level,
                            bool far, bool exists) {
    const u8 *from = parts_of<S::PLANES>(pixels, level) + pixel.part * PART_BYTES<S::PLANES> + pixel.line * CHUNK_K;
#pragma unroll
    for (u32 at = 0; at < PART_BYTES<S::PLANES>; at += CHUNK_BYTES)
        copy_or_zero_start<16>(to + at, from + at, exists);
    const u64 line = pixel.part * CHUNK_LINES + pixel.line;
    const void *scale = far ? (const void *)(steps_of<S::PLANES>(pixels, level) + line)
                            : (const void *)(scales_of<S::PLANES>(pixels, level) + line);
    copy_or_zero_start<4>(scale_to, scale, exists);
}

// Brings all segments of all tiles of the block, by a warpgroup.
template <typename S>
ISOBIT_FN void gather_segments(u8 *shared, WarpgroupShared &control, BringShared &bring, u8 *a_packed, u8 *pixels,
                               const BlockProduct &p, const ConvUnfolded &conv) {
    constexpr u32 A_WARP = BRING_WARPS - 1;
    static_assert(S::TILE_N <= A_WARP * TILE_TEAM, "a thread for each column");
    const u32 thread = thread_x() - PRODUCT_THREADS, warp = thread / TILE_TEAM, lane = thread % TILE_TEAM;
    const ConvPhase phase = conv_phase(conv.conv, conv.phase);
    const bool has_column = thread < S::TILE_N;
    u32 step = 0;
    // Columns arrive a segment later, when the copies of the next one are under way.
    const auto arrive = [&](u32 stage) {
        written_for_products();
        signal_arrive(control.filled + stage);
    };
#pragma unroll 1
    for (u32 number = block_x(), turn = 0; number < p.tiles; number += grid_dim_x(), turn++) {
        const BlockTile tile = block_tile(p, number);
        const TileSide a = left_side(p, tile, a_packed, S::GROUPS_M);
        const u32 a_left = a.matrix.groups - a.first_group, a_groups = a_left < S::GROUPS_M ? a_left : S::GROUPS_M;
        const u32 group = (u32)tile.at.at[4];
        const u32 column = tile.n * S::TILE_N + thread;
        const ConvStart start = conv_start(conv, phase, column, has_column);
        const SeenPixels seen = SeenPixels::of(pixels, conv, group, start);
        const u64 place = start.output.inside ? result_place(conv, phase, group, column, start.output) : NOWHERE;

        // The flags of the whole tile.
        u32 own = 0;
        TapSegment tap = TapSegment::of(conv, phase, 0);
#pragma unroll 4
        for (u32 segment = 0; segment < p.segments; segment++, step_segment(tap, conv, phase)) {
            const SegmentPixel pixel = segment_pixel(conv, phase, seen, tap);
            if (warp == A_WARP)
                own |= lane < a_groups ? flags_of<S::PLANES>(a.matrix)[part_of(a.matrix, a.first_group + lane, segment)] : 0;
            else if (pixel.sees)
                own |= flags_of<S::PLANES>(seen.matrix)[pixel.part];
        }
        own = any_of_warp(own);
        if (lane == 0)
            bring.seen[turn % 2][warp] = own;
        part_barrier<GROUP_THREADS>(BARRIER_BRING);
        u32 seen_b = 0;
#pragma unroll
        for (u32 i = 0; i < A_WARP; i++)
            seen_b |= bring.seen[turn % 2][i];
        const u32 seen_a = bring.seen[turn % 2][A_WARP];
        const u32 last_pass = (seen_b & PART_WIDE) != 0 ? 2 : (seen_a & PART_WIDE) != 0 ? 1 : 0;
#pragma unroll 1
        for (u32 pass = 0; pass <= last_pass; pass++) {
            if (pass == 1 && (seen_a & PART_WIDE) == 0)
                continue;
            const bool far = pass != 0 || ((seen_a | seen_b) & PART_FAR) != 0;
            tap = TapSegment::of(conv, phase, 0);
#pragma unroll 1
            for (u32 segment = 0; segment < p.segments; segment++, step_segment(tap, conv, phase)) {
                const u32 stage = empty_stage(control, step);
                u8 *to = shared + stage * S::SEGMENT;
                u8 *scales = shared + S::SCALES_AT + step % S::SCALE_SLOTS * S::SCALES;
                if (warp == A_WARP) {
                    const bool last = pass == last_pass && segment + 1 == p.segments;
                    if (lane == 0) {
                        control.told[stage] = (far ? TELL_FAR : 0) | (last ? TELL_LAST : 0);
                        signal_arrive_expecting(control.filled + stage,
                                                a_groups * (PART_BYTES<S::PLANES> + CHUNK_LINES * 4));
                    }
                    team_barrier();
                    const u32 flag =
                        pass == 1 && lane < a_groups
                            ? flags_of<S::PLANES>(a.matrix)[part_of(a.matrix, a.first_group + lane, segment)]
                            : 0;
                    start_segment<S, 0, S::GROUPS_M>(to, scales, a, pass == 1 ? 1 : 0, segment, far,
                                                     (flag & PART_WIDE) != 0, control.filled + stage);
                } else if (has_column) {
                    const SegmentPixel pixel = segment_pixel(conv, phase, seen, tap);
                    const bool copies =
                        pixel.sees && (pass != 2 || (flags_of<S::PLANES>(seen.matrix)[pixel.part] & PART_WIDE) != 0);
                    to += (S::GROUPS_M + thread / CHUNK_LINES) * PART_BYTES<S::PLANES> + thread % CHUNK_LINES * CHUNK_K;
                    // All have stored the results of the tile that had this slot: it was before the
                    // one whose segment has made room.
                    if (pass == 0 && segment == 0)
                        bring.places[turn % PLACE_SLOTS][thread] = place;
                    start_column<S>(to, scales + (S::TILE_M + thread) * 4, seen.matrix, pixel, pass == 2 ? 1 : 0, far,
                                    copies);
                    copies_commit();
                    if (step != 0) {
                        copies_wait_but<1>();
                        arrive((step - 1) % SEGMENTS_AHEAD);
                    }
                }
                step++;
            }
        }
    }
    if (has_column && step != 0) {
        copies_wait();
        arrive((step - 1) % SEGMENTS_AHEAD);
    }
}

// Stores a thread's results from a row on, to the places of their columns. Branches would wait for
// each place and each address before the next: they made tiles with few segments 20 us longer.
template <typename T, u32 N>
ISOBIT_FN void store_placed(T *c, const T *bias, const u64 *places, u32 group, u32 row0, const ConvUnfolded &p,
                            const float (&result)[N][4]) {
    T *const rows[2] = {c + row0 * result_row(p), c + (row0 + 8) * result_row(p)};
    const bool exist[2] = {row0 < p.conv.channels_out, row0 + 8 < p.conv.channels_out};
    const float added[2] = {conv_bias(p.conv, exist[0] ? bias : nullptr, group, row0),
                            conv_bias(p.conv, exist[1] ? bias : nullptr, group, row0 + 8)};
    const bool aligned[2] = {(u64)rows[0] % (2 * sizeof(T)) == 0, (u64)rows[1] % (2 * sizeof(T)) == 0};
#pragma unroll
    for (u32 j = 0; j < N; j++) {
        const Pack<2, u64> place = load<2>(places + j * 8);
        const bool next = place.v[0] != NOWHERE && place.v[1] == place.v[0] + 1;
#pragma unroll
        for (u32 own = 0; own < 2; own++) {
            Pack<2, T> values;
#pragma unroll
            for (u32 e = 0; e < 2; e++)
                values.v[e] = from_compute<T>(result[j][own * 2 + e] + 0.0f + added[own]);
            const bool pair = exist[own] && next && aligned[own] == (place.v[0] % 2 == 0);
            if (pair)
                store(rows[own] + place.v[0], values);
#pragma unroll
            for (u32 e = 0; e < 2; e++)
                if (exist[own] && !pair && place.v[e] != NOWHERE)
                    rows[own][place.v[e]] = values.v[e];
        }
    }
}

template <typename T>
ISOBIT_FN void conv_warpgroup(T *c, const T *bias, u8 *a_packed, u8 *pixels, const BlockProduct &p,
                              const ConvUnfolded &conv) {
    using S = WarpgroupShape<Digits<T>::COUNT>;
    extern __shared__ vector_detail::words4 shared_words[];
    __shared__ WarpgroupShared control;
    __shared__ BringShared bring;
    u8 *shared = (u8 *)shared_words;
    init_signals<S::TILE_N + 1>(control);
    if (thread_x() >= PRODUCT_THREADS) {
        registers_down<40>();
        gather_segments<S>(shared, control, bring, a_packed, pixels, p, conv);
        return;
    }
    registers_up<232>();
    using Results = float[S::TILE_N / 8][4];
    u32 turn = 0;
    multiply_tiles<T>(shared, control, p, [&](const BlockTile &tile, u32, u32 row, u32 column, const Results &result) {
        const u64 *places = bring.places[turn++ % PLACE_SLOTS] + column;
        store_placed(c, bias, places, (u32)tile.at.at[4], tile.m * S::TILE_M + row, conv, result);
    });
}

#endif

// Does nothing on other targets.
template <typename T>
ISOBIT_FN void conv_warpgroup_any([[maybe_unused]] T *c, [[maybe_unused]] const T *bias, [[maybe_unused]] u8 *a_packed,
                                  [[maybe_unused]] u8 *pixels, [[maybe_unused]] const BlockProduct &p,
                                  [[maybe_unused]] const ConvUnfolded &conv) {
#if defined(ISOBIT_WARPGROUP)
    conv_warpgroup(c, bias, a_packed, pixels, p, conv);
#endif
}

} // namespace isobit

#define ISOBIT_CONV_WARPGROUP(NAME, T)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(384, 1)                                                                                     \
    NAME(T *c, const T *bias, u8 *a_packed, u8 *pixels, const BlockProduct p, const ConvUnfolded conv) {               \
        conv_warpgroup_any(c, bias, a_packed, pixels, p, conv);                                                        \
    }                                                                                                                  \
    }
