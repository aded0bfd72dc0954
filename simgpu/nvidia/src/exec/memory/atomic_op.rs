//! The read-modify-write operations of atomics. They are atomic between the host's threads.

use super::operation::{Form, Lanes, Places, lanes_in};
use crate::exec::lane::{row, write};
use crate::exec::{LANES, Place, Program, Warp};
use half::{bf16, f16};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// The word that an atomic operates on.
trait Word: Copy {
    const ZERO: Self;

    /// Replaces the value at `at` and returns the old one.
    ///
    /// # Safety
    /// The value at `at` may be accessed, and its address is a multiple of its size. Other threads
    /// access it only through this function, or with a race that the simulated kernel itself has.
    unsafe fn update(at: *mut u8, new: impl Fn(Self) -> Self) -> Self;
}

macro_rules! word {
    ($($type:ty: $atomic:ty;)*) => {$(
        impl Word for $type {
            const ZERO: Self = 0;

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
    u16: AtomicU16;
    u32: AtomicU32;
    u64: AtomicU64;
}

impl Word for u128 {
    const ZERO: Self = 0;

    unsafe fn update(at: *mut u8, new: impl Fn(Self) -> Self) -> Self {
        let mut old = 0;
        loop {
            // SAFETY: as the caller promises; lowering checked that the processor has the
            // instruction.
            let now = unsafe { exchange(at.cast(), old, new(old)) };
            if now == old {
                return old;
            }
            old = now;
        }
    }
}

/// Stores `new` if the value is `old`, and returns the previous value.
///
/// # Safety
/// The requirements of [`Word::update`], on a processor that has the instruction.
unsafe fn exchange(at: *mut u128, old: u128, new: u128) -> u128 {
    let (low, high): (u64, u64);
    // SAFETY: as the caller promises. The compiler reserves RBX, so the code exchanges it with RSI
    // for the duration.
    unsafe {
        std::arch::asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") at,
            inout("rsi") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") old as u64 => low,
            inout("rdx") (old >> 64) as u64 => high,
            options(nostack),
        );
    }
    u128::from(low) | u128::from(high) << 64
}

/// The operation of an atomic on the value in memory.
trait Change {
    /// The word type.
    type Word: Word;
    /// Returns the new value from the old one and the operands.
    fn new(old: Self::Word, data: Self::Word, second: Self::Word) -> Self::Word;
}

/// Performs the operation for lanes, one after the other.
unsafe fn perform<C: Change>(warp: &mut Warp, program: &Program, form: &Form, lanes: u32, at: &Places) {
    // Copies of the operands, because the destination may overlap them.
    let operand = |place: Place| match place {
        Place::NONE => [C::Word::ZERO; LANES],
        // SAFETY: lowering gave the step sources of this width.
        place => unsafe { *row(warp, program, place).cast::<[C::Word; LANES]>() },
    };
    let (data, second) = (operand(form.registers[0]), operand(form.registers[1]));
    let mut before = [C::Word::ZERO; LANES];
    for lane in lanes_in(lanes) {
        // SAFETY: as the caller promises, and the check accepted only aligned lanes.
        before[lane] = unsafe { C::Word::update(at[lane], |old| C::new(old, data[lane], second[lane])) };
    }
    if form.old != Place::NONE {
        let active = std::mem::replace(&mut warp.active, lanes);
        // SAFETY: lowering gave the step a register of this width.
        unsafe { write(warp, form.old, &before) };
        warp.active = active;
    }
}

/// Returns the functions of an atomic by operation and type (`add`, `u32`), for global and for
/// shared memory; `None` if there is no such atomic.
pub fn change(operation: &str, ty: &str) -> Option<(Lanes, Lanes)> {
    CHANGES.iter().find(|row| row.0 == operation && row.1.contains(&ty)).map(|row| (row.2, row.3))
}

/// Declares atomics as functions of the old value, the operand and, with a third name, the second
/// operand. If there are two functions, the second is for shared memory.
macro_rules! changes {
    ($($operation:literal, $($ty:literal)|*, $word:ty: $global:expr $(, $shared:expr)?;)*) => {
        const CHANGES: &[(&str, &[&str], Lanes, Lanes)] = &[$({
            struct Global;
            impl Change for Global {
                type Word = $word;
                #[inline(always)]
                fn new(old: $word, data: $word, second: $word) -> $word {
                    let f: fn($word, $word, $word) -> $word = $global;
                    f(old, data, second)
                }
            }
            let (global, shared) = (perform::<Global> as Lanes, perform::<Global> as Lanes);
            $(
                let shared = {
                    struct Shared;
                    impl Change for Shared {
                        type Word = $word;
                        #[inline(always)]
                        fn new(old: $word, data: $word, second: $word) -> $word {
                            let f: fn($word, $word, $word) -> $word = $shared;
                            f(old, data, second)
                        }
                    }
                    let _ = shared;
                    perform::<Shared> as Lanes
                };
            )?
            ($operation, &[$($ty),*], global, shared)
        }),*];
    };
}

/// Adds floats. With `FLUSH`, subnormal numbers are flushed to zeros of their sign, as PTX
/// specifies for global memory, but not for shared memory.
#[inline(always)]
fn sum_f32<const FLUSH: bool>(old: u32, data: u32) -> u32 {
    let flushed = |bits: u32| if FLUSH && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits };
    let sum = f32::from_bits(flushed(old)) + f32::from_bits(flushed(data));
    // The NaN of PTX's single-precision additions.
    if sum.is_nan() { 0x7fff_ffff } else { flushed(sum.to_bits()) }
}

/// The single-precision sum of halves is accurate enough to be rounded again.
#[inline(always)]
fn sum_f16(old: u16, data: u16) -> u16 {
    let sum = f16::from_bits(old).to_f32() + f16::from_bits(data).to_f32();
    if sum.is_nan() { 0x7fff } else { f16::from_f32(sum).to_bits() }
}

/// See [`sum_f16`].
#[inline(always)]
fn sum_bf16(old: u16, data: u16) -> u16 {
    let sum = bf16::from_bits(old).to_f32() + bf16::from_bits(data).to_f32();
    if sum.is_nan() { 0x7fff } else { bf16::from_f32(sum).to_bits() }
}

/// Applies a function to each half separately.
#[inline(always)]
fn on_halves(old: u32, data: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(old as u16, data as u16)) | u32::from(f((old >> 16) as u16, (data >> 16) as u16)) << 16
}

