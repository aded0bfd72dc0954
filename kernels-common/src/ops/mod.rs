//! The operation families: kernel and launch code of each in one folder.

pub(crate) mod activation;
pub(crate) mod affine;
pub(crate) mod binary;
pub(crate) mod cast;
pub(crate) mod compare;
pub(crate) mod conv;
pub(crate) mod copy;
pub(crate) mod fill;
pub(crate) mod indexing;
pub(crate) mod matmul;
pub(crate) mod norm;
pub(crate) mod pool;
pub(crate) mod quantized;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod rope;
pub(crate) mod scan;
pub(crate) mod sort;
pub(crate) mod ternary;
pub(crate) mod triangle;
pub(crate) mod unary;
pub(crate) mod upsample;

use crate::code::table;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{DType, Error, ErrorKind, Layout, Op, Result, Src};

/// Calls a function of the family that an operation belongs to; an operation that belongs to none gives the other value.
macro_rules! in_family {
    ($op:expr, $function:ident($($arg:expr),*), $none:expr) => {
        match $op {
            Op::Copy | Op::Copy2d(_) => copy::$function($($arg),*),
            Op::Cast => cast::$function($($arg),*),
            Op::Affine(_) | Op::Powf(_) | Op::Elu(_) | Op::Clamp(_) => affine::$function($($arg),*),
            Op::Unary(_) => unary::$function($($arg),*),
            Op::Binary(_) => binary::$function($($arg),*),
            Op::Cmp(_) => compare::$function($($arg),*),
            Op::WhereCond => ternary::$function($($arg),*),
            Op::AddActivation(_) => activation::$function($($arg),*),
            Op::Triangle(_) => triangle::$function($($arg),*),
            Op::Reduce(_) => reduce::$function($($arg),*),
            Op::CumSum(_) => scan::$function($($arg),*),
            Op::Matmul(_) => matmul::$function($($arg),*),
            Op::Softmax | Op::LogSoftmax | Op::RmsNorm { .. } | Op::LayerNorm { .. } => norm::$function($($arg),*),
            Op::Rope(_) => rope::$function($($arg),*),
            Op::Sort(_) | Op::ArgSort(_) | Op::TopK(_) | Op::ArgTopK(_) => sort::$function($($arg),*),
            Op::Gather { .. }
            | Op::IndexSelect { .. }
            | Op::ScatterSet { .. }
            | Op::ScatterAdd { .. }
            | Op::IndexAdd { .. } => indexing::$function($($arg),*),
            Op::Conv1d(_) | Op::Conv2d(_) | Op::ConvTranspose1d(_) | Op::ConvTranspose2d(_) => {
                conv::$function($($arg),*)
            }
            Op::AvgPool2d(_) | Op::MaxPool2d(_) => pool::$function($($arg),*),
            Op::UpsampleNearest1d(_) | Op::UpsampleNearest2d(_) | Op::UpsampleBilinear2d(_) => {
                upsample::$function($($arg),*)
            }
            Op::RandUniform(_) | Op::RandNormal(_) => random::$function($($arg),*),
            Op::Quantize(_) | Op::Dequantize(_) | Op::QMatmul(_) | Op::QMatmulId(_) => {
                quantized::$function($($arg),*)
            }
            _ => $none,
        }
    };
}

/// Runs an operation that was validated.
///
/// # Errors
/// Those of the family.
pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    in_family!(op, apply_into(op, srcs, dst, dst_layout), {
        Err(Error::new(ErrorKind::InvalidArgument, format!("{op} is a call of its own")))
    })
}

/// An input that was validated to be no destination.
pub(crate) fn stored<'a, R: GpuRuntime>(
    srcs: &[Src<'a, GpuStorage<R>>],
    input: usize,
) -> (&'a GpuStorage<R>, &'a Layout) {
    srcs[input].storage().expect("validated to be no destination")
}

/// Whether the table has every kernel that an operation may launch for these dtypes, which suit the operation.
///
/// # Errors
/// `UnsupportedDtype`, naming what is missing.
pub(crate) fn check_kernels(op: &Op, dtypes: &[DType]) -> Result<()> {
    let keys = match op {
        Op::ConstSet => fill::keys(dtypes[0]),
        _ => in_family!(op, keys(op, dtypes), Vec::new()),
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
