//! Atomics: how they change the value in memory. They are atomic between the host's threads.

use super::operation::{DATA, NO_ROW, Operation, SECOND, row, set_words, words};
use super::width::MOST;
use crate::exec::{Step, Wave};
use half::{bf16, f16};
use isobit_simgpu_core::check::Access;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The type of an atomic's operands.
pub trait Word: Copy {
    /// The number of registers.
    const WORDS: usize;
    /// Reads the value from registers.
    fn from_words(words: [u32; MOST]) -> Self;
    /// Returns the value as registers.
    fn words(self) -> [u32; MOST];
    /// Replaces the value at `at`, and returns the old one.
    ///
    /// # Safety
    /// The value at `at` may be accessed, at a multiple of its size. Other threads access it only
    /// through this function, or the simulated kernel has a race.
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

/// How an atomic changes the value in memory.
pub trait Change {
    /// The type of its operands.
    type Word: Word;
    /// Whether it has a second operand.
    const SECOND: bool = false;
    /// Computes the new value from the old one and the operands.
    fn new(old: Self::Word, data: Self::Word, second: Self::Word) -> Self::Word;
}

/// An atomic operation.
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
        // SAFETY: as the caller promises; the check allowed only aligned lanes.
        let old = unsafe { C::Word::update(at, |old| C::new(old, data, second)) };
        if step.dst != NO_ROW {
            set_words(wave, usize::from(step.dst), count, lane, old.words());
        }
    }
}

/// Declares atomics as functions of the old value, the operand and, if there is a third name, the
/// second operand.
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

/// The IEEE minimum or maximum: for a number and a NaN it is the number; -0 is less than +0.
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

/// Applies a function to each half separately.
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
    /// Operand minus old value.
    RsubU32: u32, |old, x| x.wrapping_sub(old);
    /// Operand minus old value.
    RsubU64: u64, |old, x| x.wrapping_sub(old);
    /// Difference, saturating at zero.
    CsubU32: u32, |old, x| old.saturating_sub(x);
    /// Counts up, and wraps to zero at the operand.
    IncU32: u32, |old, x| if old >= x { 0 } else { old + 1 };
    /// Counts up, and wraps to zero at the operand.
    IncU64: u64, |old, x| if old >= x { 0 } else { old + 1 };
    /// Counts down, and wraps to the operand at zero or from above the operand.
    DecU32: u32, |old, x| if old == 0 || old > x { x } else { old - 1 };
    /// Counts down, and wraps to the operand at zero or from above the operand.
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
    /// Bitwise AND.
    AndB32: u32, |old, x| old & x;
    /// Bitwise AND.
    AndB64: u64, |old, x| old & x;
    /// Bitwise OR.
    OrB32: u32, |old, x| old | x;
    /// Bitwise OR.
    OrB64: u64, |old, x| old | x;
    /// Bitwise XOR.
    XorB32: u32, |old, x| old ^ x;
    /// Bitwise XOR.
    XorB64: u64, |old, x| old ^ x;
    /// Exchange.
    SwapB32: u32, |_old, x| x;
    /// Exchange.
    SwapB64: u64, |_old, x| x;
    /// Compare and swap: replaces the value if it equals the second operand.
    CmpSwapB32: u32, |old, x, compare| if old == compare { x } else { old };
    /// Compare and swap: replaces the value if it equals the second operand.
    CmpSwapB64: u64, |old, x, compare| if old == compare { x } else { old };
    /// Compare and swap of a float: replaces the value if it equals the second operand.
    CmpSwapF32: u32, |old, x, compare| if f32::from_bits(old) == f32::from_bits(compare) { x } else { old };
    /// Compare and swap of a float: replaces the value if it equals the second operand.
    CmpSwapF64: u64, |old, x, compare| if f64::from_bits(old) == f64::from_bits(compare) { x } else { old };
    /// As [`CmpSwapB32`], with the operands swapped: GFX9's order in DS instructions.
    CmpStB32: u32, |old, compare, x| if old == compare { x } else { old };
    /// As [`CmpSwapB64`], with the operands swapped.
    CmpStB64: u64, |old, compare, x| if old == compare { x } else { old };
    /// As [`CmpSwapF32`], with the operands swapped.
    CmpStF32: u32, |old, compare, x| if f32::from_bits(old) == f32::from_bits(compare) { x } else { old };
    /// As [`CmpSwapF64`], with the operands swapped.
    CmpStF64: u64, |old, compare, x| if f64::from_bits(old) == f64::from_bits(compare) { x } else { old };
    /// Replaces the bits in the mask, which is the first operand, with the second operand.
    MskOrB32: u32, |old, mask, x| old & !mask | x;
    /// Replaces the bits in the mask, which is the first operand, with the second operand.
    MskOrB64: u64, |old, mask, x| old & !mask | x;
    /// The difference if it is not negative, otherwise the sum with the second operand.
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
