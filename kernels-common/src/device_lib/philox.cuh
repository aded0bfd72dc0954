// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
// (SC11).
#pragma once

#include "device_lib/base.cuh"

namespace isobit {

ISOBIT_CONST int PHILOX_ROUNDS = 10;

// Where a launch begins in a seed's stream. The keys of all rounds come from the host (`Sequence`
// in random/mod.rs): a thread that makes one block would otherwise spend as much time on them as on
// its multiplications.
struct PhiloxSequence {
    u64 block;
    u32 key[PHILOX_ROUNDS][2];
};

// Must match ops/random/mod.rs.
static_assert(sizeof(PhiloxSequence) == 88);
ISOBIT_LAYOUT(ISOBIT_OFFSET(PhiloxSequence, key) == 8);

struct PhiloxWords {
    u32 word[4];
};

#if defined(__AMDGCN__)
// A permutation that changes nothing but is opaque to LLVM. Without it, LLVM 19 vectorizes a step
// over several words on targets with packed f32 (gfx90a, gfx942), and then mistakes the high half
// of a product for copies of the low half's sign.
ISOBIT_FN u32 philox_word(u32 x) { return __builtin_amdgcn_perm(x, x, 0x03020100u); }
#else
ISOBIT_FN u32 philox_word(u32 x) { return x; }
#endif

// Block number `at` after the first one. Block numbers are taken modulo a power of two; `wrap` is
// that power less 1.
ISOBIT_FN PhiloxWords philox(const PhiloxSequence &sequence, u64 at, u64 wrap, u32 stream) {
    const u64 block = (sequence.block + at) & wrap;
    u32 c0 = (u32)block, c1 = (u32)(block >> 32), c2 = stream, c3 = 0;
#pragma unroll
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const u64 p = (u64)c0 * 0xd2511f53u, q = (u64)c2 * 0xcd9e8d57u;
        c0 = (u32)(q >> 32) ^ c1 ^ sequence.key[round][0];
        c2 = (u32)(p >> 32) ^ c3 ^ sequence.key[round][1];
        c1 = (u32)q;
        c3 = (u32)p;
    }
    return {{philox_word(c0), philox_word(c1), philox_word(c2), philox_word(c3)}};
}

} // namespace isobit
