// erf of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"

namespace isobit::narrow {

// x P(x^2 / 3.5 - 1) up to 2.65, from where on erf rounds to 1 in f16. The shifted variable keeps
// the sum well conditioned.
template <typename T>
ISOBIT_FN float erf(float x) {
    float a = at_most(abs(x), 2.65f);
    float s = fma(a * a, 0x1.24924ep-2f, -1.0f);
    float p = horner(
        s, -0x1.dcf1d2p-15f, 0x1.c7f5fp-13f, -0x1.2a5bbep-11f, 0x1.b7ee3ep-10f, -0x1.36b5b8p-8f, 0x1.837158p-7f,
        -0x1.b10a18p-6f, 0x1.b270bcp-5f, -0x1.86c0ap-4f, 0x1.3ff03p-3f, -0x1.fbff6ep-3f, 0x1.0f71ep-1f);
    return with_sign(a * p, x);
}

} // namespace isobit::narrow
