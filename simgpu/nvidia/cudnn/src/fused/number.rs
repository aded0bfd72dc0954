//! Numbers between the operations of a graph.

use crate::problem::{BFLOAT16, BOOLEAN, HALF, INT32};
use half::{bf16, f16};

/// A number. Half precision is kept as f32.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Float(f32),
    Int(i32),
    Bool(bool),
}

impl Number {
    /// Returns the number with these bits in memory.
    pub(super) fn of_bits(bits: u32, data_type: i32) -> Self {
        match data_type {
            HALF => Self::Float(f16::from_bits(bits as u16).to_f32()),
            BFLOAT16 => Self::Float(bf16::from_bits(bits as u16).to_f32()),
            INT32 => Self::Int(bits.cast_signed()),
            _ => Self::Float(f32::from_bits(bits)),
        }
    }

    pub(super) fn float(self) -> f32 {
        match self {
            Self::Float(value) => value,
            Self::Int(value) => value as f32,
            Self::Bool(value) => value.into(),
        }
    }

    pub(super) fn int(self) -> i32 {
        match self {
            Self::Float(value) => value as i32,
            Self::Int(value) => value,
            Self::Bool(value) => value.into(),
        }
    }

    pub(super) fn is_true(self) -> bool {
        match self {
            Self::Bool(value) => value,
            other => other.float() != 0.0,
        }
    }

    /// Rounds to a data type.
    pub(super) fn rounded(self, data_type: i32) -> Self {
        match data_type {
            HALF => Self::Float(f16::from_f32(self.float()).to_f32()),
            BFLOAT16 => Self::Float(bf16::from_f32(self.float()).to_f32()),
            INT32 => Self::Int(self.int()),
            BOOLEAN => Self::Bool(self.is_true()),
            _ => Self::Float(self.float()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::FLOAT;

    #[test]
    fn numbers_are_rounded_to_their_type() {
        let fine = Number::Float(1.0 + 1.0 / 512.0);
        assert_eq!([HALF, FLOAT].map(|t| fine.rounded(t)), [fine; 2]);
        assert_eq!(fine.rounded(BFLOAT16), Number::Float(1.0));
        assert_eq!([fine.rounded(INT32), fine.rounded(BOOLEAN)], [Number::Int(1), Number::Bool(true)]);
        assert_eq!(Number::Bool(true).rounded(FLOAT), Number::Float(1.0));
    }

    #[test]
    fn bits_of_each_type() {
        assert_eq!(Number::of_bits(0x3c00, HALF), Number::Float(1.0));
        assert_eq!(Number::of_bits(0x3f80, BFLOAT16), Number::Float(1.0));
        assert_eq!(Number::of_bits(0x3f80_0000, FLOAT), Number::Float(1.0));
        assert_eq!(Number::of_bits(u32::MAX, INT32), Number::Int(-1));
    }
}
