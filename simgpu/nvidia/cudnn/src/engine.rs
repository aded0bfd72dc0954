//! The ways to compute a convolution that this library offers, as a card's library has them: what
//! is fastest there is not always what is exact or repeats, and its notes say so.

use crate::problem::{BFLOAT16, FLOAT, HALF, Problem};
use crate::status::{NOT_SUPPORTED, Outcome, ensure, fail};
use isobit_simgpu_math::convolution::{Pass, Tensor};
use std::ffi::c_int;

/// `CUDNN_NUMERICAL_NOTE_TENSOR_CORE`.
pub const TENSOR_CORE: c_int = 0;
/// `CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC`.
pub const NONDETERMINISTIC: c_int = 4;
/// `CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP`.
pub const STRICT_NAN_PROP: c_int = 9;

/// An engine. Its place here is its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// A matrix product whose matrix is never written out. Computes everything.
    Implicit,
    /// The same, with the places of the filter's elements worked out before, in the workspace.
    Indexed,
    /// On the matrix units, which take f32 with the precision of TF32, and want channels last:
    /// operands that are not are written anew in the workspace.
    MatrixUnits,
    /// A gradient that is added up in memory, in an order that nothing says. Here it is the same as
    /// anywhere.
    Atomic,
}

/// All of them.
pub(crate) const ENGINES: [Engine; 4] = [Engine::Implicit, Engine::Indexed, Engine::MatrixUnits, Engine::Atomic];
/// Those that a heuristic thinks of, fastest first.
const RANKED: [Engine; 4] = [Engine::MatrixUnits, Engine::Atomic, Engine::Indexed, Engine::Implicit];

impl Engine {
    /// The engine of a number.
    pub(crate) fn of(index: i64) -> Outcome<Self> {
        let engine = usize::try_from(index).ok().and_then(|i| ENGINES.get(i));
        engine.copied().map_or_else(|| fail(NOT_SUPPORTED, format!("there is no engine {index}")), Ok)
    }

    pub(crate) fn index(self) -> i64 {
        self as i64
    }

    /// Engines for a problem, fastest first; or those alone that compute whatever can be computed.
    pub(crate) fn ranked(problem: &Problem, fallback: bool) -> Vec<Self> {
        let engines = if fallback { &RANKED[3..] } else { &RANKED };
        engines.iter().copied().filter(|e| e.check(problem).is_ok()).collect()
    }

    /// Whether it computes a problem.
    pub(crate) fn check(self, problem: &Problem) -> Outcome {
        problem.check_supported()?;
        let (data, compute) = (problem.data_types[0], problem.compute_type);
        let is_forward = problem.convolution.pass == Pass::Forward;
        let fits = match self {
            Self::Implicit => true,
            Self::Indexed => is_forward,
            Self::MatrixUnits => compute == FLOAT && [FLOAT, HALF, BFLOAT16].contains(&data),
            Self::Atomic => !is_forward && compute != HALF,
        };
        ensure(fits, NOT_SUPPORTED, || format!("engine {} does not compute this", self.index()))
    }

    /// `CUDNN_ATTR_ENGINE_NUMERICAL_NOTE`.
    pub(crate) fn numerical_notes(self) -> &'static [c_int] {
        match self {
            Self::Implicit => &[STRICT_NAN_PROP],
            Self::Indexed => &[],
            Self::MatrixUnits => &[TENSOR_CORE],
            Self::Atomic => &[NONDETERMINISTIC],
        }
    }

    /// Bytes of the memory that it works in.
    pub(crate) fn workspace(self, problem: &Problem) -> usize {
        let convolution = &problem.convolution;
        match self {
            Self::Implicit | Self::Atomic => 0,
            Self::Indexed => convolution.tensors[1].dims[1..].iter().product::<usize>() * size_of::<i32>(),
            Self::MatrixUnits => {
                let size = if problem.data_types[0] == FLOAT { 4 } else { 2 };
                let anew = convolution.tensors.iter().filter(|t| !has_channels_last(t));
                anew.map(|t| t.elements() * size).sum()
            }
        }
    }

    /// What it makes of an f32 before it multiplies.
    pub(crate) fn prepare(self, problem: &Problem) -> fn(f32) -> f32 {
        if self == Self::MatrixUnits && problem.data_types[0] == FLOAT { tf32 } else { |value| value }
    }
}

fn has_channels_last(tensor: &Tensor) -> bool {
    tensor.dims[1] == 1 || tensor.strides[1] == 1
}

/// The nearest number of ten bits after the point, away from zero where two are as near, as
/// `cvt.rna.tf32.f32` has it.
fn tf32(value: f32) -> f32 {
    if !value.is_finite() {
        return value;
    }
    // A carry goes on into the exponent, which is the next power of two, or infinity.
    f32::from_bits((value.to_bits() + 0x1000) & !0x1fff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tf32_has_ten_bits() {
        let step = 1.0 / 1024.0;
        assert_eq!([tf32(1.0), tf32(1.0 + step), tf32(-1.0 - step)], [1.0, 1.0 + step, -1.0 - step]);
        assert_eq!([tf32(1.0 + step / 2.0), tf32(-1.0 - step / 2.0)], [1.0 + step, -1.0 - step], "halfway");
        assert_eq!(tf32(1.0 + step * 0.4999), 1.0);
        assert_eq!(tf32(2.0 - step / 8.0), 2.0, "a carry");
        assert_eq!(tf32(f32::MAX), f32::INFINITY);
        assert!(tf32(f32::from_bits(0x7f80_0001)).is_nan() && tf32(f32::NEG_INFINITY) == f32::NEG_INFINITY);
    }

    #[test]
    fn numbers_are_places() {
        for (i, engine) in ENGINES.into_iter().enumerate() {
            assert_eq!((engine.index(), Engine::of(i as i64)), (i as i64, Ok(engine)));
        }
        assert!(Engine::of(4).is_err() && Engine::of(-1).is_err());
    }
}
