//! Moves bytes between memory and registers: every size, with extension to wider registers and
//! truncation from them.

use super::operation::{Form, Lanes, Masked, Places, Whole, lanes_in};
use crate::exec::lane::{row, write};
use crate::exec::{LANES, Place, Program, Warp};
use crate::lower::Lower;
use crate::ptx::ast::{Kind, Type};

/// The representation of an element in memory and in a register.
trait Unit {
    type Memory: Copy;
    type Register: Copy;
    const ZERO: Self::Register;
    fn widened(value: Self::Memory) -> Self::Register;
    fn narrowed(value: Self::Register) -> Self::Memory;
}

macro_rules! units {
    ($($memory:ty: $($register:ty),*;)*) => {$($(
        impl Unit for ($memory, $register) {
            type Memory = $memory;
            type Register = $register;
            const ZERO: $register = 0;

            #[inline(always)]
            fn widened(value: $memory) -> $register {
                value as $register
            }

            #[inline(always)]
            fn narrowed(value: $register) -> $memory {
                value as $memory
            }
        }
    )*)*};
}

units! {
    u8: u16, u32, u64;
    i8: u16, u32, u64;
    u16: u16, u32, u64;
    i16: u32, u64;
    u32: u32, u64;
    i32: u64;
    u64: u64;
    u128: u128;
}

/// The functions of a load or store.
pub struct Move {
    /// See [`Form::row`].
    pub row: Option<Whole>,
    /// See [`Form::same`].
    pub same: Option<Masked>,
    /// See [`Form::lanes`].
    pub lanes: Lanes,
}

/// Returns the functions to move `count` elements of type `ty` between memory and registers of
/// `width` bits.
///
/// # Errors
/// Fails if the registers are too narrow, or have a size that the type does not support.
pub fn moving(lower: &Lower<'_>, load: bool, ty: Type, width: u32, count: usize) -> Result<Move, String> {
    macro_rules! pick {
        ($($signed:pat, $bits:literal, $width:literal => $memory:ty, $register:ty;)*) => {
            match (ty.kind == Kind::Signed && load, ty.bits, width) {
                $(($signed, $bits, $width) => Ok(if load {
                    loads::<($memory, $register)>(lower, count)
                } else {
                    stores::<($memory, $register)>(lower, count)
                }),)*
                _ => Err(format!("{} bits of memory do not fit a register of {width} bits", ty.bits)),
            }
        };
    }
    pick! {
        false, 8, 16 => u8, u16;
        false, 8, 32 => u8, u32;
        false, 8, 64 => u8, u64;
        true, 8, 16 => i8, u16;
        true, 8, 32 => i8, u32;
        true, 8, 64 => i8, u64;
        _, 16, 16 => u16, u16;
        false, 16, 32 => u16, u32;
        false, 16, 64 => u16, u64;
        true, 16, 32 => i16, u32;
        true, 16, 64 => i16, u64;
        _, 32, 32 => u32, u32;
        false, 32, 64 => u32, u64;
        true, 32, 64 => i32, u64;
        _, 64, 64 => u64, u64;
        _, 128, 128 => u128, u128;
    }
}

fn loads<U: Unit>(lower: &Lower<'_>, count: usize) -> Move {
    Move {
        row: match count {
            1 if lower.avx2 => Some(load_row::<U, 1>),
            2 if lower.avx2 => Some(load_row::<U, 2>),
            4 if lower.avx2 => Some(load_row::<U, 4>),
            _ => None,
        },
        same: Some(load_same::<U>),
        lanes: if lower.avx2 { load_lanes_fast::<U> } else { load_lanes::<U> },
    }
}

