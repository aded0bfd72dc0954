//! Atomics: what becomes of the value in memory. They are atomic between the host's threads.

use super::operation::{DATA, NO_ROW, Operation, SECOND, row, set_words, words};
use super::width::MOST;
use crate::exec::{Step, Wave};
use half::{bf16, f16};
use isobit_simgpu_core::check::Access;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What an atomic works on.
pub trait Word: Copy {
    /// Registers.
    const WORDS: usize;
    /// From registers.
    fn from_words(words: [u32; MOST]) -> Self;
    /// To registers.
    fn words(self) -> [u32; MOST];
    /// Replaces the value at `at`, and gives the old one.
    ///
    /// # Safety
    /// The value at `at` may be accessed, at a multiple of its size, and by other threads through
    /// this function alone or with the race that the simulated kernel has.
    unsafe fn update(at: *mut u8, new: impl Fn(Self) -> Self) -> Self;
}

macro_rules! word {
    ($($type:ty, $atomic:ty, $count:literal, |$words:ident| $from:expr, |$x:ident| $to:expr;)*) => {$(
        impl Word for $type {
            const WORDS: usize = $count;

            #[inline(always)]
            fn from_words($words: [u32; MOST]) -> Self {
                $from
            }

            #[inline(always)]
            fn words(self) -> [u32; MOST] {
                let $x = self;
                $to
            }

            #[inline(always)]
            unsafe fn update(at: *mut u8, new: impl Fn(Self) -> Self) -> Self {
                // SAFETY: the caller promises that the element may be accessed.
                let cell = unsafe { <$atomic>::from_ptr(at.cast()) };
                let mut old = cell.load(Ordering::Relaxed);
                while let Err(now) = cell.compare_exchange_weak(old, new(old), Ordering::SeqCst, Ordering::Relaxed) {
                    old = now;
                }
                old
            }
        }
    )*};
}

word! {
    u32, AtomicU32, 1, |words| words[0], |x| [x, 0, 0, 0];
    u64, AtomicU64, 2, |words| u64::from(words[0]) | u64::from(words[1]) << 32, |x| [x as u32, (x >> 32) as u32, 0, 0];
}

/// What an atomic makes of the value in memory.
pub trait Change {
    /// What it works on.
    type Word: Word;
    /// Has it a second operand?
    const SECOND: bool = false;
    /// The new value from the old one and the operands.
    fn new(old: Self::Word, data: Self::Word, second: Self::Word) -> Self::Word;
}

/// An atomic.
pub struct Atomic<C>(PhantomData<C>);

impl<C: Change> Operation for Atomic<C> {
    const ACCESS: Access = Access::Atomic;
    const BYTES: u32 = 4 * C::Word::WORDS as u32;
    const STORED: usize = C::Word::WORDS;
    const SECOND: bool = C::SECOND;

    #[inline(always)]
    unsafe fn perform(wave: &mut Wave, step: &Step, lane: usize, at: *mut u8) {
        let count = C::Word::WORDS;
        let operand = |place: usize| C::Word::from_words(words(wave, row(step.rows[place]), count, lane));
        let (data, second) = (operand(DATA), operand(SECOND));
        // SAFETY: as the caller promises, and the check let only aligned lanes pass.
        let old = unsafe { C::Word::update(at, |old| C::new(old, data, second)) };
        if step.dst != NO_ROW {
            set_words(wave, usize::from(step.dst), count, lane, old.words());
        }
    }
}

/// Declares atomics: of the old value, the operand and, where there is a third name, the second
/// operand.
macro_rules! changes {
    ($($(#[$doc:meta])* $name:ident: $word:ty, |$old:ident, $data:ident $(, $second:ident)?| $new:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Change for $name {
            type Word = $word;
            $(const SECOND: bool = { stringify!($second); true };)?

            #[inline(always)]
            fn new($old: $word, $data: $word, second: $word) -> $word {
                let _ = second;
                $(let $second = second;)?
                $new
            }
        }
    )*};
}

/// The IEEE minimum: of a number and a NaN the number, of two zeros the negative one.
macro_rules! float {
    ($type:ident, $minimum:ident, $maximum:ident) => {
        fn $minimum(a: $type, b: $type) -> $type {
            if a < b || b.is_nan() || a == b && a.is_sign_negative() { a } else { b }
        }

        fn $maximum(a: $type, b: $type) -> $type {
            if a > b || b.is_nan() || a == b && a.is_sign_positive() { a } else { b }
        }
    };
}

float!(f32, minimum_f32, maximum_f32);
float!(f64, minimum_f64, maximum_f64);

fn on_f32(old: u32, data: u32, f: impl Fn(f32, f32) -> f32) -> u32 {
    f(f32::from_bits(old), f32::from_bits(data)).to_bits()
}

fn on_f64(old: u64, data: u64, f: impl Fn(f64, f64) -> f64) -> u64 {
    f(f64::from_bits(old), f64::from_bits(data)).to_bits()
}

/// Each half on its own.
fn on_halves(old: u32, data: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(old as u16, data as u16)) | u32::from(f((old >> 16) as u16, (data >> 16) as u16)) << 16
}

