//! Arithmetic of binary32 and binary64.
//!
//! Rounding to nearest uses the host's vector arithmetic. Rounding in other directions is computed
//! in integers ([`exact`]), so that the host's rounding mode never changes. A NaN that a binary32
//! instruction produces or propagates is PTX's canonical NaN. PTX does not specify the NaN of
//! binary64; here it is always the same one as well.

pub mod approx;
mod arith;
mod divide;
pub mod exact;
pub mod format;
mod min_max;
pub mod round;
mod sign;

pub use approx::{ex2, tanh};
pub use arith::{add, fma, mad, mul, sub};
pub use divide::div;
pub use format::{BF16, E4M3, E5M2, F16, F32, F64, Format, TF32};
pub use min_max::{choose_signed, max, min};
pub use round::Rounding;
pub use sign::{abs, neg};

use crate::lower::Table;

/// The NaN of binary32 instructions.
pub const NAN: u32 = 0x7fff_ffff;

/// With `FTZ`, flushes a subnormal number to a zero of its sign.
#[inline(always)]
pub fn flush<const FTZ: bool>(x: f32) -> f32 {
    let zero = f32::from_bits(x.to_bits() & 0x8000_0000);
    if FTZ && x.abs() < f32::MIN_POSITIVE { zero } else { x }
}

/// The NaN of binary64 instructions, which is the one that the host produces.
pub const NAN_F64: u64 = 0xfff8_0000_0000_0000;

/// A number whose NaNs are replaced by the canonical one. This uses the bits, because a compiler
/// may replace one NaN by another.
pub trait Canonical {
    /// Returns the number, with NaNs replaced.
    fn canonical(self) -> Self;
}

impl Canonical for f32 {
    #[inline(always)]
    fn canonical(self) -> Self {
        let bits = self.to_bits();
        Self::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN } else { bits })
    }
}

impl Canonical for f64 {
    #[inline(always)]
    fn canonical(self) -> Self {
        let bits = self.to_bits();
        // A signed comparison, because AVX2 has one for 64 bits.
        let size = (bits & (u64::MAX >> 1)) as i64;
        Self::from_bits(if size > 0x7ff0_0000_0000_0000 { NAN_F64 } else { bits })
    }
}

/// The steps after the operation itself: flushing, saturation to the range 0 to 1 (a NaN becomes
/// 0), and canonical NaNs.
#[inline(always)]
pub fn finish<const FTZ: bool, const SAT: bool>(x: f32) -> f32 {
    let x = flush::<FTZ>(x);
    if !SAT {
        return x.canonical();
    }
    let below = if x < 1.0 { x } else { 1.0 };
    if x > 0.0 { below } else { 0.0 }
}

/// The opcodes that exist only for floating point.
pub const TABLES: &[Table] = &[approx::TABLE, divide::TABLE, sign::TABLE];
