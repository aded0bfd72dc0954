//! Changes of the element type.

use super::{Rule, Table};
use crate::element::{Element, Kind};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{BackendStorage, Cast, CmpOp, DType, Op, Pack};

pub(super) const TABLE: Table =
    &[("Cast", Rule::Code(cast)), ("CastLike", Rule::Code(cast_like)), ("BitCast", Rule::Code(bit_cast))];

/// Casts to an element type, by the rules of ONNX.
pub(super) fn convert(ops: &Ops, x: &Tensor, to: Element, saturates: bool) -> Lowered<Tensor> {
    if let Kind::Packed(packed) = to.kind {
        let pack = if saturates { Pack::new(packed) } else { Pack::non_saturating(packed) };
        return through(ops, x, pack, to);
    }
    if to.is_bool() {
        return if x.element().is_bool() { Ok(x.clone()) } else { ops.compare_with(CmpOp::Ne, x, 0.0) };
    }
    ops.cast_with(x, to.dtype, rule(saturates))
}

/// Packs the elements and unpacks them again, which gives them the values of a packed type.
pub(super) fn through(ops: &Ops, x: &Tensor, pack: Pack, to: Element) -> Lowered<Tensor> {
    let x = match x.dtype() {
        DType::F32 | DType::F16 | DType::BF16 | DType::F64 | DType::U8 | DType::I8 | DType::I32 => x.clone(),
        other if other.is_float() => ops.cast(x, DType::F32)?,
        // Only the low bits of an integer count, and those stay.
        _ => ops.cast(x, DType::I32)?,
    };
    let row = ops.reshape(&x, &[x.len()])?;
    let rows = ops.apply(&Op::Pack(pack), &[&row])?;
    let values = rows.storage().unpack(rows.layout(), pack.dtype, x.len(), to.dtype)?;
    Ok(Tensor::new(values, x.dims()).of(to.kind))
}

fn rule(saturates: bool) -> Cast {
    if saturates { Cast::saturating() } else { Cast::non_saturating() }
}

/// What floats of 8 bits give beyond their largest number.
pub(super) fn saturates(call: &Call<'_>) -> bool {
    call.int("saturate").unwrap_or(1) != 0
}

fn cast(call: &Call<'_>) -> Outputs {
    let to = call.element("to")?.ok_or_else(|| Stop::Failed("the attribute `to` is missing".into()))?;
    Ok(vec![cast_to(call, to)?])
}

fn cast_like(call: &Call<'_>) -> Outputs {
    Ok(vec![cast_to(call, call.input(1)?.element())?])
}

/// ONNX leaves open what becomes of floats beyond the range of an integer. Its expected values wrap
/// for integers of two and four bits, so they are truncated to wider ones first.
fn cast_to(call: &Call<'_>, to: Element) -> Lowered<Tensor> {
    let (ops, x) = (call.ops(), call.input(0)?);
    match to.kind {
        Kind::Packed(packed) if packed.is_int() => convert(ops, &ops.cast(x, DType::I32)?, to, true),
        _ => convert(ops, x, to, saturates(call)),
    }
}

/// The bytes of the elements, taken as those of another type of the same size.
fn bit_cast(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let to = call.element("to")?.ok_or_else(|| Stop::Failed("the attribute `to` is missing".into()))?;
    Ok(vec![ops.upload(to, x.dims(), &ops.bytes(x)?)?])
}
