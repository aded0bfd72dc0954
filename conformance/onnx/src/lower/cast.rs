//! Changes of the element type.

use super::{Rule, Table};
use crate::element::Element;
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{Cast, CmpOp};

pub(super) const TABLE: Table =
    &[("Cast", Rule::Code(cast)), ("CastLike", Rule::Code(cast_like)), ("BitCast", Rule::Code(bit_cast))];

/// Casts to an element type, by the rules of ONNX.
pub(super) fn convert(ops: &Ops, x: &Tensor, to: Element, saturates: bool) -> Lowered<Tensor> {
    if to.is_bool {
        return if x.element().is_bool { Ok(x.clone()) } else { ops.compare_with(CmpOp::Ne, x, 0.0) };
    }
    ops.cast_with(x, to.dtype, rule(saturates))
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
    Ok(vec![convert(call.ops(), call.input(0)?, to, saturates(call))?])
}

fn cast_like(call: &Call<'_>) -> Outputs {
    Ok(vec![convert(call.ops(), call.input(0)?, call.input(1)?.element(), saturates(call))?])
}

/// The bytes of the elements, taken as those of another type of the same size.
fn bit_cast(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let to = call.element("to")?.ok_or_else(|| Stop::Failed("the attribute `to` is missing".into()))?;
    Ok(vec![ops.upload(to, x.dims(), &ops.bytes(x)?)?])
}
