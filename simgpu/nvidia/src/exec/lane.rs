//! The engine of most instructions: applies a function of one lane's operands to all lanes of a
//! warp.

use super::program::{Exec, Flow, Place, Program, Step};
use super::row::{LANES, Row, gather};
use super::warp::{Env, Warp};
use crate::lower::Lower;
use std::hint::black_box;

/// The operation of an instruction on one lane.
pub trait Lanes {
    /// The type of the sources: a tuple of [`Value`]s, in the order of [`Step::src`].
    type In: Operands;
    /// The type of the result.
    type Out: Outcome;
    /// Computes one lane. `#[inline(always)]`, and without branches if possible, so that it becomes
    /// vector code.
    fn lane(operands: Self::In) -> Self::Out;
}

/// The function of a step, with the widths of its operands.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// The function.
    pub exec: Exec,
    /// The widths of its sources, like [`Operands::BITS`].
    pub sources: &'static [u32],
    /// The width of its result, like [`Outcome::BITS`].
    pub result: u32,
}

/// Returns the function and the widths of a step that computes `L`.
pub fn function<L: Lanes>(lower: &Lower<'_>) -> Function {
    Function { exec: exec::<L>(lower), sources: L::In::BITS, result: L::Out::BITS }
}

/// Returns only the function of a step that computes `L`.
pub fn exec<L: Lanes>(lower: &Lower<'_>) -> Exec {
    lower.choose(fast::<L> as Exec, base::<L> as Exec)
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn fast<L: Lanes>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    run::<true, L>(warp, step, env)
}

fn base<L: Lanes>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    run::<false, L>(warp, step, env)
}

#[inline(always)]
fn run<const AVX2: bool, L: Lanes>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let out = {
        // SAFETY: lowering gave the step one source of the right type for each element of the
        // tuple.
        let rows = unsafe { L::In::fetch(warp, env.program, step) };
        let mut out = L::Out::NOTHING;
        let mut lane = 0;
        while lane < LANES {
            L::lane(L::In::lane(&rows, lane)).put(&mut out, lane);
            lane = after::<AVX2>(lane);
        }
        out
    };
    // SAFETY: lowering gave the step destinations of the outcome's type.
    unsafe { L::Out::write::<AVX2>(&out, warp, step) };
    Flow::Next
}

/// Returns the next lane. Without AVX2, the compiler must not see which lane is next: it then emits
/// a loop of one lane at a time, which compiles in a fraction of the time of vector code. Almost no
/// processor needs this version, and its results are the same.
#[inline(always)]
pub fn after<const AVX2: bool>(lane: usize) -> usize {
    if AVX2 { lane + 1 } else { black_box(lane + 1) }
}

/// The sources of an instruction.
pub trait Operands: Copy {
    /// References to their rows.
    type Rows<'a>: Copy;
    /// The width of each, like [`Value::BITS`].
    const BITS: &'static [u32];

    /// Finds the rows.
    ///
    /// # Safety
    /// The step has these sources with these types, in the warp and the program.
    unsafe fn fetch<'a>(warp: &'a Warp, program: &'a Program, step: &Step) -> Self::Rows<'a>;

