// Selects one of two values by a condition. It moves bits, so kernels exist per value size.
#include "device_lib/elementwise.cuh"

namespace isobit {

template <typename C, typename T>
struct WhereCond {
    ISOBIT_METHOD T operator()(C cond, T on_true, T on_false) const { return cond != 0 ? on_true : on_false; }
};

} // namespace isobit

#define ISOBIT_WHERE(NAME, C, T)                                                                                       \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::C *cond, const isobit::T *on_true, const isobit::T *on_false, isobit::u64 n) {  \
        using namespace isobit;                                                                                        \
        contiguous<pack_size<C, T>(), unroll_of<T>>(WhereCond<C, T>{}, n, dst, cond, on_true, on_false);               \
    }
#define ISOBIT_WHERE_WALK(NAME, C, T, V, U)                                                                            \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(isobit::T *dst, const isobit::C *cond, const isobit::T *on_true, const isobit::T *on_false,                   \
         isobit::Walk<4> walk) {                                                                                       \
        using namespace isobit;                                                                                        \
        strided<V, U>(Indices<0, 1, 2>{}, WhereCond<C, T>{}, walk, dst, cond, on_true, on_false);                      \
    }
#define ISOBIT_WHERE_ROWS(NAME, C, T) ISOBIT_WHERE_WALK(NAME, C, T, (pack_size<C, T>()), unroll_of<T>)
#define ISOBIT_WHERE_STRIDED(NAME, C, T) ISOBIT_WHERE_WALK(NAME, C, T, 1, 4)
