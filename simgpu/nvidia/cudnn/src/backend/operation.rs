//! Operations: `CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR` and those of the gradients.

use super::attribute::{DOUBLE, FLOAT, Room, Values};
use super::object::{Body, foreign, missing};
use super::tensor::Tensor;
use super::window::ConvolutionWindow;
use crate::problem::Problem;
use crate::status::{ATTRIBUTE_TYPE, Failure, Outcome};
use isobit_simgpu_math::convolution::Pass;
use std::ffi::c_int;
use std::sync::Arc;

pub(super) const FORWARD: c_int = 10;
pub(super) const FILTER: c_int = 11;
pub(super) const DATA: c_int = 12;

// The attributes of each operation are numbered in this order, starting at its first,
// CUDNN_ATTR_OPERATION_CONVOLUTION_*_ALPHA.
const ALPHA: c_int = 0;
const BETA: c_int = 1;
const CONV_DESC: c_int = 2;
const W: c_int = 3;
const X: c_int = 4;
const Y: c_int = 5;

/// A scaling factor, in the type that it was set with.
#[derive(Debug, Clone, Copy)]
enum Factor {
    Float(f32),
    Double(f64),
}

impl Factor {
    fn of(values: &Values) -> Outcome<Self> {
        match values.one(FLOAT) {
            Err(Failure { status: ATTRIBUTE_TYPE, .. }) => Ok(Self::Double(values.one(DOUBLE)?)),
            float => Ok(Self::Float(float?)),
        }
    }

    fn put(factor: Option<Self>, room: &Room) -> Outcome {
        match factor {
            Some(Self::Float(value)) => room.put(FLOAT, &[value]),
            Some(Self::Double(value)) => room.put(DOUBLE, &[value]),
            None => room.put::<f32>(FLOAT, &[]),
        }
    }

    fn value(self) -> f64 {
        match self {
            Self::Float(value) => value.into(),
            Self::Double(value) => value,
        }
    }
}

/// A convolution or a gradient of a convolution.
#[derive(Debug)]
pub(super) struct Operation {
    pass: Pass,
    alpha: Option<Factor>,
    beta: Option<Factor>,
    window: Option<Arc<ConvolutionWindow>>,
    /// Input, filter and result, or their gradients.
    operands: [Option<Arc<Tensor>>; 3],
    problem: Option<Problem>,
}

impl Operation {
    pub(super) fn new(pass: Pass) -> Self {
        Self { pass, alpha: None, beta: None, window: None, operands: [const { None }; 3], problem: None }
    }

    /// Returns the number of the first attribute.
    fn first(&self) -> c_int {
        match self.pass {
            Pass::Forward => 700,
            Pass::Data => 706,
            Pass::Filter => 712,
        }
    }

    /// Returns the input, filter and result.
    pub(super) fn tensors(&self) -> impl Iterator<Item = &Arc<Tensor>> {
        self.operands.iter().flatten()
    }

    /// Returns the problem if the operation is finalized.
    pub(super) fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    pub(super) fn factors(&self) -> [f64; 2] {
        [self.alpha, self.beta].map(|f| f.map_or(0.0, Factor::value))
    }
}

impl Body for Operation {
    fn kind(&self) -> c_int {
        match self.pass {
            Pass::Forward => FORWARD,
            Pass::Data => DATA,
            Pass::Filter => FILTER,
        }
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name - self.first() {
            ALPHA => self.alpha = Some(Factor::of(values)?),
            BETA => self.beta = Some(Factor::of(values)?),
            CONV_DESC => self.window = Some(values.body()?),
            X => self.operands[0] = Some(values.body()?),
            W => self.operands[1] = Some(values.body()?),
            Y => self.operands[2] = Some(values.body()?),
            _ => return foreign(self.kind(), name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        let (Some(_), Some(_)) = (self.alpha, self.beta) else { return missing("a factor of the operation") };
        let Some(window) = &self.window else { return missing("the operation's convolution") };
        let [Some(x), Some(w), Some(y)] = &self.operands else { return missing("a tensor of the operation") };
        let described = [x, w, y].map(|t| t.described());
        let operands = described.each_ref();
        self.problem = Some(Problem::new(self.pass, &window.steps(), operands, window.compute_type(), None)?);
        Ok(())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name - self.first() {
            ALPHA => Factor::put(self.alpha, room),
            BETA => Factor::put(self.beta, room),
            CONV_DESC => room.fill(self.window.as_slice()),
            X => room.fill(self.operands[0].as_slice()),
            W => room.fill(self.operands[1].as_slice()),
            Y => room.fill(self.operands[2].as_slice()),
            _ => foreign(self.kind(), name),
        }
    }
}
