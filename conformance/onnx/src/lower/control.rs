//! Control flow: graphs within nodes. The host reads conditions and counts.

use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::stop::{Lowered, Stop};
use crate::tensor::{Tensor, axis_of};

pub(super) const TABLE: Table = &[("If", Rule::Code(branch)), ("Loop", Rule::Code(repeat)), ("Scan", Rule::Code(scan))];

fn missing(name: &str) -> Stop {
    Stop::Failed(format!("the graph `{name}` is missing"))
}

fn branch(call: &Call<'_>) -> Outputs {
    let is_true = call.ops().to_int(call.input(0)?)? != 0;
    let name = if is_true { "then_branch" } else { "else_branch" };
    call.evaluate(call.graph(name).ok_or_else(|| missing(name))?, Vec::new())
}

/// Joins slices that steps have made, along a new axis.
fn stacked(call: &Call<'_>, slices: &[Tensor], axis: usize) -> Lowered<Tensor> {
    let slices = slices.iter().map(|slice| slice.unsqueeze(axis)).collect::<Lowered<Vec<_>>>()?;
    call.ops().concat(&slices.iter().collect::<Vec<_>>(), axis)
}

/// Runs the body until the count or the condition ends it. The body takes the step, the condition
/// and the carried values, and returns the condition, the carried values, and slices.
fn repeat(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let body = call.graph("body").ok_or_else(|| missing("body"))?;
    let count = call.optional(0)?.map_or(Ok(i64::MAX), |count| ops.to_int(count))?;
    let mut condition = call.optional(1)?.map_or(Ok(1), |condition| ops.to_int(condition))? != 0;
    let mut carried: Vec<Tensor> = (2..call.inputs()).map(|at| call.input(at).cloned()).collect::<Lowered<_>>()?;
    let slices = body.outputs.len().checked_sub(1 + carried.len());
    let slices = slices.ok_or_else(|| Stop::Failed("the body gives fewer values than it takes".into()))?;
    let mut made: Vec<Vec<Tensor>> = vec![Vec::new(); slices];
    let mut step = 0;
    while step < count && condition {
        let flag = ops.upload(crate::element::Element::BOOL, &[], &[1])?;
        let inputs = [vec![ops.ints(&[], &[step])?, flag], carried].concat();
        let mut outputs = call.evaluate(body, inputs)?.into_iter();
        let next = outputs.next().ok_or_else(|| Stop::Failed("the body has no output".into()))?;
        condition = ops.to_int(&next)? != 0;
        let mut rest: Vec<Tensor> = outputs.collect();
        let new = rest.split_off(rest.len() - slices);
        made.iter_mut().zip(new).for_each(|(made, slice)| made.push(slice));
        carried = rest;
        step += 1;
    }
    if step == 0 && slices > 0 {
        return Err(call.form("no step, and slices of unknown shape"));
    }
    let made = made.iter().map(|slices| stacked(call, slices, 0)).collect::<Lowered<Vec<_>>>()?;
    Ok([carried, made].concat())
}

/// Runs the body for each slice of the inputs. Version 8 of the operators has a batch before the
/// axis, and the lengths of its sequences as first input.
fn scan(call: &Call<'_>) -> Outputs {
    let body = call.graph("body").ok_or_else(|| missing("body"))?;
    let scanned = size_of(call.int("num_scan_inputs").unwrap_or(0))?;
    let is_batched = call.opset() < 9;
    let first = usize::from(is_batched);
    if is_batched && call.optional(0)?.is_some() {
        return Err(call.form("sequences of different lengths"));
    }
    let operands: Vec<Tensor> = (first..call.inputs()).map(|at| call.input(at).cloned()).collect::<Lowered<_>>()?;
    let carried = operands.len().checked_sub(scanned);
    let carried = carried.ok_or_else(|| Stop::Failed(format!("{} inputs are no {scanned}", operands.len())))?;
    if !is_batched {
        return scan_once(call, body, operands, carried);
    }
    let batch = operands.first().and_then(|x| x.dims().first().copied()).unwrap_or(0);
    let mut entries = Vec::with_capacity(batch);
    for at in 0..batch {
        let part = operands.iter().map(|x| x.narrow(0, at, 1)?.squeeze(0)).collect::<Lowered<Vec<_>>>()?;
        entries.push(scan_once(call, body, part, carried)?);
    }
    let outputs = entries.first().map_or(0, Vec::len);
    let output = |at: usize| {
        let parts: Vec<Tensor> = entries.iter().map(|entry| entry[at].clone()).collect();
        stacked(call, &parts, 0)
    };
    (0..outputs).map(output).collect()
}

fn scan_once(call: &Call<'_>, body: &crate::case::Graph, operands: Vec<Tensor>, count: usize) -> Outputs {
    let (mut carried, scanned) = (operands[..count].to_vec(), &operands[count..]);
    let slices = body.outputs.len().checked_sub(count);
    let slices = slices.ok_or_else(|| Stop::Failed("the body gives fewer values than it takes".into()))?;
    let listed = |name, at: usize| call.ints(name).and_then(|values| values.get(at).copied()).unwrap_or(0);
    let axes: Vec<usize> = scanned
        .iter()
        .enumerate()
        .map(|(at, x)| axis_of(listed("scan_input_axes", at), x.rank()))
        .collect::<Lowered<_>>()?;
    let steps = scanned.first().map_or(0, |x| x.dims()[axes[0]]);
    let mut made: Vec<Vec<Tensor>> = vec![Vec::new(); slices];
    for step in 0..steps {
        let slice = |(at, x): (usize, &Tensor)| {
            let place = if listed("scan_input_directions", at) == 1 { steps - 1 - step } else { step };
            x.narrow(axes[at], place, 1)?.squeeze(axes[at])
        };
        let inputs = scanned.iter().enumerate().map(slice).collect::<Lowered<Vec<_>>>()?;
        let mut outputs = call.evaluate(body, [carried, inputs].concat())?;
        let new = outputs.split_off(count);
        carried = outputs;
        made.iter_mut().zip(new).for_each(|(made, slice)| made.push(slice));
    }
    if steps == 0 && slices > 0 {
        return Err(call.form("no step, and slices of unknown shape"));
    }
    for (at, slices) in made.iter_mut().enumerate() {
        if listed("scan_output_directions", at) == 1 {
            slices.reverse();
        }
        let axis = axis_of(listed("scan_output_axes", at), slices[0].rank() + 1)?;
        carried.push(stacked(call, slices, axis)?);
    }
    Ok(carried)
}
