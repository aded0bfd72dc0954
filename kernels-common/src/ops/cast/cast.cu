// Converts between dtypes.
#include "device_lib/cast.cuh"
#include "device_lib/elementwise.cuh"

namespace isobit {

template <typename From, typename To>
struct Cast {
    ISOBIT_METHOD To operator()(From x) const { return cast<To>(x); }
};

} // namespace isobit

#define ISOBIT_CAST(NAME, FROM, TO)                                                                                    \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::TO *dst, const isobit::FROM *src, isobit::u64 n) {                                                    \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<FROM, TO>(), 2>(Cast<FROM, TO>{}, n, dst, src);                                           \
    }
#define ISOBIT_CAST_STRIDED(NAME, FROM, TO)                                                                            \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::TO *dst, const isobit::FROM *src, isobit::Walk<2> walk) {                                             \
        using namespace isobit;                                                                                        \
        strided<1, 4>(Indices<0>{}, Cast<FROM, TO>{}, walk, dst, src);                                                 \
    }
