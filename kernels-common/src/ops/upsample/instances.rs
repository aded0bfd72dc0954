//! Two kernels per element size for nearest neighbours, which move bits, and two per float dtype
//! for bilinear.

use super::combined_floats;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Any layout.
pub const ANY: u8 = 0;
/// Contiguous columns.
pub const BANDS: u8 = 1;
/// The operations' numbers in keys.
pub const NEAREST: usize = 0;
/// See [`NEAREST`].
pub const BILINEAR: usize = 1;

/// Returns the number of columns that a thread of [`BANDS`] computes: 16 bytes, limited by the
/// registers that hold their positions.
pub const fn width(size: usize) -> usize {
    if size == 1 { 8 } else { 16 / size }
}

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    let mut nearest = Module::new("upsample_nearest", "ops/upsample/upsample.cu");
    for (dtype, ty) in [(DType::U8, "u8"), (DType::I16, "u16"), (DType::U32, "u32"), (DType::I64, "u64")] {
        kernels(&mut nearest, NEAREST, "nearest", dtype, ty);
    }
    modules.push(nearest);
    for dtype in combined_floats() {
        let mut bilinear = Module::new(format!("upsample_bilinear_{dtype}"), "ops/upsample/upsample.cu");
        kernels(&mut bilinear, BILINEAR, "bilinear", dtype, dtype.as_str());
        modules.push(bilinear);
    }
}

fn kernels(module: &mut Module, op: usize, function: &str, dtype: DType, ty: &str) {
    let (name, bands) = (format!("upsample_{function}"), format!("{function}_bands"));
    let key = |variant| Key::new(Family::Upsample, op, &[dtype], variant);
    let width = width(dtype.size_in_bytes()).to_string();
    module.kernel(key(ANY), format!("{name}_{ty}"), "ISOBIT_UPSAMPLE", &[function, ty]);
    module.kernel(key(BANDS), format!("{name}_bands_{ty}"), "ISOBIT_UPSAMPLE_BANDS", &[&bands, ty, &width]);
}
