//! Rounding directions.

use crate::lower::Modifiers;

/// A rounding direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rna`: to nearest, ties away from zero.
    Away,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

impl Rounding {
    /// Whether the magnitude is incremented, given the part that was cut off.
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

/// The part of a magnitude that rounding cuts off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Nothing: the value is exact.
    Nothing,
    /// Less than half a unit in the last place.
    Less,
    /// Half a unit.
    Half,
    /// More than half a unit.
    More,
}

/// Takes the rounding direction from the modifiers of an arithmetic instruction; the default is to
/// nearest.
pub fn take_rounding(modifiers: &mut Modifiers<'_>) -> Rounding {
    match modifiers.take_any(&["rn", "rz", "rm", "rp"]) {
        Some("rz") => Rounding::Zero,
        Some("rm") => Rounding::Down,
        Some("rp") => Rounding::Up,
        _ => Rounding::Nearest,
    }
}

/// `directed!(rounding R => nearest, directed)` evaluates the first expression for rounding to
/// nearest, and the second with the constant `R` for the other directions.
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
