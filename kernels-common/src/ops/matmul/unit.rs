//! Which products run on matrix units.
//!
//! A unit must compute each result as the chain of fused multiply-adds of the other kernels, so
//! that nobody can tell from the bits where a product ran. NVIDIA's f64 units do: on an H200, none
//! of 671 million results of `mma.m8n8k4` differed from the chain, over numbers of like size, of
//! any exponent, subnormal, cancelling and close to overflow, and the drivers' tests hold the
//! kernel's own shape against it on the card at hand.

use super::key;
use crate::code::image::sm_number;
use crate::code::table;
use crate::code::target::Target;
use crate::device::GpuDevice;
use crate::key::Key;
use crate::manifest::instances::matmul::UNIT;
use crate::runtime::GpuRuntime;
use isobit_hal::DType;

/// Results per tile along m and n, and threads per block. Must match ops/matmul/unit.cu, like
/// [`SHARED`].
pub(super) const TILE: usize = 64;
pub(super) const THREADS: usize = 128;
/// Bytes of a block's shared memory: two stages of the tiles of both operands, and the sums.
pub(super) const SHARED: u32 = 2 * 2 * 64 * 20 * 8 + 64 * 64 * 8;

/// Architectures whose f64 units are faster than their other f64 arithmetic. On those between and
/// after them units exist for compatibility only.
pub(crate) const FAST: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

/// Returns whether products of a dtype run on units.
pub(super) fn is_on<R: GpuRuntime>(device: &GpuDevice<R>, dtype: DType) -> bool {
    dtype == DType::F64 && has_unit_code(device, key(dtype, UNIT), &FAST)
}

/// Returns whether a kernel uses units: the card is of one of these architectures, and the kernel's
/// code was compiled for an architecture that has units.
pub(crate) fn has_unit_code<R: GpuRuntime>(device: &GpuDevice<R>, kernel: Key, archs: &[&str]) -> bool {
    let arch = device.runtime().arch();
    if R::TARGET != Target::Nvptx || !archs.contains(&arch) {
        return false;
    }
    let entry = table::find(kernel).map(|index| table::KERNELS[index]);
    let packed = entry.and_then(|entry| table::IMAGES[entry.module].packed_arch(R::TARGET, arch));
    // Without packed code the module is compiled on the device, for its architecture.
    packed.is_none_or(has_units)
}

/// Returns whether code for an architecture has units. A card may load that of an older one.
fn has_units(arch: &str) -> bool {
    sm_number(arch).is_some_and(|sm| sm >= 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_for_older_architectures_has_no_units() {
        assert!(!has_units("sm_75"));
        assert!(FAST.into_iter().all(has_units));
    }
}
