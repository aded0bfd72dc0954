//! Bit fields: extracts, inserts, extends, and creates masks.

use crate::exec::emit::{U32, flags, op, typed};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

/// Integers with bit fields; positions and lengths are the low bytes of words.
trait Field: Copy {
    /// Extracts the field of a length at a position. Bits above the end of the field, or of the
    /// integer, are copies of the sign.
    fn extract(self, place: u32, length: u32) -> Self;
}

macro_rules! field {
    ($($unsigned:ty, $signed:ty;)*) => {$(
        impl Field for $unsigned {
            #[inline(always)]
            fn extract(self, place: u32, length: u32) -> Self {
                let (place, length) = (place & 0xff, length & 0xff);
                let moved = if place < Self::BITS { self >> (place & (Self::BITS - 1)) } else { 0 };
                if length < Self::BITS { moved & !(Self::MAX << (length & (Self::BITS - 1))) } else { moved }
            }
        }

        impl Field for $signed {
            #[inline(always)]
            fn extract(self, place: u32, length: u32) -> Self {
                let (place, length) = (place & 0xff, length & 0xff);
                let moved = self >> place.min(Self::BITS - 1);
                let above = Self::BITS - length.clamp(1, Self::BITS);
                if length == 0 { 0 } else { moved << above >> above }
            }
        }
    )*};
}

field! {
    u32, i32;
    u64, i64;
}

fn bfe(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: u32 s32 u64 s64 => op!(low, inst, ty, [ty, U32, U32], |a: T, place: u32, length: u32| -> T {
        a.extract(place, length)
    }))
}

fn bfi(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: b32 b64 => op!(low, inst, ty, [ty, ty, U32, U32], |a: T, b: T, place: u32, length: u32| -> T {
        let (place, length) = (place & 0xff, length & 0xff);
        let ones = if length < T::BITS { !(T::MAX << (length & (T::BITS - 1))) } else { T::MAX };
        let mask = if place < T::BITS { ones << (place & (T::BITS - 1)) } else { 0 };
        (a << (place & (T::BITS - 1))) & mask | b & !mask
    }))
}

/// Returns true for `.clamp` and false for `.wrap`.
pub fn take_clamp(modifiers: &mut Modifiers<'_>) -> Result<bool, String> {
    match modifiers.take_any(&["clamp", "wrap"]) {
        Some(mode) => Ok(mode == "clamp"),
        None => Err("it has neither .clamp nor .wrap".into()),
    }
}

/// Extends the low bits of an integer, by its type.
fn szext(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (clamp, ty) = (take_clamp(&mut modifiers)?, modifiers.take_type()?);
    modifiers.finish()?;
    flags!(clamp CLAMP => typed!(ty, T: u32 s32 => op!(low, inst, ty, [ty, U32], |a: T, bits: u32| -> T {
        let bits = if CLAMP { bits.min(32) } else { bits & 31 };
        // A field of length 0 is zero, even for a signed integer.
        a.extract(0, bits)
    })))
}

/// Creates a mask of the given number of ones from a position on.
fn bmsk(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (clamp, ty) = (take_clamp(&mut modifiers)?, modifiers.take_type()?);
    modifiers.finish()?;
    flags!(clamp CLAMP => typed!(ty, T: b32 => {
        op!(low, inst, ty, [U32, U32], |place: u32, width: u32| -> T {
            let (place, width) = if CLAMP { (place.min(32), width.min(32)) } else { (place & 31, width & 31) };
            let ones = (1u64 << width) - 1;
            (ones << place) as T
        })
    }))
}

/// Bit-field instructions.
pub const TABLE: Table = &[("bfe", bfe), ("bfi", bfi), ("szext", szext), ("bmsk", bmsk)];