    /// Returns the sources of one lane.
    fn lane(rows: &Self::Rows<'_>, lane: usize) -> Self;
}

macro_rules! tuple {
    ($($type:ident $at:tt),*) => {
        impl<$($type: Value),*> Operands for ($($type,)*) {
            type Rows<'a> = ($($type::Row<'a>,)*);
            const BITS: &'static [u32] = &[$($type::BITS),*];

            #[inline(always)]
            unsafe fn fetch<'a>(warp: &'a Warp, program: &'a Program, step: &Step) -> Self::Rows<'a> {
                // SAFETY: the caller meets the requirement of the trait's method: the registers
                // have this width.
                unsafe { ($($type::fetch(warp, program, step.src[$at]),)*) }
            }

            #[inline(always)]
            fn lane(rows: &Self::Rows<'_>, lane: usize) -> Self {
                ($($type::get(rows.$at, lane),)*)
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);

/// Returns the first row of a source, in the warp or among the constants.
///
/// # Safety
/// The row exists.
#[inline(always)]
pub unsafe fn row(warp: &Warp, program: &Program, place: Place) -> *const Row {
    let from = if place.is_constant() { program.constants.as_ptr() } else { warp.rows.as_ptr() };
    // SAFETY: the caller promises that the row exists.
    unsafe { from.add(place.index()) }
}

/// The type of a source.
pub trait Value: Copy {
    /// A reference to the values of all lanes.
    type Row<'a>: Copy;
    /// The width of the register: 1 for a predicate, 0 if the value is not an operand.
    const BITS: u32;

    /// Finds the values.
    ///
    /// # Safety
    /// `place` is a source of this type.
    unsafe fn fetch<'a>(warp: &'a Warp, program: &'a Program, place: Place) -> Self::Row<'a>;

    /// Returns the value of one lane.
    fn get(row: Self::Row<'_>, lane: usize) -> Self;
}

/// The type of a result.
pub trait Outcome: Copy {
    /// The results of all lanes.
    type Buffer;
    /// The width of the register: 1 for predicates.
    const BITS: u32;
    /// An empty buffer.
    const NOTHING: Self::Buffer;

    /// Stores a lane's result in the buffer.
    fn put(self, buffer: &mut Self::Buffer, lane: usize);

    /// Writes the results of the active lanes.
    ///
    /// # Safety
    /// The step's destinations have this type.
    unsafe fn write<const AVX2: bool>(buffer: &Self::Buffer, warp: &mut Warp, step: &Step);
}

/// Writes a register in the active lanes.
///
/// # Safety
/// `place` is a register of the warp of this type.
#[inline(always)]
pub unsafe fn write<T: Copy>(warp: &mut Warp, place: Place, values: &[T; LANES]) {
    let active = warp.active;
    // SAFETY: as the caller promises; rows are aligned for every type.
    let row = unsafe { &mut *warp.rows.as_mut_ptr().add(place.index()).cast::<[T; LANES]>() };
    if active == u32::MAX {
        *row = *values;
    } else {
        for lane in 0..LANES {
            row[lane] = if active >> lane & 1 != 0 { values[lane] } else { row[lane] };
        }
    }
}

/// Like [`write()`], but a function of its own that all code without AVX2 shares.
///
/// # Safety
/// The requirements of [`write()`].
#[inline(never)]
pub unsafe fn write_base<T: Copy>(warp: &mut Warp, place: Place, values: &[T; LANES]) {
    // SAFETY: the caller meets the requirements of `write`.
    unsafe { write(warp, place, values) }
}

/// Implements the traits for types whose values are stored in one row or two in their memory
/// representation. Each type has its zero value.
macro_rules! number {
    ($($type:ty, $zero:expr;)*) => {$(
        impl $crate::exec::lane::Value for $type {
            type Row<'a> = &'a [$type; $crate::exec::LANES];
            const BITS: u32 = size_of::<$type>() as u32 * 8;

            #[inline(always)]
            unsafe fn fetch<'a>(
                warp: &'a $crate::exec::Warp,
                program: &'a $crate::exec::Program,
                place: $crate::exec::Place,
            ) -> Self::Row<'a> {
                // SAFETY: as the caller promises; rows are aligned for every type, and every bit
                // pattern is a valid value.
                unsafe { &*$crate::exec::lane::row(warp, program, place).cast() }
            }

            #[inline(always)]
            fn get(row: Self::Row<'_>, lane: usize) -> Self {
                row[lane]
            }
        }

        impl $crate::exec::lane::Outcome for $type {
            type Buffer = [$type; $crate::exec::LANES];
            const BITS: u32 = size_of::<$type>() as u32 * 8;
            const NOTHING: Self::Buffer = [$zero; $crate::exec::LANES];

            #[inline(always)]
            fn put(self, buffer: &mut Self::Buffer, lane: usize) {
                buffer[lane] = self;
            }

            #[inline(always)]
            unsafe fn write<const AVX2: bool>(
                buffer: &Self::Buffer,
                warp: &mut $crate::exec::Warp,
                step: &$crate::exec::Step,
            ) {
                // SAFETY: the caller meets the requirement of the trait's method: the registers
                // have this width.
                unsafe {
                    if AVX2 {
                        $crate::exec::lane::write(warp, step.dst, buffer);
                    } else {
                        $crate::exec::lane::write_base(warp, step.dst, buffer);
                    }
                }
            }
        }
    )*};
}
pub(crate) use number;

number! {
    u16, 0;
    i16, 0;
    u32, 0;
    i32, 0;
    u64, 0;
    i64, 0;
    f32, 0.0;
    f64, 0.0;
}

impl Value for bool {
    type Row<'a> = u32;
    const BITS: u32 = 1;

    #[inline(always)]
    unsafe fn fetch<'a>(warp: &'a Warp, _: &'a Program, place: Place) -> u32 {
        warp.predicate(place)
    }

    #[inline(always)]
    fn get(row: u32, lane: usize) -> Self {
        row >> lane & 1 != 0
    }
}

impl Outcome for bool {
    type Buffer = [u32; LANES];
    const BITS: u32 = 1;
    const NOTHING: Self::Buffer = [0; LANES];

    #[inline(always)]
    fn put(self, buffer: &mut Self::Buffer, lane: usize) {
        buffer[lane] = u32::from(self).wrapping_neg();
    }

    #[inline(always)]
    unsafe fn write<const AVX2: bool>(buffer: &Self::Buffer, warp: &mut Warp, step: &Step) {
        warp.set_predicate(step.dst, gather::<AVX2>(buffer));
    }
}

/// `p|q`
impl Outcome for (bool, bool) {
    type Buffer = [[u32; LANES]; 2];
    const BITS: u32 = 1;
    const NOTHING: Self::Buffer = [[0; LANES]; 2];

    #[inline(always)]
    fn put(self, buffer: &mut Self::Buffer, lane: usize) {
        self.0.put(&mut buffer[0], lane);
        self.1.put(&mut buffer[1], lane);
    }

    #[inline(always)]
    unsafe fn write<const AVX2: bool>(buffer: &Self::Buffer, warp: &mut Warp, step: &Step) {
        for (place, lanes) in [step.dst, step.also].into_iter().zip(buffer) {
            if place != Place::NONE {
                warp.set_predicate(place, gather::<AVX2>(lanes));
            }
        }
    }
}
