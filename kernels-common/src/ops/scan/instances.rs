//! Three kernels for each dtype, and one for each type that sums are made in. Integers that differ
//! in their sign alone have the same ones.

use super::without_sign;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Sequences without gaps.
pub const ROWS: u8 = 0;
/// The totals of their tiles.
pub const TOTALS: u8 = 1;
/// The sums before each tile, of the totals.
pub const BEFORE: u8 = 2;
/// Sequences side by side, in any layout.
pub const COLUMNS: u8 = 3;

/// The dtype whose bits sums are made in.
pub const fn accumulator(dtype: DType) -> DType {
    match dtype {
        DType::F64 | DType::I64 => dtype,
        _ if dtype.is_float() => DType::F32,
        _ => DType::U32,
    }
}

/// The key of a kernel. Running sums of integers are the same bits with a sign or without.
pub const fn key(dtype: DType, variant: u8) -> Key {
    Key::new(Family::Scan, 0, &[without_sign(dtype)], variant)
}

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL.iter().filter(|&&dtype| without_sign(dtype) == dtype) {
        let ty = dtype.as_str();
        let mut module = Module::new(format!("scan_{dtype}"), "ops/scan/scan.cu");
        let key = |variant| key(dtype, variant);
        module.kernel(key(ROWS), format!("cumsum_rows_{dtype}"), "ISOBIT_SCAN_ROWS", &["SUMS", ty]);
        module.kernel(key(TOTALS), format!("cumsum_totals_{dtype}"), "ISOBIT_SCAN_ROWS", &["TOTALS", ty]);
        module.kernel(key(COLUMNS), format!("cumsum_columns_{dtype}"), "ISOBIT_SCAN_COLUMNS", &[ty]);
        if accumulator(dtype).index() == dtype.index() {
            module.kernel(key(BEFORE), format!("cumsum_before_{dtype}"), "ISOBIT_SCAN_ROWS", &["EXCLUSIVE", ty]);
        }
        modules.push(module);
    }
}
