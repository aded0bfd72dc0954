// Where the elements of a flipped, rolled or padded tensor come from: each dimension has a rule of
// its own, which gives the source's index for an index of the result.
#pragma once

#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// The rules; the host's `Rule` in index_map/map.rs.
ISOBIT_CONST u32 RULE_ALONG = 0;
ISOBIT_CONST u32 RULE_WRAP = 1;
ISOBIT_CONST u32 RULE_CLAMP = 2;
ISOBIT_CONST u32 RULE_REFLECT = 3;
ISOBIT_CONST u32 RULE_CONSTANT = 4;

// The host's `IndexMap`. The operands of `index` are the source and the destination; strides of the
// source may be negative. The source has `size` elements along a dimension, and index 0 of the
// result is `start` of them after the first.
struct IndexMap {
    Index<2> index;
    i64 start[INDEX_RANK];
    i64 size[INDEX_RANK];
    u32 rule[INDEX_RANK];
};

// Must match ops/index_map/map.rs.
static_assert(sizeof(IndexMap) == 392);
ISOBIT_LAYOUT(ISOBIT_OFFSET(IndexMap, start) == 232 && ISOBIT_OFFSET(IndexMap, rule) == 360);

// The index among `size` elements that a rule gives for `at`; negative for the constant.
template <u32 RULE, typename I>
ISOBIT_FN I by_rule(I at, I size) {
    if constexpr (RULE == RULE_WRAP) {
        // Padding on both sides has up to three times the source's elements.
        const I once = at < size ? at : at - size;
        return once < size ? once : once - size;
    } else if constexpr (RULE == RULE_CLAMP) {
        return at < 0 ? 0 : at < size ? at : size - 1;
    } else if constexpr (RULE == RULE_REFLECT) {
        const I forward = at < 0 ? -at : at;
        return forward < size ? forward : 2 * (size - 1) - forward;
    } else if constexpr (RULE == RULE_CONSTANT) {
        return at < size ? at : -1;
    } else {
        return at;
    }
}

// The source's index for index `i` of the result; negative where the result is the constant.
ISOBIT_FN i64 source_index(const IndexMap &map, u32 d, u32 i) {
    const i64 at = map.start[d] + (i64)i, size = map.size[d];
    switch (map.rule[d]) {
    case RULE_WRAP:
        return by_rule<RULE_WRAP>(at, size);
    case RULE_CLAMP:
        return by_rule<RULE_CLAMP>(at, size);
    case RULE_REFLECT:
        return by_rule<RULE_REFLECT>(at, size);
    case RULE_CONSTANT:
        return by_rule<RULE_CONSTANT>(at, size);
    default:
        return at;
    }
}

// An element of the result: the offsets of where it comes from and of where it belongs.
struct Moved {
    u64 from;
    u64 to;
    bool constant;
};

// The element of the result with number `i`, counted over the first `rank` dimensions.
ISOBIT_FN Moved moved_of(const IndexMap &map, u32 rank, u32 i) {
    Moved moved{0, 0, false};
#pragma unroll 1
    for (u32 d = rank; d-- > 0;) {
        const u32 q = divide(i, map.index.dim[d]);
        const u32 r = i - q * map.index.dim[d].size;
        i = q;
        const i64 from = source_index(map, d, r);
        moved.constant = moved.constant || from < 0;
        moved.from += (u64)from * map.index.stride[0][d];
        moved.to += r * map.index.stride[1][d];
    }
    return moved;
}

// The constant as an element, or as several in a unit of 16 bytes: the host repeats its bits in 8
// bytes.
template <typename T>
ISOBIT_FN T repeated(u32 low, u32 high) {
    if constexpr (sizeof(T) == 16) {
        T unit;
        unit.x = low, unit.y = high, unit.z = low, unit.w = high;
        return unit;
    } else if constexpr (sizeof(T) == 8) {
        return (T)low | (T)high << 32;
    } else {
        return (T)low;
    }
}

} // namespace isobit
