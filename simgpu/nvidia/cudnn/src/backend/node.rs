//! Operations that are parts of larger graphs: `CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR`,
//! `CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR` and
//! `CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR`.

use super::attribute::{Room, Values};
use super::matmul::Matmul;
use super::object::{Body, foreign, missing};
use super::pointwise::Pointwise;
use super::reduction::Reduction;
use super::tensor::Tensor;
use crate::fused::Mode;
use crate::problem::INT32;
use crate::status::{BAD_PARAM, Outcome, ensure};
use std::ffi::c_int;
use std::sync::Arc;

pub(super) const POINTWISE: c_int = 13;
pub(super) const MATMUL: c_int = 19;
pub(super) const REDUCTION: c_int = 22;

/// The numbers of an operation's attributes: its description, its inputs, and its result.
struct Names {
    description: c_int,
    inputs: &'static [c_int],
    result: c_int,
}

/// The sizes m, n and k of each batch entry are inputs after the matrices.
const MATMUL_NAMES: Names = Names { description: 1523, inputs: &[1520, 1521, 1525, 1526, 1527], result: 1522 };
const POINTWISE_NAMES: Names = Names { description: 750, inputs: &[751, 752, 758], result: 753 };
const REDUCTION_NAMES: Names = Names { description: 1612, inputs: &[1610], result: 1611 };

const MOST_INPUTS: usize = MATMUL_NAMES.inputs.len();

/// What an operation does.
#[derive(Debug, Clone)]
pub(super) enum Description {
    Matmul(Arc<Matmul>),
    Pointwise(Arc<Pointwise>),
    Reduction(Arc<Reduction>),
}

/// An operation.
#[derive(Debug)]
pub(super) struct Node {
    kind: c_int,
    description: Option<Description>,
    inputs: [Option<Arc<Tensor>>; MOST_INPUTS],
    result: Option<Arc<Tensor>>,
}

/// The parts of a finalized operation.
pub(super) struct Parts<'a> {
    pub(super) description: &'a Description,
    pub(super) inputs: [Option<&'a Arc<Tensor>>; MOST_INPUTS],
    pub(super) result: &'a Arc<Tensor>,
}

impl Node {
    pub(super) fn new(kind: c_int) -> Self {
        Self { kind, description: None, inputs: [const { None }; MOST_INPUTS], result: None }
    }

    fn names(&self) -> Names {
        match self.kind {
            MATMUL => MATMUL_NAMES,
            POINTWISE => POINTWISE_NAMES,
            _ => REDUCTION_NAMES,
        }
    }

    pub(super) fn parts(&self) -> Outcome<Parts<'_>> {
        let Some(description) = &self.description else { return missing("the description of the operation") };
        let Some(result) = &self.result else { return missing("the result of the operation") };
        Ok(Parts { description, inputs: self.inputs.each_ref().map(Option::as_ref), result })
    }
}

impl Body for Node {
    fn kind(&self) -> c_int {
        self.kind
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        let names = self.names();
        if let Some(i) = names.inputs.iter().position(|&input| input == name) {
            self.inputs[i] = Some(values.body()?);
        } else if name == names.result {
            self.result = Some(values.body()?);
        } else if name == names.description {
            self.description = Some(match self.kind {
                MATMUL => Description::Matmul(values.body()?),
                POINTWISE => Description::Pointwise(values.body()?),
                _ => Description::Reduction(values.body()?),
            });
        } else {
            return foreign(self.kind, name);
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        let parts = self.parts()?;
        let to = parts.result.dims();
        match parts.description {
            Description::Matmul(_) => check_matmul(&parts),
            Description::Pointwise(pointwise) => check_pointwise(&parts, pointwise),
            Description::Reduction(_) => {
                let [Some(from), ..] = parts.inputs else { return missing("the input of the reduction") };
                ensure(is_spread(to, from.dims()), BAD_PARAM, || {
                    format!("a reduction from sizes {:?} to {to:?}", from.dims())
                })
            }
        }
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        let names = self.names();
        if let Some(i) = names.inputs.iter().position(|&input| input == name) {
            room.fill(self.inputs[i].as_slice())
        } else if name == names.result {
            room.fill(self.result.as_slice())
        } else if name == names.description {
            match &self.description {
                Some(Description::Matmul(body)) => room.fill(std::slice::from_ref(body)),
                Some(Description::Pointwise(body)) => room.fill(std::slice::from_ref(body)),
                Some(Description::Reduction(body)) => room.fill(std::slice::from_ref(body)),
                None => room.fill::<Matmul>(&[]),
            }
        } else {
            foreign(self.kind, name)
        }
    }
}

/// Whether each size is 1 or the same as in `to`.
fn is_spread(from: &[i64], to: &[i64]) -> bool {
    from.len() == to.len() && from.iter().zip(to).all(|(&from, &to)| from == 1 || from == to)
}

/// The heads of a factor may be fewer than those of the result: then neighbouring heads share one.
fn check_matmul(parts: &Parts<'_>) -> Outcome {
    let [Some(a), Some(b), sizes @ ..] = parts.inputs else { return missing("a factor of the product") };
    let (a, b, to) = (a.dims(), b.dims(), parts.result.dims());
    let rank = to.len();
    let fits = rank >= 2 && a.len() == rank && b.len() == rank && {
        let (outer, heads) = (rank - 2, rank.checked_sub(3));
        let shared = |from: &[i64]| {
            (0..outer).all(|d| from[d] == 1 || from[d] == to[d] || Some(d) == heads && to[d] % from[d] == 0)
        };
        let matrix = |t: &[i64]| [t[outer], t[outer + 1]];
        let ([m, k], [k_of_b, n]) = (matrix(a), matrix(b));
        shared(a) && shared(b) && k == k_of_b && matrix(to) == [m, n]
    };
    ensure(fits, BAD_PARAM, || format!("a product of sizes {a:?} and {b:?} does not have sizes {to:?}"))?;
    sizes.into_iter().flatten().try_for_each(|size| {
        let dims = size.dims();
        let is_fit = is_spread(dims, to) && dims[1..].iter().all(|&n| n == 1) && size.data_type() == INT32;
        ensure(is_fit, BAD_PARAM, || {
            format!("sizes of batch entries in a tensor of {dims:?}, or not of 32-bit integers")
        })
    })
}

fn check_pointwise(parts: &Parts<'_>, pointwise: &Pointwise) -> Outcome {
    let (mode, to) = (pointwise.mode()?, parts.result.dims());
    let given: Vec<_> = parts.inputs.into_iter().flatten().collect();
    let has_first = parts.inputs[..mode.inputs()].iter().all(Option::is_some);
    ensure(has_first && given.len() == mode.inputs(), BAD_PARAM, || {
        format!("{mode:?} takes the first {} inputs, not {}", mode.inputs(), given.len())
    })?;
    // The result has no sizes of its own.
    let fits = given.iter().all(|input| is_spread(input.dims(), to))
        && (0..to.len()).all(|d| given.iter().any(|input| input.dims()[d] == to[d]));
    ensure(fits, BAD_PARAM, || {
        let from: Vec<_> = given.iter().map(|input| input.dims()).collect();
        format!("{mode:?} of sizes {from:?} does not have sizes {to:?}")
    })?;
    if mode == Mode::Index {
        let axis = pointwise.axis()?;
        ensure((0..to.len() as i64).contains(&axis), BAD_PARAM, || format!("the index along axis {axis} of {to:?}"))?;
    }
    Ok(())
}
