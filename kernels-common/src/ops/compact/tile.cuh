// What the kernels of this family share: tiles of elements, each of which has a bit that tells
// whether it is kept, and walks that also take elements beyond 2^31.
#pragma once

#include "device_lib/index.cuh"
#include "ops/sum_before.cuh"

namespace isobit::compact {

ISOBIT_CONST u32 BLOCK = 256;
// Elements whose bits a thread holds, in a word.
ISOBIT_CONST u32 EACH = 16;
// Must match compact/tiles.rs.
ISOBIT_CONST u32 TILE = BLOCK * EACH;

// Dimensions in row-major order: the first "stride" of each is an operand's, the second is the size
// in 64 bits.
using Walk = Index<2>;

// The offset of element `i` in the operand. `wide` tells that positions may need 64 bits.
ISOBIT_FN u64 offset_of(const Walk &walk, u64 i, bool wide) {
    if (!wide)
        return offsets_of(walk, (u32)i).at[0];
    u64 offset = 0;
#pragma unroll 1
    for (u32 d = walk.rank; d-- > 0;) {
        const u64 size = walk.stride[1][d], q = i / size;
        offset += (i - q * size) * walk.stride[0][d];
        i = q;
    }
    return offset;
}

} // namespace isobit::compact
