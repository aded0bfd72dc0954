// From the number of an element to its place: mixed-radix digits of a linear index by
// multiplication instead of division. The host makes these structures (`index.rs`), and they travel
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

// As in launch/index.rs.
static_assert(sizeof(Divisor) == 12);

ISOBIT_FN u32 divide(u32 n, const Divisor &d) {
    const u32 high = (u32)((u64)n * d.magic >> 32);
    return (high + n) >> d.shift;
}

// Dimensions, outermost first, and for each of OPERANDS tensors the elements from an index to the
// next along each. Of no dimensions it is one element.
template <int OPERANDS>
struct Index {
    u32 rank;
    Divisor dim[INDEX_RANK];
    u64 stride[OPERANDS][INDEX_RANK];
};

// As in launch/index.rs.
static_assert(sizeof(Index<1>) == 168 && sizeof(Index<3>) == 296);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Index<1>, dim) == 4 && ISOBIT_OFFSET(Index<1>, stride) == 104);

template <int N>
struct Offsets {
    u64 at[N];
};

// Where element `i`, below 2^31, of a row-major walk lies in each tensor.
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

// The same for any `i`, by division: for walks so long that their time is elsewhere. The size of
// the outermost dimension is not used.
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
