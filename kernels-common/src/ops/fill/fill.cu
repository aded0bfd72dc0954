// Sets all elements to one value.
#include "device_lib/elementwise.cuh"

namespace isobit {

template <typename T>
struct Fill {
    T value;
    ISOBIT_METHOD T operator()() const { return value; }
};

} // namespace isobit

#define ISOBIT_FILL(NAME, T)                                                                                           \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK) NAME(isobit::T *dst, isobit::u64 n, isobit::T value) {                    \
        isobit::contiguous<isobit::pack_size<isobit::T>(), 1>(isobit::Fill<isobit::T>{value}, n, dst);                 \
    }
#define ISOBIT_FILL_STRIDED(NAME, T)                                                                                   \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK) NAME(isobit::T *dst, isobit::Walk<1> walk, isobit::T value) {             \
        isobit::strided<1, 4>(isobit::Indices<>{}, isobit::Fill<isobit::T>{value}, walk, dst);                         \
    }
