//! Three kernels per dtype, and one per accumulator type. Signed integers share the kernels of the
//! unsigned ones.

use super::without_sign;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Contiguous sequences.
pub const ROWS: u8 = 0;
/// The totals of the tiles of contiguous sequences.
pub const TOTALS: u8 = 1;
/// The sums before each tile, from the totals.
pub const BEFORE: u8 = 2;
/// Adjacent sequences, in any layout.
pub const COLUMNS: u8 = 3;

/// Returns the dtype in which sums are computed.
pub const fn accumulator(dtype: DType) -> DType {
    match dtype {
        DType::F64 | DType::I64 => dtype,
        _ if dtype.is_float() => DType::F32,
        _ => DType::U32,
    }
}

/// Returns the key of a kernel. Running sums of integers have the same bits whether they are signed
/// or not.
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