changes! {
    "add", "u32" | "s32", u32: |old, x, _| old.wrapping_add(x);
    "add", "u64" | "s64", u64: |old, x, _| old.wrapping_add(x);
    "add", "f32", u32: |old, x, _| sum_f32::<true>(old, x), |old, x, _| sum_f32::<false>(old, x);
    "add", "f64", u64: |old, x, _| (f64::from_bits(old) + f64::from_bits(x)).to_bits();
    "add", "f16", u16: |old, x, _| sum_f16(old, x);
    "add", "bf16", u16: |old, x, _| sum_bf16(old, x);
    "add", "f16x2", u32: |old, x, _| on_halves(old, x, sum_f16);
    "add", "bf16x2", u32: |old, x, _| on_halves(old, x, sum_bf16);
    "inc", "u32", u32: |old, x, _| if old >= x { 0 } else { old + 1 };
    "dec", "u32", u32: |old, x, _| if old == 0 || old > x { x } else { old - 1 };
    "min", "u32", u32: |old, x, _| old.min(x);
    "min", "s32", u32: |old, x, _| (old as i32).min(x as i32) as u32;
    "min", "u64", u64: |old, x, _| old.min(x);
    "min", "s64", u64: |old, x, _| (old as i64).min(x as i64) as u64;
    "max", "u32", u32: |old, x, _| old.max(x);
    "max", "s32", u32: |old, x, _| (old as i32).max(x as i32) as u32;
    "max", "u64", u64: |old, x, _| old.max(x);
    "max", "s64", u64: |old, x, _| (old as i64).max(x as i64) as u64;
    "and", "b32", u32: |old, x, _| old & x;
    "and", "b64", u64: |old, x, _| old & x;
    "or", "b32", u32: |old, x, _| old | x;
    "or", "b64", u64: |old, x, _| old | x;
    "xor", "b32", u32: |old, x, _| old ^ x;
    "xor", "b64", u64: |old, x, _| old ^ x;
    "exch", "b32", u32: |_, x, _| x;
    "exch", "b64", u64: |_, x, _| x;
    "exch", "b128", u128: |_, x, _| x;
    "cas", "b16", u16: |old, compare, x| if old == compare { x } else { old };
    "cas", "b32", u32: |old, compare, x| if old == compare { x } else { old };
    "cas", "b64", u64: |old, compare, x| if old == compare { x } else { old };
    "cas", "b128", u128: |old, compare, x| if old == compare { x } else { old };
}
