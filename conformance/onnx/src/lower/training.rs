//! Optimizers.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::UnaryOp;

pub(super) const TABLE: Table = &[
    ("ai.onnx.preview.training.Adagrad", Rule::Code(|call| each(call, 3, adagrad))),
    ("ai.onnx.preview.training.Adam", Rule::Code(|call| each(call, 4, adam))),
    ("ai.onnx.preview.training.Momentum", Rule::Code(|call| each(call, 3, momentum))),
];

/// The rate, the count of updates, and the parameters of an optimizer.
struct Step<'a> {
    call: &'a Call<'a>,
    rate: f64,
    count: f64,
}

impl Step<'_> {
    fn ops(&self) -> &Ops {
        self.call.ops()
    }

    fn parameter(&self, name: &str, default: f64) -> f64 {
        self.call.float(name).unwrap_or(default)
    }

    /// The gradient with that of the regularization.
    fn gradient(&self, x: &Tensor, gradient: &Tensor) -> Lowered<Tensor> {
        let term = self.ops().affine(x, self.parameter("norm_coefficient", 0.0), 0.0)?;
        self.ops().add(&term, gradient)
    }

    /// a * x + b * y.
    fn mixed(&self, a: f64, x: &Tensor, b: f64, y: &Tensor) -> Lowered<Tensor> {
        self.ops().add(&self.ops().affine(x, a, 0.0)?, &self.ops().affine(y, b, 0.0)?)
    }
}

type Update = fn(&Step<'_>, &[&Tensor]) -> Lowered<Vec<Tensor>>;

/// Updates each of the tensors. The inputs are rate and count, and then `kinds` groups: the
/// tensors, their gradients, and states; the outputs are the groups without the gradients.
fn each(call: &Call<'_>, kinds: usize, update: Update) -> Outputs {
    let ops = call.ops();
    let count = call.inputs().saturating_sub(2) / kinds;
    if call.inputs() != 2 + count * kinds {
        return Err(Stop::Failed(format!("{} inputs are no groups of {kinds}", call.inputs())));
    }
    let step = Step { call, rate: ops.to_float(call.input(0)?)?, count: ops.to_float(call.input(1)?)? };
    let mut groups = vec![Vec::new(); kinds - 1];
    for i in 0..count {
        let operands: Vec<&Tensor> = (0..kinds).map(|kind| call.input(2 + kind * count + i)).collect::<Lowered<_>>()?;
        for (group, value) in groups.iter_mut().zip(update(&step, &operands)?) {
            group.push(value);
        }
    }
    Ok(groups.concat())
}

fn adagrad(step: &Step<'_>, operands: &[&Tensor]) -> Lowered<Vec<Tensor>> {
    let (ops, [x, gradient, squares]) = (step.ops(), operands) else { unreachable!("three kinds of operands") };
    let gradient = step.gradient(x, gradient)?;
    let squares = ops.add(squares, &ops.unary(UnaryOp::Sqr, &gradient)?)?;
    let divisor = ops.affine(&ops.unary(UnaryOp::Sqrt, &squares)?, 1.0, step.parameter("epsilon", 1e-6))?;
    let rate = step.rate / (1.0 + step.count * step.parameter("decay_factor", 0.0));
    Ok(vec![step.mixed(1.0, x, -rate, &ops.div(&gradient, &divisor)?)?, squares])
}

fn adam(step: &Step<'_>, operands: &[&Tensor]) -> Lowered<Vec<Tensor>> {
    let (ops, [x, gradient, mean, squares]) = (step.ops(), operands) else { unreachable!("four kinds of operands") };
    let (alpha, beta) = (step.parameter("alpha", 0.9), step.parameter("beta", 0.999));
    let gradient = step.gradient(x, gradient)?;
    let mean = step.mixed(alpha, mean, 1.0 - alpha, &gradient)?;
    let squares = step.mixed(beta, squares, 1.0 - beta, &ops.unary(UnaryOp::Sqr, &gradient)?)?;
    let divisor = ops.affine(&ops.unary(UnaryOp::Sqrt, &squares)?, 1.0, step.parameter("epsilon", 1e-6))?;
    let mut rate = step.rate;
    if step.count > 0.0 {
        rate *= (1.0 - beta.powf(step.count)).sqrt() / (1.0 - alpha.powf(step.count));
    }
    let moved = step.mixed(1.0, x, -rate, &ops.div(&mean, &divisor)?)?;
    let kept = 1.0 - step.parameter("norm_coefficient_post", 0.0);
    Ok(vec![ops.affine(&moved, kept, 0.0)?, mean, squares])
}

fn momentum(step: &Step<'_>, operands: &[&Tensor]) -> Lowered<Vec<Tensor>> {
    let [x, gradient, velocity] = operands else { unreachable!("three kinds of operands") };
    let alpha = step.parameter("alpha", 0.0);
    let beta = if step.count > 0.0 { step.parameter("beta", 0.0) } else { 1.0 };
    let gradient = step.gradient(x, gradient)?;
    let velocity = step.mixed(alpha, velocity, beta, &gradient)?;
    let direction = match step.call.text("mode", "standard") {
        "standard" => velocity.clone(),
        "nesterov" => step.mixed(1.0, &gradient, alpha, &velocity)?,
        other => return Err(step.call.unknown("mode", other)),
    };
    Ok(vec![step.mixed(1.0, x, -step.rate, &direction)?, velocity])
}
