//! The specification of a conversion, encoded as a word that a step carries.

use crate::exec::float::{self, Format, Rounding};

/// The type of a converted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// `.u8`
    U8,
    /// `.s8`
    S8,
    /// `.u16`
    U16,
    /// `.s16`
    S16,
    /// `.u32`
    U32,
    /// `.s32`
    S32,
    /// `.u64`
    U64,
    /// `.s64`
    S64,
    /// `.f16`
    F16,
    /// `.bf16`
    BF16,
    /// `.f32`
    F32,
    /// `.f64`
    F64,
    /// `.tf32`
    TF32,
    /// `.e4m3`
    E4M3,
    /// `.e5m2`
    E5M2,
}

impl Scalar {
    const ALL: [Self; 15] = [
        Self::U8,
        Self::S8,
        Self::U16,
        Self::S16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::TF32,
        Self::E4M3,
        Self::E5M2,
    ];

    /// Whether it is an integer type.
    pub fn is_integer(self) -> bool {
        self.format().is_none()
    }

    /// Whether it is a signed integer type.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Returns its format if it is a floating-point type.
    pub fn format(self) -> Option<Format> {
        Some(match self {
            Self::F16 => float::F16,
            Self::BF16 => float::BF16,
            Self::F32 => float::F32,
            Self::F64 => float::F64,
            Self::TF32 => float::TF32,
            Self::E4M3 => float::E4M3,
            Self::E5M2 => float::E5M2,
            _ => return None,
        })
    }

    /// Returns its width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::U8 | Self::S8 | Self::E4M3 | Self::E5M2 => 8,
            Self::U16 | Self::S16 | Self::F16 | Self::BF16 => 16,
            Self::U32 | Self::S32 | Self::F32 | Self::TF32 => 32,
            Self::U64 | Self::S64 | Self::F64 => 64,
        }
    }

    /// Whether some of its values need rounding in another, floating-point type.
    pub fn inexact_in(self, to: Self) -> bool {
        match (self.format(), to.format()) {
            (Some(from), Some(to)) => from.precision > to.precision || from.exponent > to.exponent,
            // PTX requires a rounding for every integer.
            _ => true,
        }
    }
}

/// The number of values per conversion, and their arrangement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One value.
    One,
    /// Two values from two registers: the first gives the upper half.
    Join,
    /// Two values from the halves of one register.
    Pair,
}

/// The complete specification of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// The source type.
    pub from: Scalar,
    /// The destination type.
    pub to: Scalar,
    /// The rounding direction.
    pub rounding: Rounding,
    /// Rounds to an integer, even if the result is floating point.
    pub integral: bool,
    /// `.ftz`
    pub ftz: bool,
    /// `.sat`
    pub sat: bool,
    /// `.satfinite`
    pub satfinite: bool,
    /// `.relu`
    pub relu: bool,
    /// The number and arrangement of values.
    pub shape: Shape,
    /// The width of the source register.
    pub from_width: u32,
    /// The width of the destination register.
    pub to_width: u32,
}

const ROUNDINGS: [Rounding; 5] = [Rounding::Nearest, Rounding::Away, Rounding::Zero, Rounding::Down, Rounding::Up];
const SHAPES: [Shape; 3] = [Shape::One, Shape::Join, Shape::Pair];

impl Spec {
    /// Encodes the specification as a word.
    pub fn encode(&self) -> u32 {
        let flags = [self.integral, self.ftz, self.sat, self.satfinite, self.relu];
        let flags = flags.iter().fold(0, |word, flag| word << 1 | u32::from(*flag));
        let widths = ((self.from_width / 16) << 4) | (self.to_width / 16);
        self.from as u32
            | (self.to as u32) << 4
            | (self.rounding as u32) << 8
            | (self.shape as u32) << 11
            | flags << 13
            | widths << 18
    }

    /// Decodes a word.
    pub fn decode(word: u32) -> Self {
        let field = |at: u32, bits: u32| (word >> at & ((1 << bits) - 1)) as usize;
        let flag = |at: u32| field(at, 1) != 0;
        Self {
            from: Scalar::ALL[field(0, 4)],
            to: Scalar::ALL[field(4, 4)],
            rounding: ROUNDINGS[field(8, 3)],
            shape: SHAPES[field(11, 2)],
            relu: flag(13),
            satfinite: flag(14),
            sat: flag(15),
            ftz: flag(16),
            integral: flag(17),
            to_width: field(18, 4) as u32 * 16,
            from_width: field(22, 4) as u32 * 16,
        }
    }
}
