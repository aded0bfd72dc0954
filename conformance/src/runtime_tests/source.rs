//! The source of the kernels that `device.kernels` compiles, in the dialect that both vendors'
//! compilers accept, and the same computation in Rust.

use super::case::Case;
use isobit_hal::{BackendDevice, KernelSource};

/// The kernel that mixes numbers: `(const u32 *x, u32 *y, float *z, u64 n, Pair pair, float
/// scale)`.
pub(super) const NAME: &str = "mix";
/// The kernel that reverses 256 numbers through shared memory: `(const u32 *x, u32 *y)`.
pub(super) const REVERSE: &str = "reverse";

/// A compile option defines `FACTOR`. Both kernels stay inside their buffers for any grid.
const TEXT: &str = r#"#include <isobit.cuh>
using isobit::u32;
using isobit::u64;

struct Pair {
    u32 add;
    u32 mask;
};

ISOBIT_KERNEL(256) mix(const u32 *x, u32 *y, float *z, u64 n, Pair pair, float scale) {
    for (u64 i = isobit::first_element(); i < n; i += isobit::all_threads()) {
        const u32 v = (x[i] * FACTOR + pair.add) ^ pair.mask;
        y[i] = v;
        z[i] = (float)(v & 0xffff) * scale + 0.5f;
    }
}

ISOBIT_KERNEL(256) reverse(const u32 *x, u32 *y) {
    __shared__ u32 lanes[256];
    const u32 lane = isobit::thread_x();
    lanes[lane] = x[lane];
    isobit::barrier();
    y[lane] = lanes[255 - lane];
}
"#;

/// A source and its factor.
pub(super) struct Source {
    pub text: KernelSource,
    pub factor: u32,
}

/// Draws one of few sources, so that a machine compiles each once.
pub(super) fn draw<D: BackendDevice>(case: &mut Case<'_, D>) -> Source {
    let factor = case.draw.one_of(&[3, 5, 0x9E37_79B9]);
    of_factor(factor)
}

/// Returns the source with a factor.
pub(super) fn of_factor(factor: u32) -> Source {
    let text = KernelSource::new("mix.cu", TEXT).with_option(format!("-DFACTOR={factor}u"));
    Source { text, factor }
}

impl Source {
    /// Returns the result of `mix` for an element.
    pub(super) fn mix(&self, x: u32, [add, mask]: [u32; 2], scale: f32) -> (u32, f32) {
        let v = x.wrapping_mul(self.factor).wrapping_add(add) ^ mask;
        // Two roundings: neither side contracts them to an fma.
        let scaled = (v & 0xffff) as f32 * scale;
        (v, scaled + 0.5)
    }
}
