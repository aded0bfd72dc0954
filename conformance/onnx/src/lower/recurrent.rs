//! Recurrent layers.

use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::UnaryOp;

pub(super) const TABLE: Table = &[
    ("RNN", Rule::Code(|call| layer(call, 1))),
    ("GRU", Rule::Code(|call| layer(call, 3))),
    ("LSTM", Rule::Code(|call| layer(call, 4))),
];

/// The parameters of one direction.
struct Direction {
    /// `[gates * hidden, input]` and `[gates * hidden, hidden]`, transposed.
    input: Tensor,
    hidden: Tensor,
    /// `[gates * hidden]` each.
    input_bias: Tensor,
    hidden_bias: Tensor,
    /// `[3 * hidden]`, of a LSTM.
    peepholes: Option<Tensor>,
    gates: usize,
    linear_before_reset: bool,
}

/// The state: the output, and that of the cell of a LSTM.
struct State {
    output: Tensor,
    cell: Option<Tensor>,
}

impl Direction {
    fn of(call: &Call<'_>, at: usize, gates: usize) -> Lowered<Self> {
        let ops = call.ops();
        let part = |x: &Tensor| x.narrow(0, at, 1)?.squeeze(0);
        let (input, hidden) = (part(call.input(1)?)?, part(call.input(2)?)?);
        let rows = hidden.dims()[0];
        let biases = match call.optional(3)? {
            Some(biases) => part(biases)?,
            None => ops.fill(hidden.dtype(), &[2 * rows], 0.0)?,
        };
        Ok(Self {
            input: input.transpose(0, 1)?,
            hidden: hidden.transpose(0, 1)?,
            input_bias: biases.narrow(0, 0, rows)?,
            hidden_bias: biases.narrow(0, rows, rows)?,
            peepholes: call.optional(7)?.map(part).transpose()?,
            gates,
            linear_before_reset: call.flag("linear_before_reset"),
        })
    }

    /// One step of time.
    fn step(&self, ops: &Ops, x: &Tensor, state: &State) -> Lowered<State> {
        let from_input = ops.add(&ops.matmul(x, &self.input)?, &self.input_bias)?;
        let size = state.output.dims()[1];
        let gate = |x: &Tensor, at: usize| x.narrow(1, at * size, size);
        let from_hidden = ops.add(&ops.matmul(&state.output, &self.hidden)?, &self.hidden_bias)?;
        let (sigmoid, tanh) = (|x: &Tensor| ops.unary(UnaryOp::Sigmoid, x), |x: &Tensor| ops.unary(UnaryOp::Tanh, x));
        let both = |at| ops.add(&gate(&from_input, at)?, &gate(&from_hidden, at)?);
        match (self.gates, &state.cell) {
            (1, _) => Ok(State { output: tanh(&both(0)?)?, cell: None }),
            (3, _) => {
                let (update, reset) = (sigmoid(&both(0)?)?, sigmoid(&both(1)?)?);
                let recurrent = if self.linear_before_reset {
                    ops.mul(&reset, &gate(&from_hidden, 2)?)?
                } else {
                    let weights = gate(&self.hidden, 2)?;
                    let bias = self.hidden_bias.narrow(0, 2 * size, size)?;
                    ops.add(&ops.matmul(&ops.mul(&reset, &state.output)?, &weights)?, &bias)?
                };
                let candidate = tanh(&ops.add(&gate(&from_input, 2)?, &recurrent)?)?;
                let new = ops.mul(&ops.affine(&update, -1.0, 1.0)?, &candidate)?;
                Ok(State { output: ops.add(&new, &ops.mul(&update, &state.output)?)?, cell: None })
            }
            (_, Some(cell)) => {
                // The gates are those of input, output, forgetting, and the cell.
                let peek = |x: Tensor, at: usize, cell: &Tensor| match &self.peepholes {
                    Some(weights) => ops.add(&x, &ops.mul(&weights.narrow(0, at * size, size)?, cell)?),
                    None => Ok(x),
                };
                let admit = sigmoid(&peek(both(0)?, 0, cell)?)?;
                let keep = sigmoid(&peek(both(2)?, 2, cell)?)?;
                let new = ops.add(&ops.mul(&keep, cell)?, &ops.mul(&admit, &tanh(&both(3)?)?)?)?;
                let emit = sigmoid(&peek(both(1)?, 1, &new)?)?;
                Ok(State { output: ops.mul(&emit, &tanh(&new)?)?, cell: Some(new) })
            }
            (_, None) => Err(Stop::Failed("a cell needs a state".into())),
        }
    }
}

/// Runs the directions over the time; the layout 1 has the batch first.
fn layer(call: &Call<'_>, gates: usize) -> Outputs {
    let ops = call.ops();
    for name in ["activations", "activation_alpha", "activation_beta", "clip", "input_forget"] {
        if call.attribute(name).is_some() {
            return Err(call.form(format!("the attribute {name}")));
        }
    }
    let batch_first = call.flag("layout");
    let x = if batch_first { call.input(0)?.transpose(0, 1)? } else { call.input(0)?.clone() };
    let ([time, batch, _], [_, _, hidden]) = (x.dims(), call.input(2)?.dims()) else {
        return Err(Stop::Failed(format!("a layer of {:?} takes three dimensions", x.dims())));
    };
    let (time, batch, hidden) = (*time, *batch, *hidden);
    if let Some(lengths) = call.optional(4)? {
        let full = ops.to_ints(lengths)?.into_iter().map(size_of).collect::<Lowered<Vec<_>>>()?;
        if full.iter().any(|&length| length != time) {
            return Err(call.form("sequences of different lengths"));
        }
    }
    let reversed: &[bool] = match call.text("direction", "forward") {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(call.unknown("direction", other)),
    };
    let initial = |at: usize, direction: usize| match call.optional(at)? {
        Some(state) => {
            let state = if batch_first { state.transpose(0, 1)? } else { state.clone() };
            state.narrow(0, direction, 1)?.squeeze(0)
        }
        None => ops.fill(x.dtype(), &[batch, hidden], 0.0),
    };
    let (mut all, mut last, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    for (at, &is_reversed) in reversed.iter().enumerate() {
        let direction = Direction::of(call, at, gates)?;
        let cell = if gates == 4 { Some(initial(6, at)?) } else { None };
        let mut state = State { output: initial(5, at)?, cell };
        let mut outputs = vec![None; time];
        for t in 0..time {
            let t = if is_reversed { time - 1 - t } else { t };
            state = direction.step(ops, &x.narrow(0, t, 1)?.squeeze(0)?, &state)?;
            outputs[t] = Some(state.output.unsqueeze(0)?);
        }
        let outputs: Vec<&Tensor> = outputs.iter().flatten().collect();
        all.push(ops.concat(&outputs, 0)?.unsqueeze(1)?);
        last.push(state.output.unsqueeze(0)?);
        cells.extend(state.cell.map(|cell| cell.unsqueeze(0)).transpose()?);
    }
    let join = |parts: &[Tensor], axis| ops.concat(&parts.iter().collect::<Vec<_>>(), axis);
    let y = join(&all, 1)?;
    let mut outputs = vec![if batch_first { y.permute(&[2, 0, 1, 3])? } else { y }];
    for states in [last, cells].into_iter().filter(|states| !states.is_empty()) {
        let state = join(&states, 0)?;
        outputs.push(if batch_first { state.transpose(0, 1)? } else { state });
    }
    Ok(outputs)
}
