// Converts the number of an element to its position: mixed-radix digits of a linear index, by
// multiplication instead of division. The host creates these structs (`index.rs`) and passes them
// as kernel parameters.
#pragma once

#include "device_lib/base.cuh"

namespace isobit {

ISOBIT_CONST int INDEX_RANK = 8;

// Division by a constant: q = (high half of n * magic + n) >> shift, for n below 2^31
// (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).
struct Divisor {
    u32 size;
    u32 magic;
    u32 shift;
};

// Must match launch/index.rs.
static_assert(sizeof(Divisor) == 12);

ISOBIT_FN u32 divide(u32 n, const Divisor &d) {
    const u32 high = (u32)((u64)n * d.magic >> 32);
    return (high + n) >> d.shift;
}

// Dimensions, outermost first, and the stride in elements along each dimension for each of OPERANDS
// tensors. With rank 0 it describes a single element.
template <int OPERANDS>
struct Index {
    u32 rank;
    Divisor dim[INDEX_RANK];
    u64 stride[OPERANDS][INDEX_RANK];
};

// Must match launch/index.rs.
static_assert(sizeof(Index<1>) == 168 && sizeof(Index<3>) == 296);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Index<1>, dim) == 4 && ISOBIT_OFFSET(Index<1>, stride) == 104);

template <int N>
struct Offsets {
    u64 at[N];
};

// The offset of element `i` (below 2^31) of a row-major walk in each tensor.
template <int OPERANDS>
ISOBIT_FN Offsets<OPERANDS> offsets_of(const Index<OPERANDS> &index, u32 i) {
    Offsets<OPERANDS> offsets{};
#pragma unroll 1
    for (u32 d = index.rank; d-- > 0;) {
        const u32 q = divide(i, index.dim[d]);
        const u32 r = i - q * index.dim[d].size;
        i = q;
#pragma unroll
        for (int o = 0; o < OPERANDS; o++)
            offsets.at[o] += r * index.stride[o][d];
    }
    return offsets;
}

// The same for any `i`, by division: for walks so long that the division does not dominate their
// time. Does not use the size of the outermost dimension.
template <int OPERANDS>
ISOBIT_FN Offsets<OPERANDS> offsets_of_long(const Index<OPERANDS> &index, u64 i) {
    Offsets<OPERANDS> offsets{};
#pragma unroll 1
    for (u32 d = index.rank; d-- > 0;) {
        const u64 q = d > 0 ? i / index.dim[d].size : 0;
        const u64 r = i - q * index.dim[d].size;
        i = q;
#pragma unroll
        for (int o = 0; o < OPERANDS; o++)
            offsets.at[o] += r * index.stride[o][d];
    }
    return offsets;
}

} // namespace isobit
