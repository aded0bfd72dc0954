// The block product of two packed operands on Hopper's warpgroups: as product.cu, with its bits.
// One warp brings the segments, each by a few copies of whole pieces of memory.
#include "ops/matmul/block/warpgroup.cuh"

namespace isobit {

#if defined(ISOBIT_WARPGROUP)

// Brings all segments of all tiles of the block.
template <typename S>
ISOBIT_FN void bring_segments(u8 *shared, WarpgroupShared &control, u8 *a_packed, u8 *b_packed, const BlockProduct &p) {
    const u32 lane = thread_x() % TILE_TEAM;
    u32 step = 0;
#pragma unroll 1
    for (u32 number = block_x(); number < p.tiles; number += grid_dim_x()) {
        const BlockTile tile = block_tile(p, number);
        const TileSide a = left_side(p, tile, a_packed, S::GROUPS_M), b = right_side(p, tile, b_packed, S::GROUPS_N);
        const u32 a_left = a.matrix.groups - a.first_group, b_left = b.matrix.groups - b.first_group;
        const u32 a_groups = a_left < S::GROUPS_M ? a_left : S::GROUPS_M,
                  b_groups = b_left < S::GROUPS_N ? b_left : S::GROUPS_N;
        // Each lane reads the flags of one part.
        static_assert(S::GROUPS_M + S::GROUPS_N <= TILE_TEAM, "a lane for each part");
        const bool of_a = lane < a_groups, of_b = lane >= S::GROUPS_M && lane - S::GROUPS_M < b_groups;
        const u32 *flags = of_a ? flags_of<S::PLANES>(a.matrix) + a.first_group + lane
                                : flags_of<S::PLANES>(b.matrix) + b.first_group + lane - S::GROUPS_M;
        const u64 pitch = of_a ? a.matrix.groups : b.matrix.groups;
        u32 seen_a = 0, seen_b = 0;
        bool ended = false;
#pragma unroll 1
        for (u32 pass = 0; pass < 3; pass++) {
            if (pass != 0 && ((pass == 1 ? seen_a : seen_b) & PART_WIDE) == 0)
                continue;
            u32 own = of_a || of_b ? flags[0] : 0;
#pragma unroll 1
            for (u32 segment = 0; segment < p.segments; segment++) {
                const u32 flag = own;
                if (segment + 1 < p.segments && (of_a || of_b))
                    own = flags[(segment + 1) * pitch];
                // The bits of `a` in the lower half.
                const u32 all = any_of_warp(of_a ? flag : flag << 16);
                if (pass == 0) {
                    seen_a |= all & 0xffff;
                    seen_b |= all >> 16;
                } else if ((all >> (pass == 1 ? 0 : 16) & PART_WIDE) == 0) {
                    continue;
                }
                const u32 seen = seen_a | seen_b;
                const bool far = pass != 0 || ((all | all >> 16) & PART_FAR) != 0;
                const bool last = pass == 0 && segment + 1 == p.segments && (seen & PART_WIDE) == 0;
                ended = ended || last;
                const u32 stage = empty_stage(control, step);
                if (lane == 0) {
                    control.told[stage] =
                        (far ? TELL_FAR : 0) | (last ? TELL_LAST : 0) | ((seen & PART_SPECIAL) != 0 ? TELL_SPECIAL : 0);
                    signal_arrive_expecting(control.filled + stage,
                                            (a_groups + b_groups) * (PART_BYTES<S::PLANES> + CHUNK_LINES * 4));
                }
                team_barrier();
                u8 *to = shared + stage * S::SEGMENT;
                u8 *scales = shared + S::SCALES_AT + step % S::SCALE_SLOTS * S::SCALES;
                const bool wide = (flag & PART_WIDE) != 0;
                start_segment<S, 0, S::GROUPS_M>(to, scales, a, pass == 1 ? 1 : 0, segment, far, wide,
                                                 control.filled + stage);
                start_segment<S, S::GROUPS_M, S::GROUPS_N>(to, scales, b, pass == 2 ? 1 : 0, segment, far, wide,
                                                           control.filled + stage);
                step++;
            }
        }
        if (ended)
            continue;
        const u32 stage = empty_stage(control, step);
        if (lane == 0) {
            control.told[stage] =
                TELL_LAST | TELL_NOTHING | (((seen_a | seen_b) & PART_SPECIAL) != 0 ? TELL_SPECIAL : 0);
            signal_arrive(control.filled + stage);
        }
        team_barrier();
        step++;
    }
}

template <typename T>
ISOBIT_FN void matmul_warpgroup(const T *a, const T *b, const T *bias, T *c, u8 *a_packed, u8 *b_packed,
                                const BlockProduct &p) {
    using S = WarpgroupShape<Digits<T>::COUNT>;
    extern __shared__ vector_detail::words4 shared_words[];
    __shared__ WarpgroupShared control;
    __shared__ u32 special[S::TILE_M + S::TILE_N];
    u8 *shared = (u8 *)shared_words;
    const u32 thread = thread_x();
    init_signals<1>(control);
    if (thread >= PRODUCT_THREADS) {
        registers_down<40>();
        if (thread < PRODUCT_THREADS + TILE_TEAM)
            bring_segments<S>(shared, control, a_packed, b_packed, p);
        return;
    }
    registers_up<232>();
    using Results = float[S::TILE_N / 8][4];
    multiply_tiles<T>(shared, control, p, [&](const BlockTile &tile, u32 told, u32 row, u32 column, const Results &result) {
        store_own(c, bias, p, tile, tile.m * S::TILE_M + row, tile.n * S::TILE_N + column, result);
        if ((told & TELL_SPECIAL) == 0)
            return;
        find_special<S::PLANES, S::TILE_M, S::TILE_N, PRODUCT_THREADS>(special,
                                                                       left_side(p, tile, a_packed, S::GROUPS_M),
                                                                       right_side(p, tile, b_packed, S::GROUPS_N), thread);
        part_barrier<PRODUCT_THREADS>(BARRIER_BOTH);
        store_special<S::TILE_M, S::TILE_N, PRODUCT_THREADS>(a, b, bias, c, p, tile, special, thread);
        part_barrier<PRODUCT_THREADS>(BARRIER_BOTH);
    });
}

#endif

// Does nothing on other targets.
template <typename T>
ISOBIT_FN void matmul_warpgroup_any([[maybe_unused]] const T *a, [[maybe_unused]] const T *b,
                                    [[maybe_unused]] const T *bias, [[maybe_unused]] T *c,
                                    [[maybe_unused]] u8 *a_packed, [[maybe_unused]] u8 *b_packed,
                                    [[maybe_unused]] const BlockProduct &p) {
#if defined(ISOBIT_WARPGROUP)
    matmul_warpgroup(a, b, bias, c, a_packed, b_packed, p);
#endif
}

} // namespace isobit

#define ISOBIT_MATMUL_WARPGROUP(NAME, T)                                                                               \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(384, 1)                                                                                     \
    NAME(const T *a, const T *b, const T *bias, T *c, u8 *a_packed, u8 *b_packed, const BlockProduct p) {              \
        matmul_warpgroup_any(a, b, bias, c, a_packed, b_packed, p);                                                    \
    }                                                                                                                  \
    }
