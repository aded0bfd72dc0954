//! Functions of two arguments with recipes of a dtype that has no kernels for them: operands are
//! converted to f32, f32's kernels compute, and the result is rounded once. For f8e5m2 that is the
//! definition of these functions, and it costs no module of compiled code; it costs two passes and,
//! while the operation runs, four bytes for each element of each operand. Functions of one argument
//! have kernels (`function.cuh`), which are short and nine times as fast.

use super::{apply_into as apply, cast};
use crate::key::Key;
use crate::manifest::instances::has_recipes_of_f32;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, BinaryOp, Cast, DType, Layout, Op, Result, Scalar, Src, WithDType};

/// Whether an operation on elements of a dtype has no kernels of its own.
pub(super) fn is_needed(op: &Op, dtype: DType) -> bool {
    has_recipes_of_f32(dtype) && matches!(op, Op::Binary(BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot))
}

/// Returns the kernels that [`apply_into`] launches, all of which the table has.
///
/// # Errors
/// `UnsupportedDtype`, naming the missing kernel.
pub(super) fn kernels(op: &Op, dtype: DType) -> Result<Vec<Key>> {
    let cast = Op::Cast(Cast::default());
    let mut keys = super::kernels(&cast, &[dtype, DType::F32])?;
    keys.extend(super::kernels(op, &vec![DType::F32; op.inputs() + 1])?);
    keys.extend(super::kernels(&cast, &[DType::F32, dtype])?);
    Ok(keys)
}

pub(super) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let layout = Layout::contiguous(dst_layout.shape());
    let widened = |storage: &GpuStorage<R>, of: &Layout| -> Result<GpuStorage<R>> {
        let mut wide = dst.device().alloc(dst_layout.elem_count(), DType::F32)?;
        cast::to_dtype_of(&mut wide, &layout, storage, of)?;
        Ok(wide)
    };
    let mut wide = Vec::with_capacity(srcs.len());
    for src in srcs {
        wide.push(match (src, src.storage()) {
            (Src::Scalar(_), _) => None,
            (_, Some((storage, of))) => Some(widened(storage, of)?),
            (_, None) => Some(widened(dst, dst_layout)?),
        });
    }
    // The results replace the first operand that is no scalar.
    let at = wide.iter().position(Option::is_some).expect("an operation has an operand that is no scalar");
    let mut result = wide[at].take().expect("it was found");
    let operands: Vec<Src<'_, GpuStorage<R>>> = (srcs.iter().zip(&wide))
        .map(|(src, wide)| match (src, wide) {
            (Src::Scalar(value), _) => Src::Scalar(exact(*value)),
            (_, Some(wide)) => Src::Storage(wide, &layout),
            (_, None) => Src::InPlace,
        })
        .collect();
    apply(op, &operands, &mut result, &layout)?;
    cast::to_dtype_of(dst, dst_layout, &result, &layout)
}

/// Returns a narrow value as an f32, or any other unchanged.
fn exact(value: Scalar) -> Scalar {
    match value {
        Scalar::F8E5M2(x) => x.to_f32().to_scalar(),
        other => other,
    }
}
