// softplus and mish in f64, from exp(-|x|).
#pragma once

#include "device_lib/math/f64_activations.cuh"
#include "device_lib/math/f64_exp.cuh"
#include "device_lib/math/f64_log.cuh"

namespace isobit::math {

ISOBIT_FN double softplus(double x) {
    using namespace f64;
    const Exp e = exp_parts(-size_at_most(x, 40.0), 0.0);
    const double s = pow2(e.n);
    const Pair first = fast_two_sum(s, s * e.r);
    const Pair power = fast_two_sum(first.hi, fma(s, e.tail, first.lo));
    const Pair p = log1p_pair(power.hi, power.lo);
    const Pair sum = two_sum(x > 0.0 ? x : 0.0, p.hi);
    return x < -40.0 ? exp(x) : x > 40.0 ? x : sum.hi + (sum.lo + p.lo);
}

ISOBIT_FN double mish(double x) {
    using namespace f64;
    // x times (1 + 2 E) / (1 + 2 E + 2 E^2), or E (2 + E) / (2 + 2 E + E^2) below zero, where the
    // power of two of E is applied last.
    const bool below = x < 0.0;
    const Exp e = exp_parts(-size_at_most(x, 800.0), 0.0);
    const double above_one = e.r + e.tail;
    const double power = scale(1.0 + above_one, e.n);
    const double one = below ? 2.0 : 1.0;
    const double share = below ? power : power + power;
    const Pair n = two_sum(one, share);
    const Pair d = two_sum(one, fma(share, power, power + power));
    const double w = 1.0 / d.hi;
    const double q = n.hi * w;
    const double q_lo = fma(-q, d.lo, fma(-q, d.hi, n.hi) + n.lo) * w;
    const double c = below ? fma(x, above_one, x) : x;
    const double v = fma(c, q, c * q_lo);
    return gate_edges(x, 800.0, below ? scale(v, e.n) : v);
}

} // namespace isobit::math
