//! Three kernels per operation and dtype, one more per narrow dtype, and one per accumulator type.
//! Signed integers share the kernels of sums and products with the unsigned ones.

use super::{combined, without_sign};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{DType, ScanOp};

/// Contiguous sequences.
pub const ROWS: u8 = 0;
/// The totals of the tiles of contiguous sequences.
pub const TOTALS: u8 = 1;
/// What comes before each tile, from the totals.
pub const BEFORE: u8 = 2;
/// Adjacent sequences, in any layout.
pub const COLUMNS: u8 = 3;

/// The same, two sequences per thread: of dtypes with [`has_pairs`].
pub const COLUMN_PAIRS: u8 = 4;

/// Whether two sequences per thread are worth kernels: an element alone is a small access.
pub const fn has_pairs(dtype: DType) -> bool {
    dtype.size_in_bytes() <= 2
}

/// Returns the dtype in which an operation is computed.
pub const fn accumulator(op: ScanOp, dtype: DType) -> DType {
    match dtype {
        DType::F64 | DType::I64 => dtype,
        _ if dtype.is_float() => DType::F32,
        DType::I8 | DType::I16 | DType::I32 if has_sign(op) => DType::I32,
        _ => DType::U32,
    }
}

/// Whether the sign of an integer dtype changes the results.
const fn has_sign(op: ScanOp) -> bool {
    matches!(op, ScanOp::Min | ScanOp::Max)
}

/// Returns the dtype whose kernels a dtype uses: running sums and products of integers have the
/// same bits whether they are signed or not.
const fn carrier(op: ScanOp, dtype: DType) -> DType {
    if has_sign(op) { dtype } else { without_sign(dtype) }
}

/// Returns the key of a kernel.
pub const fn key(op: ScanOp, dtype: DType, variant: u8) -> Key {
    Key::new(Family::Scan, op.index(), &[carrier(op, dtype)], variant)
}

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for &op in ScanOp::ALL {
        for dtype in combined().filter(|&dtype| carrier(op, dtype) == dtype) {
            let (ty, function) = (dtype.as_str(), format!("{op:?}"));
            let mut module = Module::new(format!("scan_{op}_{dtype}"), "ops/scan/scan.cu");
            let key = |variant| key(op, dtype, variant);
            let mut rows = |variant, name, kind| {
                let symbol = format!("{op}_{name}_{dtype}");
                module.kernel(key(variant), symbol, "ISOBIT_SCAN_ROWS", &[kind, &function, ty]);
            };
            rows(ROWS, "rows", "RESULTS");
            rows(TOTALS, "totals", "TOTALS");
            if accumulator(op, dtype).index() == dtype.index() {
                rows(BEFORE, "before", "BEFORE");
            }
            let mut columns = |variant, name, each| {
                let symbol = format!("{op}_{name}_{dtype}");
                module.kernel(key(variant), symbol, "ISOBIT_SCAN_COLUMNS", &[&function, each, ty]);
            };
            columns(COLUMNS, "columns", "1");
            if has_pairs(dtype) {
                columns(COLUMN_PAIRS, "column_pairs", "2");
            }
            modules.push(module);
        }
    }
}
