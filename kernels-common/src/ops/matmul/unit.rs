//! Which products run on matrix units.
//!
//! A unit must compute each result as the chain of fused multiply-adds of the other kernels, so
//! that nobody can tell from the bits where a product ran. NVIDIA's f64 units do: on an H200, none
//! of 671 million results of `mma.m8n8k4` differed from the chain, over numbers of like size, of
//! any exponent, subnormal, cancelling and close to overflow, and the drivers' tests hold the
//! kernel's own shape against it on the card at hand. AMD's f32 and f64 units are said to; they are
//! used only on a device that has passed a test of it.

use super::{key, self_test};
use crate::code::image::{gfx_base, sm_number};
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

/// AMD architectures whose f32 and f64 units may compute chains.
const TO_BE_TESTED: [&str; 2] = ["gfx90a", "gfx942"];

impl<R: GpuRuntime> GpuDevice<R> {
    /// Whether portable products of a dtype run on matrix units if they are large enough for tiles.
    /// The result has the same bits in either case. An AMD device tests its units when a product or
    /// this method first asks for them; while work is captured it does not, so an untested unit is
    /// not used.
    ///
    /// ```
    /// use isobit_hal::DType;
    /// use isobit_kernels::{GpuDevice, GpuRuntime};
    ///
    /// /// Lists the dtypes whose portable products run on matrix units.
    /// fn on_units<R: GpuRuntime>(device: &GpuDevice<R>) -> Vec<DType> {
    ///     let all = [DType::F8E4M3, DType::F16, DType::BF16, DType::F32, DType::F64];
    ///     all.into_iter().filter(|&dtype| device.uses_matrix_unit(dtype)).collect()
    /// }
    /// ```
    pub fn uses_matrix_unit(&self, dtype: DType) -> bool {
        is_on(self, dtype) || is_proven(self, dtype)
    }
}

/// Returns whether products of a dtype run on AMD's units: the device has the unit of the compute
/// type, and it has passed the test.
pub(crate) fn is_proven<R: GpuRuntime>(device: &GpuDevice<R>, dtype: DType) -> bool {
    let compute = match dtype {
        DType::F64 => DType::F64,
        DType::F8E4M3 | DType::F16 | DType::BF16 | DType::F32 => DType::F32,
        _ => return false,
    };
    let to_be_tested = R::TARGET == Target::Amdgcn && TO_BE_TESTED.contains(&gfx_base(device.runtime().arch()));
    to_be_tested && self_test::passes(device, compute)
}

/// Returns whether products of a dtype run on NVIDIA's units.
pub(super) fn is_on<R: GpuRuntime>(device: &GpuDevice<R>, dtype: DType) -> bool {
    dtype == DType::F64 && has_unit_code(device, key(dtype, UNIT), &FAST)
}

/// Returns whether a kernel uses units: the card is of one of these architectures, and the kernel's
/// code was compiled for an architecture that has units.
pub(crate) fn has_unit_code<R: GpuRuntime>(device: &GpuDevice<R>, kernel: Key, archs: &[&str]) -> bool {
    has_code_since(device, kernel, archs, UNITS_SINCE)
}

/// The number of the first architecture that has units.
const UNITS_SINCE: u32 = 80;

/// Returns whether the card is of one of these architectures, and loads a kernel's code that was
/// compiled for architecture `since` or a later one. A card may load that of an older one.
pub(super) fn has_code_since<R: GpuRuntime>(device: &GpuDevice<R>, kernel: Key, archs: &[&str], since: u32) -> bool {
    let arch = device.runtime().arch();
    if R::TARGET != Target::Nvptx || !archs.contains(&arch) {
        return false;
    }
    let entry = table::find(kernel).map(|index| table::KERNELS[index]);
    let packed = entry.and_then(|entry| table::IMAGES[entry.module].packed_arch(R::TARGET, arch));
    // Without packed code the module is compiled on the device, for its architecture.
    packed.is_none_or(|arch| is_since(arch, since))
}

fn is_since(arch: &str, since: u32) -> bool {
    sm_number(arch).is_some_and(|sm| sm >= since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_for_older_architectures_has_no_units() {
        assert!(!is_since("sm_75", UNITS_SINCE));
        assert!(FAST.into_iter().all(|arch| is_since(arch, UNITS_SINCE)));
    }
}
