// f32, f16 and bf16 selected by a number at run time. The dtype only decides one load or one store
// of a kernel, not its loops, so three versions of each kernel are not worthwhile.
#pragma once

#include "device_lib/limits.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// The host's numbers: `code` in convert.rs.
ISOBIT_CONST u32 VALUES_F32 = 0, VALUES_F16 = 1, VALUES_BF16 = 2;

ISOBIT_FN float value_at(const void *from, u64 i, u32 dtype) {
    if (dtype == VALUES_F32)
        return ((const float *)from)[i];
    if (dtype == VALUES_F16)
        return to_f32(((const f16 *)from)[i]);
    return to_f32(((const bf16 *)from)[i]);
}

ISOBIT_FN void put_value(void *to, u64 i, u32 dtype, float x) {
    if (dtype == VALUES_F32)
        ((float *)to)[i] = x;
    else if (dtype == VALUES_F16)
        ((f16 *)to)[i] = round_to<f16>(x);
    else
        ((bf16 *)to)[i] = round_to<bf16>(x);
}

namespace values_detail {

template <u32 N, typename T>
ISOBIT_FN void load_row(float (&x)[N], const T *from) {
    constexpr int AT_ONCE = pack_size<T>() < (int)N ? pack_size<T>() : (int)N;
#pragma unroll
    for (u32 i = 0; i < N; i += AT_ONCE) {
        const Pack<AT_ONCE, T> part = load<AT_ONCE>(from + i);
#pragma unroll
        for (int l = 0; l < AT_ONCE; l++)
            x[i + l] = to_compute(part.v[l]);
    }
}

template <u32 N, typename T>
ISOBIT_FN void store_row(T *to, const float (&x)[N]) {
    constexpr int AT_ONCE = pack_size<T>() < (int)N ? pack_size<T>() : (int)N;
#pragma unroll
    for (u32 i = 0; i < N; i += AT_ONCE) {
        Pack<AT_ONCE, T> part;
#pragma unroll
        for (int l = 0; l < AT_ONCE; l++)
            part.v[l] = from_compute<T>(x[i + l]);
        store(to + i, part);
    }
}

} // namespace values_detail

// Loads N neighbours from element `i` on, which must be aligned to 16 bytes, or to their size.
template <u32 N>
ISOBIT_FN void values_at(float (&x)[N], const void *from, u64 i, u32 dtype) {
    if (dtype == VALUES_F32)
        values_detail::load_row(x, (const float *)from + i);
    else if (dtype == VALUES_F16)
        values_detail::load_row(x, (const f16 *)from + i);
    else
        values_detail::load_row(x, (const bf16 *)from + i);
}

template <u32 N>
ISOBIT_FN void put_values(void *to, u64 i, u32 dtype, const float (&x)[N]) {
    if (dtype == VALUES_F32)
        values_detail::store_row((float *)to + i, x);
    else if (dtype == VALUES_F16)
        values_detail::store_row((f16 *)to + i, x);
    else
        values_detail::store_row((bf16 *)to + i, x);
}

} // namespace isobit
