// Converts between dtypes.
#include "device_lib/f8e5m2.cuh"

#include "device_lib/cast.cuh"
#include "device_lib/elementwise.cuh"

namespace isobit {

template <typename From, typename To>
struct Cast {
    ISOBIT_METHOD To operator()(From x) const { return cast<To>(x); }
};

// The f32 that rounds to every narrow type as `x` itself does.
template <typename From>
ISOBIT_FN float odd(From x) {
    if constexpr (is_narrow<From> || is_same<From, float>)
        return to_f32(x);
    else if constexpr (is_float<From>)
        return narrow_detail::odd_f32(x);
    // Exact, and not by way of the magnitude, as for wider integers: ptxas (13.0, sm_90) takes the
    // upper half of the register of abs.s16(-32768) for zeros, and converts that to a NaN.
    else if constexpr (sizeof(From) <= 2)
        return (float)x;
    else if constexpr (limits<From>::IS_SIGNED)
        return narrow_detail::odd_f32((i64)x);
    else
        return narrow_detail::odd_f32((u64)x);
}

// Casts to a float of 8 bits by the rule of overflow that the type does not have by itself: f8e4m3
// gives NaN beyond the tie at 464, f8e5m2 its largest number.
template <typename From, typename To>
struct CastOther {
    ISOBIT_METHOD To operator()(From from) const {
        constexpr bool HAS_INFINITY = is_same<To, f8e5m2>;
        constexpr float LIMIT = HAS_INFINITY ? 57344.0f : 464.0f;
        const float x = odd(from);
        const float beyond = HAS_INFINITY ? copysign(LIMIT, x) : from_bits(0x7fc00000u);
        return round_to<To>(isobit::abs(x) > LIMIT ? beyond : x);
    }
};

} // namespace isobit

#define ISOBIT_CAST_BY(FUNCTOR, NAME, FROM, TO)                                                                        \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::TO *dst, const isobit::FROM *src, isobit::u64 n) {                                                    \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<FROM, TO>(), 2>(FUNCTOR<FROM, TO>{}, n, dst, src);                                        \
    }
#define ISOBIT_CAST_STRIDED_BY(FUNCTOR, NAME, FROM, TO)                                                                \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::TO *dst, const isobit::FROM *src, isobit::Walk<2> walk) {                                             \
        using namespace isobit;                                                                                        \
        strided<1, 4>(Indices<0>{}, FUNCTOR<FROM, TO>{}, walk, dst, src);                                              \
    }

#define ISOBIT_CAST(NAME, FROM, TO) ISOBIT_CAST_BY(Cast, NAME, FROM, TO)
#define ISOBIT_CAST_STRIDED(NAME, FROM, TO) ISOBIT_CAST_STRIDED_BY(Cast, NAME, FROM, TO)
#define ISOBIT_CAST_OTHER(NAME, FROM, TO) ISOBIT_CAST_BY(CastOther, NAME, FROM, TO)
#define ISOBIT_CAST_OTHER_STRIDED(NAME, FROM, TO) ISOBIT_CAST_STRIDED_BY(CastOther, NAME, FROM, TO)
