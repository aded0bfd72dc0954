// erf in f64: an odd polynomial below 1; from 1 on 1 - exp(-L), L = -log(erfc).
#pragma once

#include "device_lib/math/f64_core.cuh"

namespace isobit::math {

ISOBIT_FN double erf(double x) {
    using namespace f64;
    const double ax = abs(x);
    const double z = x * x;
    const double inner = horner(z, 0x1.06eba8214db68p-3, -0x1.812746b0379b5p-2, 0x1.ce2f21a040b02p-4, -0x1.b82ce311f7069p-6,
                                0x1.565bccf908894p-8, -0x1.c02db03ff6859p-11, 0x1.f9a2bb4bba0e4p-14,
                                -0x1.f4ca5bb2856d7p-17, 0x1.b9807f233887fp-20, -0x1.5c0bc3130e26fp-23,
                                0x1.d73d744d56d18p-27, -0x1.ac1a4196e3b8fp-31);
    const double y = (ax > 6.0 ? 6.0 : ax) - 1.0;
    const double l = horner(y, 0x1.d97fbf27aa2a1p0, 0x1.51c9b0006c21ap1, 0x1.afabc11a2afd9p-1, 0x1.5477f099b6c88p-5,
                            -0x1.48c9d37fc20b4p-7, 0x1.033f5a12fc663p-9, -0x1.f1b04a8f378c1p-13, -0x1.b92dd97899da3p-16,
                            0x1.c852aa0c12682p-16, -0x1.44846446ee59ep-17, 0x1.1e247370b189p-19, -0x1.b7cf2292c83acp-23,
                            -0x1.f25cbb02b423bp-25, 0x1.1ed8cee88eb21p-25, -0x1.24b8fb9903955p-27,
                            0x1.6a9ee8346f693p-30, -0x1.066cb52c76867p-33, 0x1.5661e284276a8p-38);
    const Exp e = exp_parts(-l, 0.0);
    const double outer = 1.0 - pow2(e.n) * exp_significand(e);
    return ax < 1.0 ? fma(x, inner, x) : copysign(outer, x);
}

} // namespace isobit::math
