//! The operation families. Each folder has the kernels and the launch code of one family.

pub(crate) mod affine;
pub(crate) mod attention;
pub(crate) mod bias_activation;
pub(crate) mod binary;
pub(crate) mod cast;
mod channels;
pub(crate) mod compact;
pub(crate) mod compare;
pub(crate) mod conv;
pub(crate) mod copy;
mod dense;
pub(crate) mod fill;
pub(crate) mod grid_sample;
pub(crate) mod index_map;
pub(crate) mod indexing;
pub(crate) mod matmul;
pub(crate) mod norm;
pub(crate) mod packed;
pub(crate) mod pooling;
mod positions;
pub(crate) mod quantized;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod resize;
pub(crate) mod rope;
pub(crate) mod scan;
pub(crate) mod select;
pub(crate) mod sort;
mod through_f32;
pub(crate) mod triangle;
pub(crate) mod unary;
pub(crate) mod upsample;

use crate::code::table;
use crate::key::{Family, Key};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Error, ErrorKind, Layout, Op, Result, Src};

/// Calls a function of the family that an operation belongs to.
macro_rules! in_family {
    ($op:expr, $function:ident($($arg:expr),*)) => {
        match $op.family() {
            Family::Fill => fill::$function($($arg),*),
            Family::Copy => copy::$function($($arg),*),
            Family::Cast => cast::$function($($arg),*),
            Family::Affine => affine::$function($($arg),*),
            Family::Unary => unary::$function($($arg),*),
            Family::Binary => binary::$function($($arg),*),
            Family::Compare => compare::$function($($arg),*),
            Family::Select => select::$function($($arg),*),
            Family::BiasActivation => bias_activation::$function($($arg),*),
            Family::Reduce => reduce::$function($($arg),*),
            Family::Matmul => matmul::$function($($arg),*),
            Family::Triangle => triangle::$function($($arg),*),
            Family::Scan => scan::$function($($arg),*),
            Family::Norm => norm::$function($($arg),*),
            Family::Rope => rope::$function($($arg),*),
            Family::Attention => attention::$function($($arg),*),
            Family::Sort => sort::$function($($arg),*),
            Family::Indexing => indexing::$function($($arg),*),
            Family::Compact => compact::$function($($arg),*),
            Family::Conv => conv::$function($($arg),*),
            Family::Pooling => pooling::$function($($arg),*),
            Family::Upsample => upsample::$function($($arg),*),
            Family::GridSample => grid_sample::$function($($arg),*),
            Family::Resize => resize::$function($($arg),*),
            Family::IndexMap => index_map::$function($($arg),*),
            Family::Random => random::$function($($arg),*),
            Family::Packed => packed::$function($($arg),*),
            Family::Quantized => quantized::$function($($arg),*),
        }
    };
}

/// Runs a validated operation.
///
/// # Errors
/// The errors of the family.
pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    if through_f32::is_needed(op, dst.dtype()) {
        return through_f32::apply_into(op, srcs, dst, dst_layout);
    }
    in_family!(op, apply_into(op, srcs, dst, dst_layout))
}

/// Returns an input that validation guarantees not to be the destination itself.
pub(crate) fn stored<'a, R: GpuRuntime>(
    srcs: &[Src<'a, GpuStorage<R>>],
    input: usize,
) -> (&'a GpuStorage<R>, &'a Layout) {
    srcs[input].storage().expect("validated not to be the destination")
}

/// Returns the kernels that an operation may launch for these dtypes, all of which the table has.
/// The dtypes must suit the operation.
///
/// # Errors
/// `UnsupportedDtype`, naming the missing kernel.
pub(crate) fn kernels(op: &Op, dtypes: &[DType]) -> Result<Vec<Key>> {
    if let Some(&dtype) = dtypes.last()
        && through_f32::is_needed(op, dtype)
    {
        return through_f32::kernels(op, dtype);
    }
    let keys: Vec<Key> = in_family!(op, keys(op, dtypes));
    if !keys.is_empty() && keys.iter().all(|&k| table::find(k).is_some()) {
        return Ok(keys);
    }
    let names: Vec<_> = dtypes.iter().map(|d| d.as_str()).collect();
    Err(Error::new(
        ErrorKind::UnsupportedDtype,
        format!("the GPU drivers have no {op} kernel for ({})", names.join(", ")),
    ))
}
