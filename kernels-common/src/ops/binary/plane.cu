// atan2 and hypot, with the recipes of the module's prelude. Their code is long, so a thread takes
// one pack at a time.
#include "ops/binary/binary.cuh"

namespace isobit::binary {

#define ISOBIT_BINARY_OP(NAME)                                                                                         \
    template <typename T>                                                                                              \
    struct NAME {                                                                                                      \
        ISOBIT_METHOD T operator()(T a, T b) const { return ISOBIT_RECIPE_2(NAME, a, b); }                             \
    };
ISOBIT_BINARY_OP(atan2)
ISOBIT_BINARY_OP(hypot)
#undef ISOBIT_BINARY_OP

} // namespace isobit::binary

#define ISOBIT_BINARY(NAME, OP, T) ISOBIT_BINARY_CONTIGUOUS(NAME, OP, T, 1)
#define ISOBIT_BINARY_ROWS(NAME, OP, T) ISOBIT_BINARY_WALK(NAME, OP, T, pack_size<T>(), 1)
#define ISOBIT_BINARY_STRIDED(NAME, OP, T) ISOBIT_BINARY_WALK(NAME, OP, T, 1, 2)
