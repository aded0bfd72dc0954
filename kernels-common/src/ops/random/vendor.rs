//! Random numbers from the vendor's library. It draws contiguous f32 and f64: uniform numbers in
//! (0, 1], and normal numbers in pairs. Everything else is derived from those.

use super::{Compute, kernel};
use crate::key::Key;
use crate::launch::elementwise::{Kernels, run};
use crate::manifest::instances::random::BETWEEN;
use crate::ops::cast;
use crate::runtime::{DevicePtr, Distribution, GpuRuntime, Random, Vendor};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

/// Draws with the vendor's library; returns whether the library took the call.
pub(super) fn draw<R: GpuRuntime>(whole: &Op, dst: &mut GpuStorage<R>, layout: &Layout) -> Result<bool> {
    let dtype = dst.dtype();
    let drawn = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let n = layout.elem_count();
    let (distribution, seed, offset) = match whole {
        Op::RandUniform(op) => (Distribution::Unit, op.seed, op.offset),
        Op::RandNormal(op) => (Distribution::Normal { mean: op.mean, deviation: op.std }, op.seed, op.offset),
        _ => unreachable!("not an operation of the family"),
    };
    let ask = |dst: DevicePtr, len| Random { dtype: drawn, dst, len, distribution, seed, offset };
    let device = dst.device().clone();
    let (runtime, stream) = (device.runtime(), &device.stream());
    // The state of a library's generator is in its own memory, and every replay would advance it.
    if stream.is_capturing() {
        let why = "a replay would not draw the numbers that were captured";
        return Ok(device.vendor_took(whole, Vendor::Declined(why.into())));
    }
    let ptr = dst.ptr().at(dtype, layout.start_offset());
    let pair = 2 * dtype.size_in_bytes() as u64;
    let is_normal = matches!(whole, Op::RandNormal(_));
    if is_normal && dtype == drawn && layout.is_contiguous() && n.is_multiple_of(2) && ptr.0.is_multiple_of(pair) {
        // SAFETY: the layout was validated against the buffer and is contiguous.
        let outcome = unsafe { runtime.random(stream, &ask(ptr, n))? };
        return Ok(device.vendor_took(whole, outcome));
    }
    let numbers = device.alloc(n.next_multiple_of(2), drawn)?;
    let len = if is_normal { numbers.len() } else { n };
    // SAFETY: the buffer has space for `len` numbers.
    let outcome = unsafe { runtime.random(stream, &ask(numbers.ptr(), len))? };
    if !device.vendor_took(whole, outcome) {
        return Ok(false);
    }
    let straight = Layout::contiguous(layout.shape());
    let Op::RandUniform(op) = whole else {
        return cast::to_dtype_of(dst, layout, &numbers, &straight).map(|()| true);
    };
    let src = [Src::Storage(&numbers, &straight)];
    let interval = if dtype == DType::F64 { f64::interval(op, dtype) } else { f32::interval(op, dtype) };
    let kernels = || Kernels::new(kernel(BETWEEN, dtype, Key::CONTIGUOUS), 2);
    run(kernels, &src, dst, layout, &interval.args()).map(|()| true)
}
