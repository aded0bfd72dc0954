//! The operation families: kernel and launch code of each in one folder.

pub(crate) mod affine;
pub(crate) mod binary;
pub(crate) mod cast;
pub(crate) mod compare;
pub(crate) mod copy;
pub(crate) mod fill;
pub(crate) mod matmul;
pub(crate) mod reduce;
pub(crate) mod ternary;
pub(crate) mod unary;

use crate::table;
use isobit_hal::{DType, Error, ErrorKind, Op, Result};

/// Whether the table has every kernel that an operation may launch for these dtypes, which suit the operation.
///
/// # Errors
/// `UnsupportedDtype`, naming what is missing.
pub(crate) fn check_kernels(op: &Op, dtypes: &[DType]) -> Result<()> {
    let keys = match op {
        Op::ConstSet => fill::keys(dtypes[0]),
        Op::Copy | Op::Copy2d(_) => copy::keys(op, dtypes),
        Op::Cast => cast::keys(op, dtypes),
        Op::Affine(_) | Op::Powf(_) | Op::Elu(_) => affine::keys(op, dtypes),
        Op::Unary(_) => unary::keys(op, dtypes),
        Op::Binary(_) => binary::keys(op, dtypes),
        Op::Cmp(_) => compare::keys(op, dtypes),
        Op::WhereCond => ternary::keys(op, dtypes),
        Op::Reduce(_) => reduce::keys(op, dtypes),
        Op::Matmul(_) => matmul::keys(op, dtypes),
        _ => Vec::new(),
    };
    if !keys.is_empty() && keys.iter().all(|&k| table::find(k).is_some()) {
        return Ok(());
    }
    let names: Vec<_> = dtypes.iter().map(|d| d.as_str()).collect();
    Err(Error::new(
        ErrorKind::UnsupportedDtype,
        format!("the GPU drivers have no {op} kernel for ({})", names.join(", ")),
    ))
}
