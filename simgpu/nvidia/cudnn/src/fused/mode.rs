//! What graphs compute from each element: `cudnnPointwiseMode_t`, and `cudnnReduceTensorOp_t`.

use super::number::Number;
use crate::problem::INT32;
use std::ffi::c_int;

/// An operation on elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Add,
    Mul,
    Div,
    Sub,
    Exp,
    Log,
    Tanh,
    Greater,
    GreaterEqual,
    Less,
    And,
    /// The index of the element along an axis.
    Index,
    /// The first input where the third is true, else the second.
    Select,
}

impl Mode {
    /// Returns the operation with cuDNN's number, if it is supported.
    pub(crate) fn of(number: c_int) -> Option<Self> {
        Some(match number {
            0 => Self::Add,
            1 => Self::Mul,
            6 => Self::Div,
            9 => Self::Sub,
            13 => Self::Exp,
            15 => Self::Log,
            101 => Self::Tanh,
            302 => Self::Greater,
            303 => Self::GreaterEqual,
            304 => Self::Less,
            400 => Self::And,
            501 => Self::Index,
            601 => Self::Select,
            _ => return None,
        })
    }

    /// Returns the number of inputs.
    pub(crate) fn inputs(self) -> usize {
        match self {
            Self::Exp | Self::Log | Self::Tanh | Self::Index => 1,
            Self::Select => 3,
            _ => 2,
        }
    }

    /// Whether the operation has a result for integers that is an integer.
    pub(super) fn takes_ints(self) -> bool {
        matches!(self, Self::Add | Self::Mul | Self::Sub)
    }

    /// Computes in a type; comparisons are in the type of the numbers. `index` is the element's.
    pub(super) fn apply(self, precision: c_int, [x, b, t]: [Number; 3], index: usize) -> Number {
        let arithmetic = |floats: fn(f32, f32) -> f32, ints: fn(i32, i32) -> i32| match precision {
            INT32 => Number::Int(ints(x.int(), b.int())),
            _ => Number::Float(floats(x.float(), b.float())),
        };
        let compare = |floats: fn(&f32, &f32) -> bool, ints: fn(&i32, &i32) -> bool| {
            Number::Bool(match (x, b) {
                (Number::Int(x), Number::Int(b)) => ints(&x, &b),
                _ => floats(&x.float(), &b.float()),
            })
        };
        match self {
            Self::Add => arithmetic(|x, b| x + b, i32::wrapping_add),
            Self::Mul => arithmetic(|x, b| x * b, i32::wrapping_mul),
            Self::Sub => arithmetic(|x, b| x - b, i32::wrapping_sub),
            Self::Div => Number::Float(x.float() / b.float()),
            Self::Exp => Number::Float(x.float().exp()),
            Self::Log => Number::Float(x.float().ln()),
            Self::Tanh => Number::Float(x.float().tanh()),
            Self::Greater => compare(f32::gt, i32::gt),
            Self::GreaterEqual => compare(f32::ge, i32::ge),
            Self::Less => compare(f32::lt, i32::lt),
            Self::And => Number::Bool(x.is_true() && b.is_true()),
            Self::Index => Number::Int(index as i32),
            Self::Select => {
                if t.is_true() {
                    x
                } else {
                    b
                }
            }
        }
    }
}

/// An operation on all elements of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduce {
    Add,
    Max,
}

impl Reduce {
    /// Returns the operation with cuDNN's number, if it is supported.
    pub(crate) fn of(number: c_int) -> Option<Self> {
        match number {
            0 => Some(Self::Add),
            3 => Some(Self::Max),
            _ => None,
        }
    }

    /// Reduces in ascending order. NaN is the largest number.
    pub(super) fn apply(self, row: impl Iterator<Item = f32>) -> f32 {
        match self {
            Self::Add => row.fold(0.0, |sum, v| sum + v),
            Self::Max => row.fold(f32::NEG_INFINITY, |most, v| if v > most || v.is_nan() { v } else { most }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Number::{Bool, Float, Int};
    use super::*;
    use crate::problem::{BOOLEAN, FLOAT};
    use cudarc::cudnn::sys::{cudnnPointwiseMode_t as Name, cudnnPointwiseMode_t::*, cudnnReduceTensorOp_t::*};

    fn of(name: Name, precision: c_int, x: Number, b: Number) -> Number {
        Mode::of(name as c_int).unwrap().apply(precision, [x, b, Bool(false)], 5)
    }

    #[test]
    fn each_mode_by_its_name() {
        let one = |name, x| of(name, FLOAT, Float(x), Int(0));
        let two = |name| of(name, FLOAT, Float(1.5), Int(3));
        let ints = |name| of(name, INT32, Int(7), Int(i32::MAX));
        assert_eq!([two(CUDNN_POINTWISE_ADD), two(CUDNN_POINTWISE_SUB)], [Float(4.5), Float(-1.5)]);
        assert_eq!([two(CUDNN_POINTWISE_MUL), two(CUDNN_POINTWISE_DIV)], [Float(4.5), Float(0.5)]);
        assert_eq!([ints(CUDNN_POINTWISE_ADD), ints(CUDNN_POINTWISE_SUB)], [Int(i32::MIN + 6), Int(8 + i32::MIN)]);
        assert_eq!([one(CUDNN_POINTWISE_EXP, 0.0), one(CUDNN_POINTWISE_LOG, 1.0)], [Float(1.0), Float(0.0)]);
        assert_eq!([one(CUDNN_POINTWISE_TANH_FWD, 99.0), one(CUDNN_POINTWISE_GEN_INDEX, 0.0)], [Float(1.0), Int(5)]);
        let compared = |x, b| {
            [CUDNN_POINTWISE_CMP_GT, CUDNN_POINTWISE_CMP_GE, CUDNN_POINTWISE_CMP_LT].map(|n| of(n, BOOLEAN, x, b))
        };
        assert_eq!(compared(Int(2), Int(2)), [Bool(false), Bool(true), Bool(false)]);
        assert_eq!(compared(Float(2.5), Int(2)), [Bool(true), Bool(true), Bool(false)]);
        // These are one number in f32.
        assert_eq!(compared(Int(i32::MAX - 1), Int(i32::MAX)), [Bool(false), Bool(false), Bool(true)]);
        assert_eq!(of(CUDNN_POINTWISE_LOGICAL_AND, BOOLEAN, Bool(true), Bool(false)), Bool(false));
        assert_eq!(of(CUDNN_POINTWISE_BINARY_SELECT, FLOAT, Float(1.0), Float(2.0)), Float(2.0));
        assert_eq!(Mode::of(CUDNN_POINTWISE_GELU_FWD as c_int), None);
    }

    #[test]
    fn rows_are_reduced() {
        let row = |by, row: [f32; 3]| Reduce::of(by as c_int).unwrap().apply(row.into_iter());
        assert_eq!(row(CUDNN_REDUCE_TENSOR_ADD, [1.0, 2.0, -4.0]), -1.0);
        assert_eq!(row(CUDNN_REDUCE_TENSOR_MAX, [1.0, 2.0, -4.0]), 2.0);
        assert_eq!(row(CUDNN_REDUCE_TENSOR_MAX, [f32::NEG_INFINITY; 3]), f32::NEG_INFINITY);
        assert!(row(CUDNN_REDUCE_TENSOR_MAX, [1.0, f32::NAN, 2.0]).is_nan());
        assert_eq!(Reduce::of(CUDNN_REDUCE_TENSOR_AVG as c_int), None);
    }
}