fn stores<U: Unit>(lower: &Lower<'_>, count: usize) -> Move {
    Move {
        row: match count {
            1 if lower.avx2 => Some(store_row::<U, 1>),
            2 if lower.avx2 => Some(store_row::<U, 2>),
            4 if lower.avx2 => Some(store_row::<U, 4>),
            _ => None,
        },
        same: None,
        lanes: store_lanes::<U>,
    }
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn load_row<U: Unit, const N: usize>(warp: &mut Warp, _: &Program, form: &Form, at: *mut u8) {
    let mut values = [[U::ZERO; LANES]; N];
    for lane in 0..LANES {
        // SAFETY: the bytes of all lanes are consecutive and may be accessed, as the caller
        // promises; the read accepts any alignment.
        let elements = unsafe { at.cast::<[U::Memory; N]>().add(lane).read_unaligned() };
        for (values, element) in values.iter_mut().zip(elements) {
            values[lane] = U::widened(element);
        }
    }
    for (place, values) in form.registers.into_iter().zip(&values) {
        if place != Place::NONE {
            // SAFETY: lowering gave the form registers of this width, which the warp has.
            unsafe { *warp.rows.as_mut_ptr().add(place.index()).cast() = *values };
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn store_row<U: Unit, const N: usize>(warp: &mut Warp, program: &Program, form: &Form, at: *mut u8) {
    let mut values = [[U::ZERO; LANES]; N];
    for (place, values) in form.registers.into_iter().zip(&mut values) {
        // SAFETY: lowering gave the form sources of this width.
        *values = unsafe { *row(warp, program, place).cast() };
    }
    #[expect(clippy::needless_range_loop, reason = "a lane is an element of every row")]
    for lane in 0..LANES {
        let elements: [U::Memory; N] = std::array::from_fn(|i| U::narrowed(values[i][lane]));
        // SAFETY: as for `load_row`.
        unsafe { at.cast::<[U::Memory; N]>().add(lane).write_unaligned(elements) };
    }
}

unsafe fn load_same<U: Unit>(warp: &mut Warp, _: &Program, form: &Form, lanes: u32, at: *mut u8) {
    for (i, place) in form.registers.into_iter().enumerate().take(form.count) {
        // SAFETY: the element may be accessed as the caller promises, and lowering gave the form
        // registers of this width.
        unsafe {
            let value = U::widened(at.cast::<U::Memory>().add(i).read_unaligned());
            put::<U>(warp, place, lanes, &[value; LANES]);
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn load_lanes_fast<U: Unit>(warp: &mut Warp, program: &Program, form: &Form, lanes: u32, at: &Places) {
    // SAFETY: the caller promises that the element may be accessed.
    unsafe { load_lanes::<U>(warp, program, form, lanes, at) }
}

#[inline(always)]
unsafe fn load_lanes<U: Unit>(warp: &mut Warp, _: &Program, form: &Form, lanes: u32, at: &Places) {
    for (i, place) in form.registers.into_iter().enumerate().take(form.count) {
        let mut values = [U::ZERO; LANES];
        // SAFETY: the elements of these lanes may be accessed as the caller promises, and lowering
        // gave the form registers of this width.
        unsafe {
            if lanes == u32::MAX {
                for (value, at) in values.iter_mut().zip(at) {
                    *value = U::widened(at.cast::<U::Memory>().add(i).read_unaligned());
                }
            } else {
                for lane in lanes_in(lanes) {
                    values[lane] = U::widened(at[lane].cast::<U::Memory>().add(i).read_unaligned());
                }
            }
            put::<U>(warp, place, lanes, &values);
        }
    }
}

/// Writes the lanes of a mask in a register.
///
/// # Safety
/// `place` is a register of this width, or none.
#[inline(always)]
unsafe fn put<U: Unit>(warp: &mut Warp, place: Place, lanes: u32, values: &[U::Register; LANES]) {
    if place != Place::NONE {
        let active = std::mem::replace(&mut warp.active, lanes);
        // SAFETY: the caller promises that `place` is a register of this width, or none.
        unsafe { write(warp, place, values) };
        warp.active = active;
    }
}

unsafe fn store_lanes<U: Unit>(warp: &mut Warp, program: &Program, form: &Form, lanes: u32, at: &Places) {
    for (i, place) in form.registers.into_iter().enumerate().take(form.count) {
        // SAFETY: lowering gave the form sources of this width; the elements of these lanes may be
        // accessed as the caller promises.
        unsafe {
            let values = &*row(warp, program, place).cast::<[U::Register; LANES]>();
            for lane in lanes_in(lanes) {
                at[lane].cast::<U::Memory>().add(i).write_unaligned(U::narrowed(values[lane]));
            }
        }
    }
}
