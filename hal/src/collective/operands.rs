//! The checks of a rank's own call, and what the ranks compare of their calls.

use super::call::{Call, Collective};
use crate::{
    BackendDevice, BackendStorage, DType, Error, ErrorKind, Layout, Op, Reduce, ReduceOp, Result, Src, validate,
};
use std::fmt;

/// What all ranks of a call must agree on. Displayed as `all_reduce(sum) of 6 f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) collective: Collective,
    /// `None` for a barrier.
    pub(super) dtype: Option<DType>,
    /// The elements of a rank's source; for a reduce-scatter, those of its result.
    pub(super) count: usize,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.collective.fmt(f)?;
        self.dtype.map_or(Ok(()), |dtype| write!(f, " of {} {dtype}", self.count))
    }
}

/// Checks a call of rank `rank` of `size`, before anything runs.
pub(super) fn check<D: BackendDevice>(
    call: &Call<'_, D::Storage>,
    device: &D,
    rank: usize,
    size: usize,
) -> Result<Signature> {
    let collective = call.collective;
    if let Some(other) = collective.other_rank().filter(|&other| other >= size) {
        return Err(invalid(format!("{collective} names rank {other}, but the communicator has {size} ranks")));
    }
    let src = match &call.src {
        Some(Src::Storage(src, layout)) => Some((*src, *layout)),
        Some(Src::InPlace) if matches!(collective, Collective::ReduceScatter(_)) => {
            return Err(invalid("reduce_scatter does not work in place: its source is larger than its result"));
        }
        Some(Src::InPlace) | None => None,
        Some(Src::Packed(_) | Src::Scalar(_)) => {
            return Err(invalid(format!("{collective} takes the elements of a storage: pass `Src::Storage`")));
        }
    };
    let dst = call.dst.as_ref().map(|(dst, layout)| (&**dst, *layout));
    if let Collective::Reduce { root, .. } = collective
        && dst.is_none()
        && (src.is_none() || root == rank)
    {
        let why = if src.is_none() { "works in place" } else { "is the root" };
        return Err(invalid(format!("rank {rank} {why} in {collective} and has no destination: pass one")));
    }
    if let Some((src, layout)) = src {
        validate::in_bounds(layout, src.len())?;
    }
    if let Some((dst, layout)) = dst {
        validate::destination(layout, dst.len())?;
    }
    let operands = || src.iter().chain(&dst);
    for (operand, _) in operands() {
        on_device(*operand, device)?;
    }
    let dtypes: Vec<DType> = operands().map(|(operand, _)| operand.dtype()).collect();
    let Some(&dtype) = dtypes.first() else { return Ok(Signature { collective, dtype: None, count: 0 }) };
    if dtypes.iter().any(|&other| other != dtype) {
        let message = format!("{collective} cannot turn elements of {dtype} into {}: cast them first", dtypes[1]);
        return Err(Error::new(ErrorKind::UnsupportedDtype, message).with_dtypes(&dtypes));
    }
    let op = match collective.reduce_op() {
        Some(op @ (ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean | ReduceOp::Min | ReduceOp::Max)) => {
            Op::Reduce(Reduce::new(op, &[0]))
        }
        Some(op) => return Err(invalid(format!("ranks are combined by sum, prod, mean, min or max, not by {op}"))),
        None => Op::Copy,
    };
    device.supports(&op, &[dtype; 2]).into_result()?;
    let count = count(collective, size, src.map(|(_, l)| l), dst.map(|(_, l)| l))?;
    Ok(Signature { collective, dtype: Some(dtype), count })
}

/// Checks the numbers of elements, and returns that of a signature. A source that is `None` is the
/// destination.
fn count(collective: Collective, size: usize, src: Option<&Layout>, dst: Option<&Layout>) -> Result<usize> {
    let [from, to] = [src, dst].map(|layout| layout.map(Layout::elem_count));
    // What one side has for each rank if the other has it once.
    let (of, each) = match collective {
        Collective::AllGather => (to, "destination"),
        Collective::ReduceScatter(_) => (from, "source"),
        Collective::AllToAll => (from.or(to), "source"),
        _ => (None, ""),
    };
    if let Some(n) = of.filter(|n| !n.is_multiple_of(size)) {
        let message = format!("the {each} of {collective} has {n} elements, which {size} ranks cannot share equally");
        return Err(mismatch(message, src, dst));
    }
    let (expected, found) = match collective {
        Collective::AllGather => (to.map(|n| n / size), from),
        Collective::ReduceScatter(_) => (from.map(|n| n / size), to),
        _ => (from, to),
    };
    match (expected, found) {
        (Some(expected), Some(found)) if expected != found => {
            let [from, to] = [from, to].map(Option::unwrap_or_default);
            let message =
                format!("{collective} over {size} ranks cannot turn {from} elements into {to}: they do not fit");
            Err(mismatch(message, src, dst))
        }
        (expected, found) => Ok(expected.or(found).unwrap_or_default()),
    }
}

fn on_device<S: BackendStorage>(operand: &S, device: &S::Device) -> Result<()> {
    if operand.device().same_device(device) {
        return Ok(());
    }
    let message = format!(
        "an operand lives on {}, and this rank's device is {}: copy it there first",
        operand.device().location(),
        device.location()
    );
    Err(Error::new(ErrorKind::DeviceMismatch, message))
}

fn mismatch(message: String, src: Option<&Layout>, dst: Option<&Layout>) -> Error {
    let layouts: Vec<&Layout> = src.into_iter().chain(dst).collect();
    Error::new(ErrorKind::ShapeMismatch, message).with_layouts(&layouts)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
