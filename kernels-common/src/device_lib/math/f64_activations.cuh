// gelu (tanh form), gelu_erf, silu, sigmoid and elu in f64. The far negative tails are products
// with an exponential whose argument is a pair. The power of two is applied last, so that the tails
// stay accurate down to subnormals.
#pragma once

#include "device_lib/math/f64_exp.cuh"

namespace isobit::math {

namespace f64 {

// x / (1 + E) with E = exp(-(v + v_lo)), v >= 0. If `below`, the sigmoid's argument is negative,
// and the result is x E / (1 + E).
ISOBIT_FN double logistic(double v, double v_lo, bool below, double x) {
    const Exp e = exp_parts(-v, -v_lo);
    const double p = e.r + e.tail;
    const Pair d = fast_two_sum(1.0, scale(1.0 + p, e.n));
    const double n = below ? fma(x, p, x) : x;
    const double w = 1.0 / d.hi;
    const double q = n * w;
    const double s = fma(fma(-q, d.lo, fma(-q, d.hi, n)), w, q);
    return below ? scale(s, e.n) : s;
}

ISOBIT_CONST double GELU_F0 = 0x1.82b4bb8c94dcep-1;

ISOBIT_FN double size_at_most(double x, double limit) {
    const double ax = abs(x);
    return ax > limit ? limit : ax;
}

// v with the sign of x, also for zeros. Beyond the limit, returns what x times a sigmoid tends to:
// -0 or x.
ISOBIT_FN double gate_edges(double x, double limit, double v) {
    return x < -limit ? -0.0 : x > limit ? x : copysign(v, x);
}

} // namespace f64

ISOBIT_FN double sigmoid(double x) {
    using namespace f64;
    return logistic(size_at_most(x, 800.0), 0.0, x < 0.0, 1.0);
}

ISOBIT_FN double silu(double x) {
    using namespace f64;
    const double v = logistic(size_at_most(x, 800.0), 0.0, x < 0.0, x);
    return gate_edges(x, 800.0, v);
}

ISOBIT_FN double gelu(double x) {
    using namespace f64;
    // x sigmoid(2u), 2u = x (c0 + c1 x^2) with c0 = 2 sqrt(2/pi), c1 = 0.044715 c0, all as pairs.
    const double a = size_at_most(x, 24.0);
    const Pair xx = two_prod(a, a);
    const Pair t = two_prod(0x1.2444f2a4d8b4bp-4, xx.hi);
    const double t_lo = fma(0x1.2444f2a4d8b4bp-4, xx.lo, fma(-0x1.6c843a29d1c7p-61, xx.hi, t.lo));
    const Pair c = two_sum(0x1.9884533d43651p0, t.hi);
    const double c_lo = c.lo + (t_lo + -0x1.cbc0d30ebfd15p-54);
    const Pair v = two_prod(a, c.hi);
    const double r = logistic(v.hi, fma(a, c_lo, v.lo), x < 0.0, x);
    return gate_edges(x, 24.0, r);
}

ISOBIT_FN double gelu_erf(double x) {
    using namespace f64;
    // Phi(-a) = exp(-a^2/2) F(t) / (a + 4) with t = (a - 4)/(a + 4).
    const double a = size_at_most(x, 40.0);
    const Pair aa = two_prod(a, a);
    const Exp e = exp_parts(-0.5 * aa.hi, -0.5 * aa.lo);
    const Pair d = two_sum(a, 4.0);
    const Pair n = two_sum(a, -4.0);
    const double w = 1.0 / d.hi;
    const double q = n.hi * w;
    const double t = fma(fma(-q, d.lo, fma(-q, d.hi, n.hi) + n.lo), w, q);
    const double b = horner(t, -0x1.373e3a893c28ap-1, 0x1.8c6dbf2cfc2b2p-2, -0x1.7dff2bff683a5p-3, 0x1.eec4cc3e4d645p-5,
                            -0x1.ee2761047cbb5p-8, -0x1.c81719d59c2f7p-9, 0x1.ab825fc077c9bp-10,
                            0x1.17a4ae6b84d33p-13, -0x1.e4a4254cf3144p-13, -0x1.001eb32aa625p-19, 0x1.26d096903490dp-15,
                            0x1.80b82ff42c55bp-21, -0x1.8d4ac3d2e0c9fp-18, -0x1.51f5da86a2661p-21,
                            0x1.1232ceec6e605p-20, 0x1.2377e26ae3d0dp-22, -0x1.4cb275163155cp-23,
                            -0x1.6d1f17f44c39fp-24, 0x1.ca10a593a839bp-27, 0x1.4cb8e84f97234p-26, 0x1.f964b07831a49p-30,
                            -0x1.5112ef3f3e479p-29, -0x1.7d947993bd73cp-31);
    // Keeps the rounding error of F's last step and adds it in the division by a + 4.
    const double f = fma(b, t, GELU_F0);
    const double f_lo = fma(b, t, GELU_F0 - f);
    const double g0 = f * w;
    const double g = fma(fma(-g0, d.lo, fma(-g0, d.hi, f) + f_lo), w, g0);
    const bool below = x < 0.0;
    const double m = below ? x * g : g;
    const double s = scale(fma(m, e.r + e.tail, m), e.n);
    return gate_edges(x, 40.0, below ? s : fma(-x, s, x));
}

ISOBIT_FN double elu(double x, double alpha) { return x > 0.0 ? x : alpha * expm1(x); }

} // namespace isobit::math
