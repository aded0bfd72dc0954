//! Multi-word arithmetic: the carry (or borrow) of a lane, which `.cc` writes and `addc`, `subc`
//! and `madc` read.

use super::product::{Wide, take_part};
use crate::exec::emit::{flags, op, typed};
use crate::exec::lane::{Outcome, Value};
use crate::exec::row::{LANES, gather};
use crate::exec::{Place, Program, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

/// The carry of an earlier instruction. It is not an operand.
#[derive(Clone, Copy)]
struct Carry(bool);

impl Value for Carry {
    type Row<'a> = u32;
    const BITS: u32 = 0;

    #[inline(always)]
    unsafe fn fetch<'a>(warp: &'a Warp, _: &'a Program, _: Place) -> u32 {
        warp.carry
    }

    #[inline(always)]
    fn get(row: u32, lane: usize) -> Self {
        Self(row >> lane & 1 != 0)
    }
}

/// A result with its carry-out.
#[derive(Clone, Copy)]
struct Carried<T>(T, bool);

impl<T: Outcome> Outcome for Carried<T> {
    type Buffer = (T::Buffer, [u32; LANES]);
    const BITS: u32 = T::BITS;
    const NOTHING: Self::Buffer = (T::NOTHING, [0; LANES]);

    #[inline(always)]
    fn put(self, buffer: &mut Self::Buffer, lane: usize) {
        self.0.put(&mut buffer.0, lane);
        self.1.put(&mut buffer.1, lane);
    }

    #[inline(always)]
    unsafe fn write<const AVX2: bool>(buffer: &Self::Buffer, warp: &mut Warp, step: &Step) {
        // SAFETY: the caller meets the requirement of the trait's method: the registers have this
        // width.
        unsafe { T::write::<AVX2>(&buffer.0, warp, step) };
        warp.carry = gather::<AVX2>(&buffer.1) & warp.active | warp.carry & !warp.active;
    }
}

/// `add.cc`
pub fn add(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    sum(low, inst, false)
}

/// `sub.cc`
pub fn sub(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    difference(low, inst, false)
}

/// `mad.cc`
pub fn mad(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    product(low, inst, false)
}

/// Lowers a sum; if `takes` is set, it includes the carry of an earlier one.
fn sum(low: &mut Lower<'_>, inst: &Instruction, takes: bool) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (gives, ty) = (modifiers.take("cc"), modifiers.take_type()?);
    modifiers.finish()?;
    typed!(ty, T: u32 s32 u64 s64 => flags!(takes TAKES => if gives {
        op!(low, inst, ty, [ty, ty], |a: T, b: T, carry: Carry| -> Carried<T> {
            let (sum, first) = a.cast_unsigned_bits().overflowing_add(b.cast_unsigned_bits());
            let (sum, second) = sum.overflowing_add((TAKES & carry.0).into());
            Carried(sum as T, first | second)
        })
    } else {
        op!(low, inst, ty, [ty, ty], |a: T, b: T, carry: Carry| -> T {
            a.wrapping_add(b).wrapping_add((TAKES & carry.0).into())
        })
    }))
}

/// Lowers a difference; if `takes` is set, it includes the borrow of an earlier one.
fn difference(low: &mut Lower<'_>, inst: &Instruction, takes: bool) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (gives, ty) = (modifiers.take("cc"), modifiers.take_type()?);
    modifiers.finish()?;
    typed!(ty, T: u32 s32 u64 s64 => flags!(takes TAKES => if gives {
        op!(low, inst, ty, [ty, ty], |a: T, b: T, borrow: Carry| -> Carried<T> {
            let (difference, first) = a.cast_unsigned_bits().overflowing_sub(b.cast_unsigned_bits());
            let (difference, second) = difference.overflowing_sub((TAKES & borrow.0).into());
            Carried(difference as T, first | second)
        })
    } else {
        op!(low, inst, ty, [ty, ty], |a: T, b: T, borrow: Carry| -> T {
            a.wrapping_sub(b).wrapping_sub((TAKES & borrow.0).into())
        })
    }))
}

/// Lowers one half of a product plus a third operand.
fn product(low: &mut Lower<'_>, inst: &Instruction, takes: bool) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (gives, part, ty) = (modifiers.take("cc"), take_part(&mut modifiers)?, modifiers.take_type()?);
    modifiers.finish()?;
    let high = match part {
        "hi" => true,
        "lo" => false,
        _ => return Err(".wide is not valid with a carry".into()),
    };
    typed!(ty, T: u32 s32 u64 s64 => flags!(takes TAKES, high HIGH, gives GIVES => {
        struct Sum;
        impl Sum {
            #[inline(always)]
            fn of(a: T, b: T, c: T, carry: Carry) -> Carried<T> {
                let part = if HIGH { a.high(b) } else { a.wrapping_mul(b) };
                let (sum, first) = part.cast_unsigned_bits().overflowing_add(c.cast_unsigned_bits());
                let (sum, second) = sum.overflowing_add((TAKES & carry.0).into());
                Carried(sum as T, first | second)
            }
        }
        if GIVES {
            op!(low, inst, ty, [ty, ty, ty], |a: T, b: T, c: T, carry: Carry| -> Carried<T> { Sum::of(a, b, c, carry) })
        } else {
            op!(low, inst, ty, [ty, ty, ty], |a: T, b: T, c: T, carry: Carry| -> T { Sum::of(a, b, c, carry).0 })
        }
    }))
}

/// Conversion of an integer to the unsigned integer with the same bits.
trait CastUnsigned {
    type Unsigned;
    fn cast_unsigned_bits(self) -> Self::Unsigned;
}

macro_rules! cast_unsigned {
    ($($type:ty, $unsigned:ty;)*) => {$(
        impl CastUnsigned for $type {
            type Unsigned = $unsigned;
            #[inline(always)]
            fn cast_unsigned_bits(self) -> $unsigned {
                self as $unsigned
            }
        }
    )*};
}

cast_unsigned! {
    u32, u32;
    i32, u32;
    u64, u64;
    i64, u64;
}

/// The instructions that read the carry.
pub const TABLE: Table = &[
    ("addc", |low, inst| sum(low, inst, true)),
    ("subc", |low, inst| difference(low, inst, true)),
    ("madc", |low, inst| product(low, inst, true)),
];
