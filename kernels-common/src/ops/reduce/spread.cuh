// Variance and standard deviation: counts, means and sums of squared deviations, merged pair by
// pair. Recipe: docs/numerics.md, section 8.
#pragma once

#include "ops/reduce/rows.cuh"
#include "ops/reduce/seed.cuh"

namespace isobit {

// Of some elements: their count, the mean of their differences from the first element of the
// sequence, and the sum of squared deviations from that mean.
template <typename C>
struct Spread {
    C count;
    C mean;
    C squares;
};

// A lane knows its count from its row, so it keeps none: registers are what it is short of.
template <typename C>
struct SpreadLane {
    C first;
    C mean;
    C squares;
};

// The weights of the next element, and of the square of its difference from the mean. A quotient in
// each step took longer than the rest of it, and branched, so that converted elements waited in
// registers that there were not.
template <typename C>
struct SpreadRow {
    C weight;
    C of_square;
};

template <typename T>
struct Var {
    using C = compute_t<T>;
    using In = T;
    using Acc = Spread<C>;
    using Lane = SpreadLane<C>;
    using Row = SpreadRow<C>;
    using Out = T;
    ISOBIT_FN Acc none() { return Acc{0, 0, 0}; }
    ISOBIT_FN Lane start(const T *first, const T *) { return Lane{to_compute(*first), 0, 0}; }
    // Merges one element, as `combine` does. The row is the count so far, which all lanes share.
    ISOBIT_FN void step(Lane &lane, T x, const Row &row) {
        const C apart = (to_compute(x) - lane.first) - lane.mean;
        const C squares = fma(apart * apart, row.of_square, lane.squares);
        lane.mean = fma(apart, row.weight, lane.mean);
        // The square of a first element may overflow, and infinity times 0 is NaN.
        lane.squares = row.of_square == 0 ? 0 : squares;
    }
    ISOBIT_FN Row row_of(u32 row) {
        const C before = (C)row, count = (C)(row + 1), weight = 1 / count;
        return Row{weight, before * weight};
    }
    ISOBIT_FN Acc of_lane(Lane lane, u32, u32 rows) { return Acc{(C)rows, lane.mean, lane.squares}; }
    ISOBIT_FN Acc combine(Acc a, Acc b) {
        const C count = a.count + b.count, weight = b.count / count, apart = b.mean - a.mean;
        const Acc both{count, fma(apart, weight, a.mean), fma(apart * apart, a.count * weight, a.squares + b.squares)};
        return b.count == 0 ? a : a.count == 0 ? b : both;
    }
    // The difference is 0 unless the mean is infinite or NaN: then there is no deviation from it.
    ISOBIT_FN C variance(Acc a, double divisor) { return (a.squares + (a.mean - a.mean)) / (C)divisor; }
    ISOBIT_FN T finish(Acc a, double divisor) { return from_compute<T>(variance(a, divisor)); }
};

template <typename T>
struct Std : Var<T> {
    using typename Var<T>::Acc;
    ISOBIT_FN T finish(Acc a, double divisor) { return from_compute<T>(isobit::sqrt(Var<T>::variance(a, divisor))); }
};

template <typename T>
constexpr bool starts_from_seed<Var<T>> = true;
template <typename T>
constexpr bool starts_from_seed<Std<T>> = true;
template <typename T>
constexpr bool combines_long<Var<T>> = true;
template <typename T>
constexpr bool combines_long<Std<T>> = true;
template <typename T>
constexpr bool has_rows<Var<T>> = true;
template <typename T>
constexpr bool has_rows<Std<T>> = true;

} // namespace isobit
