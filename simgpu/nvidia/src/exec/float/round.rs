//! Directions of rounding.

use crate::lower::Modifiers;

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// `.rn`: to the nearest, ties to the even one.
    Nearest,
    /// `.rna`: to the nearest, ties away from zero.
    Away,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

impl Rounding {
    /// Whether the magnitude goes up to the next, by what was cut off from it.
    #[inline(always)]
    pub fn increments(self, negative: bool, odd: bool, cut: Cut) -> bool {
        match self {
            Self::Nearest => cut == Cut::More || cut == Cut::Half && odd,
            Self::Away => cut == Cut::More || cut == Cut::Half,
            Self::Zero => false,
            Self::Down => negative && cut != Cut::Nothing,
            Self::Up => !negative && cut != Cut::Nothing,
        }
    }
}

/// What rounding cuts off from a magnitude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// It was exact.
    Nothing,
    /// Less than half of the last place.
    Less,
    /// Half of it.
    Half,
    /// More than half.
    More,
}

/// The direction that the modifiers of an arithmetic instruction say; to nearest where they say
/// none.
pub fn take_rounding(modifiers: &mut Modifiers<'_>) -> Rounding {
    match modifiers.take_any(&["rn", "rz", "rm", "rp"]) {
        Some("rz") => Rounding::Zero,
        Some("rm") => Rounding::Down,
        Some("rp") => Rounding::Up,
        _ => Rounding::Nearest,
    }
}

/// `directed!(rounding R => nearest, directed)` is the first expression for rounding to nearest,
/// and the second with the constant `R` for the other directions of arithmetic.
macro_rules! directed {
    ($rounding:expr, $name:ident => $nearest:expr, $directed:expr) => {
        match $rounding {
            $crate::exec::float::Rounding::Zero => {
                const $name: $crate::exec::float::Rounding = $crate::exec::float::Rounding::Zero;
                $directed
            }
            $crate::exec::float::Rounding::Down => {
                const $name: $crate::exec::float::Rounding = $crate::exec::float::Rounding::Down;
                $directed
            }
            $crate::exec::float::Rounding::Up => {
                const $name: $crate::exec::float::Rounding = $crate::exec::float::Rounding::Up;
                $directed
            }
            _ => $nearest,
        }
    };
}
pub(crate) use directed;