changes! {
    /// Sum.
    AddU32: u32, |old, x| old.wrapping_add(x);
    /// Sum.
    AddU64: u64, |old, x| old.wrapping_add(x);
    /// Difference.
    SubU32: u32, |old, x| old.wrapping_sub(x);
    /// Difference.
    SubU64: u64, |old, x| old.wrapping_sub(x);
    /// Difference from the operand.
    RsubU32: u32, |old, x| x.wrapping_sub(old);
    /// Difference from the operand.
    RsubU64: u64, |old, x| x.wrapping_sub(old);
    /// Difference, not below zero.
    CsubU32: u32, |old, x| old.saturating_sub(x);
    /// Counts up, from the operand to zero.
    IncU32: u32, |old, x| if old >= x { 0 } else { old + 1 };
    /// Counts up, from the operand to zero.
    IncU64: u64, |old, x| if old >= x { 0 } else { old + 1 };
    /// Counts down, from zero or above the operand to the operand.
    DecU32: u32, |old, x| if old == 0 || old > x { x } else { old - 1 };
    /// Counts down, from zero or above the operand to the operand.
    DecU64: u64, |old, x| if old == 0 || old > x { x } else { old - 1 };
    /// Minimum.
    MinI32: u32, |old, x| (old as i32).min(x as i32) as u32;
    /// Minimum.
    MinI64: u64, |old, x| (old as i64).min(x as i64) as u64;
    /// Maximum.
    MaxI32: u32, |old, x| (old as i32).max(x as i32) as u32;
    /// Maximum.
    MaxI64: u64, |old, x| (old as i64).max(x as i64) as u64;
    /// Minimum.
    MinU32: u32, |old, x| old.min(x);
    /// Minimum.
    MinU64: u64, |old, x| old.min(x);
    /// Maximum.
    MaxU32: u32, |old, x| old.max(x);
    /// Maximum.
    MaxU64: u64, |old, x| old.max(x);
    /// Conjunction.
    AndB32: u32, |old, x| old & x;
    /// Conjunction.
    AndB64: u64, |old, x| old & x;
    /// Disjunction.
    OrB32: u32, |old, x| old | x;
    /// Disjunction.
    OrB64: u64, |old, x| old | x;
    /// Exclusive disjunction.
    XorB32: u32, |old, x| old ^ x;
    /// Exclusive disjunction.
    XorB64: u64, |old, x| old ^ x;
    /// Replacement.
    SwapB32: u32, |_old, x| x;
    /// Replacement.
    SwapB64: u64, |_old, x| x;
    /// Replacement of what equals the second operand.
    CmpSwapB32: u32, |old, x, compare| if old == compare { x } else { old };
    /// Replacement of what equals the second operand.
    CmpSwapB64: u64, |old, x, compare| if old == compare { x } else { old };
    /// Replacement of a float that equals the second operand.
    CmpSwapF32: u32, |old, x, compare| if f32::from_bits(old) == f32::from_bits(compare) { x } else { old };
    /// Replacement of a float that equals the second operand.
    CmpSwapF64: u64, |old, x, compare| if f64::from_bits(old) == f64::from_bits(compare) { x } else { old };
    /// As [`CmpSwapB32`], with the operands the other way round: GFX9's order in DS instructions.
    CmpStB32: u32, |old, compare, x| if old == compare { x } else { old };
    /// As [`CmpSwapB64`], with the operands the other way round.
    CmpStB64: u64, |old, compare, x| if old == compare { x } else { old };
    /// As [`CmpSwapF32`], with the operands the other way round.
    CmpStF32: u32, |old, compare, x| if f32::from_bits(old) == f32::from_bits(compare) { x } else { old };
    /// As [`CmpSwapF64`], with the operands the other way round.
    CmpStF64: u64, |old, compare, x| if f64::from_bits(old) == f64::from_bits(compare) { x } else { old };
    /// Replacement of the bits that the operand has.
    MskOrB32: u32, |old, mask, x| old & !mask | x;
    /// Replacement of the bits that the operand has.
    MskOrB64: u64, |old, mask, x| old & !mask | x;
    /// Difference where it is not negative, else the sum with the second operand.
    WrapB32: u32, |old, x, y| if old >= x { old - x } else { old.wrapping_add(y) };
    /// Sum.
    AddF32: u32, |old, x| on_f32(old, x, |a, b| a + b);
    /// Sum.
    AddF64: u64, |old, x| on_f64(old, x, |a, b| a + b);
    /// Minimum.
    MinF32: u32, |old, x| on_f32(old, x, minimum_f32);
    /// Minimum.
    MinF64: u64, |old, x| on_f64(old, x, minimum_f64);
    /// Maximum.
    MaxF32: u32, |old, x| on_f32(old, x, maximum_f32);
    /// Maximum.
    MaxF64: u64, |old, x| on_f64(old, x, maximum_f64);
    /// Two sums.
    PkAddF16: u32, |old, x| on_halves(old, x, |a, b| (f16::from_bits(a) + f16::from_bits(b)).to_bits());
    /// Two sums.
    PkAddBf16: u32, |old, x| on_halves(old, x, |a, b| (bf16::from_bits(a) + bf16::from_bits(b)).to_bits());
}
