// Triangles of matrices, as bits. Elements that become 0 are not read, and elements that stay in
// place are not written.
#include "ops/element_walk.cuh"

namespace isobit {

// Takes `V` neighbours of a row at a time. Elements on one side of the diagonal, that is, of the
// column minus the row, are kept.
template <int V, typename T>
ISOBIT_FN void triangle(const T *src, T *dst, const ElementWalk &walk, i64 diagonal, bool upper) {
    for_each_element(walk, [&](const Element &e) {
        const i64 first = (i64)e.column - (i64)e.row, last = first + (V - 1);
        const bool all = upper ? first >= diagonal : last <= diagonal;
        const bool none = upper ? last < diagonal : first > diagonal;
        const T *from = src + e.src;
        T *to = dst + e.dst;
        if (all && from == to)
            return;
        Pack<V, T> x{};
        if (!none) {
            x = load<V>(from);
            if (V > 1 && !all) {
#pragma unroll
                for (int v = 0; v < V; v++) {
                    const bool stays = upper ? first + v >= diagonal : first + v <= diagonal;
                    x.v[v] = stays ? x.v[v] : T{};
                }
            }
        }
        store(to, x);
    });
}

} // namespace isobit

#define ISOBIT_TRIANGLE(NAME, T, V)                                                                                    \
    ISOBIT_KERNEL(isobit::ELEMENTWISE_BLOCK)                                                                           \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::ElementWalk walk, isobit::i64 diagonal,                   \
         isobit::u32 upper) {                                                                                          \
        isobit::triangle<V>(src, dst, walk, diagonal, upper != 0);                                                     \
    }
