//! Puts the operations of a graph together: which tensors they share, and in which order.

use super::node::{Description, Node};
use super::tensor::Tensor;
use crate::fused::{Action, Fused, Mode, Operation, Place, Tensor as Fusible};
use crate::status::{BAD_PARAM, DUPLICATED_ENTRIES, Outcome, SHAPE, ensure, fail};
use isobit_simgpu_math::convolution::Tensor as Layout;
use std::sync::Arc;

/// The tensors so far, by their identifiers.
#[derive(Default)]
struct Tensors<'a> {
    all: Vec<&'a Arc<Tensor>>,
    written: Vec<usize>,
    read: Vec<usize>,
}

impl<'a> Tensors<'a> {
    fn place(&mut self, tensor: &'a Arc<Tensor>) -> Outcome<usize> {
        let id = tensor.unique_id();
        let Some(at) = self.all.iter().position(|other| other.unique_id() == id) else {
            self.all.push(tensor);
            return Ok(self.all.len() - 1);
        };
        ensure(self.all[at] == tensor, DUPLICATED_ENTRIES, || format!("two tensors have the identifier {id}"))?;
        Ok(at)
    }

    fn read(&mut self, tensor: &'a Arc<Tensor>) -> Outcome<usize> {
        let at = self.place(tensor)?;
        ensure(tensor.place() != Place::Virtual || self.written.contains(&at), BAD_PARAM, || {
            format!("no operation has written the virtual tensor {} that one reads", tensor.unique_id())
        })?;
        self.read.push(at);
        Ok(at)
    }

    fn write(&mut self, tensor: &'a Arc<Tensor>) -> Outcome<usize> {
        let (at, id) = (self.place(tensor)?, tensor.unique_id());
        ensure(tensor.place() != Place::Host, BAD_PARAM, || format!("tensor {id} is a value, not a result"))?;
        ensure(!self.written.contains(&at), BAD_PARAM, || format!("two operations write tensor {id}"))?;
        ensure(!self.read.contains(&at), BAD_PARAM, || format!("tensor {id} is read before it is written"))?;
        self.written.push(at);
        Ok(at)
    }
}

/// Returns the graph of these operations.
pub(super) fn composed<'a>(nodes: impl Iterator<Item = &'a Node>) -> Outcome<Fused> {
    let mut tensors = Tensors::default();
    let operations = nodes.map(|node| operation(node, &mut tensors)).collect::<Outcome<_>>()?;
    let tensors = tensors.all.into_iter().map(|tensor| fusible(tensor)).collect::<Outcome<_>>()?;
    Ok(Fused { tensors, operations })
}

fn operation<'a>(node: &'a Node, tensors: &mut Tensors<'a>) -> Outcome<Operation> {
    let parts = node.parts()?;
    let read = parts.inputs.into_iter().map(|input| input.map(|t| tensors.read(t)).transpose());
    let [a, b, t, n, k] = read.collect::<Outcome<Vec<_>>>()?[..] else { return fail(BAD_PARAM, "too many inputs") };
    let (action, inputs, precision) = match parts.description {
        Description::Matmul(matmul) => (Action::Matmul { sizes: [t, n, k] }, [a, b, None], matmul.compute_type()),
        Description::Pointwise(pointwise) => {
            let mode = pointwise.mode()?;
            let axis = if mode == Mode::Index { pointwise.axis()? as usize } else { 0 };
            (Action::Pointwise { mode, axis }, [a, b, t], pointwise.precision())
        }
        Description::Reduction(reduction) => {
            (Action::Reduce(reduction.operator()?), [a, None, None], reduction.compute_type())
        }
    };
    let to = tensors.write(parts.result)?;
    Ok(Operation { action, inputs: inputs.into_iter().flatten().collect(), to, precision })
}

fn fusible(tensor: &Tensor) -> Outcome<Fusible> {
    let described = tensor.described();
    let matrices = |numbers: &[i64], last: usize| match *numbers {
        [a, b, c, d] => Ok([a as usize, b as usize, c as usize, d as usize, last]),
        _ => fail(SHAPE, format!("a tensor of {} dimensions in a graph of several operations", numbers.len())),
    };
    let layout = Layout { dims: matrices(&described.dims, 1)?, strides: matrices(&described.strides, 0)? };
    let (id, place) = (tensor.unique_id(), tensor.place());
    ensure(layout.extent().is_some(), SHAPE, || format!("tensor {id} exceeds the address space"))?;
    Ok(Fusible { id, data_type: described.data_type, layout, place, alignment: tensor.alignment() })
}
