//! The engines of this library. They mirror a real card's library: the fastest engine
//! is not always exact or deterministic, and its notes say so.

use crate::problem::{BFLOAT16, FLOAT, HALF, Problem};
use crate::status::{NOT_SUPPORTED, Outcome, ensure, fail};
use isobit_simgpu_math::convolution::{Pass, Tensor};
use isobit_simgpu_math::number::tf32;
use std::ffi::c_int;

/// `CUDNN_NUMERICAL_NOTE_TENSOR_CORE`.
pub const TENSOR_CORE: c_int = 0;
/// `CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC`.
pub const NONDETERMINISTIC: c_int = 4;
/// `CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP`.
pub const STRICT_NAN_PROP: c_int = 9;

/// An engine. Its position in the enum is its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// An implicit matrix product: the matrix is never materialised. Supports every problem.
    Implicit,
    /// The same, with precomputed offsets of the filter's elements in the workspace.
    Indexed,
    /// Uses the matrix units, which take f32 with the precision of TF32 and need channels-last
    /// operands; other operands are copied to that layout in the workspace.
    MatrixUnits,
    /// A gradient that is accumulated in memory in an unspecified order. Here the order is always
    /// the same.
    Atomic,
    /// Attention in one pass, on the matrix units. It computes no convolutions.
    Attention,
}

/// All engines.
pub(crate) const ENGINES: [Engine; 5] =
    [Engine::Implicit, Engine::Indexed, Engine::MatrixUnits, Engine::Atomic, Engine::Attention];
/// The engines that a heuristic considers for a convolution, fastest first.
const RANKED: [Engine; 4] = [Engine::MatrixUnits, Engine::Atomic, Engine::Indexed, Engine::Implicit];

impl Engine {
    /// Returns the engine with an index.
    pub(crate) fn of(index: i64) -> Outcome<Self> {
        let engine = usize::try_from(index).ok().and_then(|i| ENGINES.get(i));
        engine.copied().map_or_else(|| fail(NOT_SUPPORTED, format!("engine {index} does not exist")), Ok)
    }

    pub(crate) fn index(self) -> i64 {
        self as i64
    }

    /// Returns the engines for a convolution, fastest first; with `fallback`, only the engines that
    /// support every supported problem.
    pub(crate) fn ranked(problem: &Problem, fallback: bool) -> Vec<Self> {
        let engines = if fallback { &RANKED[3..] } else { &RANKED };
        engines.iter().copied().filter(|e| e.check(problem).is_ok()).collect()
    }

    /// Whether the engine supports a convolution.
    pub(crate) fn check(self, problem: &Problem) -> Outcome {
        problem.check_supported()?;
        let (data, compute) = (problem.data_types[0], problem.compute_type);
        let is_forward = problem.convolution.pass == Pass::Forward;
        let fits = match self {
            Self::Implicit => true,
            Self::Indexed => is_forward,
            Self::MatrixUnits => compute == FLOAT && [FLOAT, HALF, BFLOAT16].contains(&data),
            Self::Atomic => !is_forward && compute != HALF,
            Self::Attention => false,
        };
        ensure(fits, NOT_SUPPORTED, || format!("engine {} does not support this problem", self.index()))
    }

    /// `CUDNN_ATTR_ENGINE_NUMERICAL_NOTE`.
    pub(crate) fn numerical_notes(self) -> &'static [c_int] {
        match self {
            Self::Implicit => &[STRICT_NAN_PROP],
            Self::Indexed => &[],
            Self::MatrixUnits | Self::Attention => &[TENSOR_CORE],
            Self::Atomic => &[NONDETERMINISTIC],
        }
    }

    /// Returns the bytes of workspace that the engine needs.
    pub(crate) fn workspace(self, problem: &Problem) -> usize {
        let convolution = &problem.convolution;
        match self {
            Self::Implicit | Self::Atomic | Self::Attention => 0,
            Self::Indexed => convolution.tensors[1].dims[1..].iter().product::<usize>() * size_of::<i32>(),
            Self::MatrixUnits => {
                let size = if problem.data_types[0] == FLOAT { 4 } else { 2 };
                let anew = convolution.tensors.iter().filter(|t| !has_channels_last(t));
                anew.map(|t| t.elements() * size).sum()
            }
        }
    }

    /// Returns the conversion that the engine applies to an f32 before it multiplies.
    pub(crate) fn prepare(self, problem: &Problem) -> fn(f32) -> f32 {
        if self == Self::MatrixUnits && problem.data_types[0] == FLOAT { tf32 } else { |value| value }
    }
}

fn has_channels_last(tensor: &Tensor) -> bool {
    tensor.dims[1] == 1 || tensor.strides[1] == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places() {
        for (i, engine) in ENGINES.into_iter().enumerate() {
            assert_eq!((engine.index(), Engine::of(i as i64)), (i as i64, Ok(engine)));
        }
        assert!(Engine::of(5).is_err() && Engine::of(-1).is_err());
    }
}
