//! Address spaces of memory instructions, and the lowering that combines a space with an operation.

use super::operation::{ADDRESS, DATA, Form, NO_ROW, Operation, SECOND};
use crate::exec::lower::{Lower, modifier};
use crate::exec::marks::Mark;
use crate::exec::program::{Exec, Source, Unsupported};
use crate::exec::{Env, Flow, Step, Wave};
use crate::isa::{Inst, Operand};

/// A way of addressing memory.
pub trait Space {
    /// Whether the second operand of an atomic has registers of its own. Otherwise it follows the
    /// first operand's.
    const OWN_SECOND: bool = false;

    /// Sets the parts of the step's address.
    ///
    /// # Errors
    /// A modifier that is not simulated.
    fn address(lower: &mut Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported>;

    /// Executes a step.
    fn run(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form) -> Flow;
}

/// Lowers an instruction that does `O` in `S`.
///
/// # Errors
/// A modifier that is not simulated.
pub fn lowering<S: Space, O: Operation>(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    let (fast, base) = match lower.mark {
        Mark::Plain => (fast::<S, O, PLAIN> as Exec, base::<S, O, PLAIN> as Exec),
        Mark::Atomic => (fast::<S, O, ATOMIC> as Exec, base::<S, O, ATOMIC> as Exec),
        Mark::Compared => (fast::<S, O, COMPARED> as Exec, base::<S, O, COMPARED> as Exec),
    };
    step::<S>(lower, inst, lower.choose(fast, base), &O::FORM)
}

const PLAIN: u8 = Mark::Plain as u8;
const ATOMIC: u8 = Mark::Atomic as u8;
const COMPARED: u8 = Mark::Compared as u8;

/// Returns the form of an operation with a mark.
const fn form<O: Operation, const MARK: u8>() -> &'static Form {
    match MARK {
        PLAIN => &O::FORM,
        ATOMIC => &O::ATOMIC,
        _ => &O::COMPARED,
    }
}

fn step<S: Space>(lower: &mut Lower, inst: &Inst, exec: Exec, form: &Form) -> Result<Step, Unsupported> {
    let mut step = lower.step(exec);
    step.dst = match inst.dst {
        Operand::None if form.access.writes() => NO_ROW,
        operand => lower.vgpr(inst, operand)?,
    };
    if form.stored > 0 {
        let data = lower.vgpr(inst, inst.src[1])?;
        step.rows[DATA] = Source::Row(data);
        step.rows[SECOND] = Source::Row(match form.second {
            true if S::OWN_SECOND => lower.vgpr(inst, inst.src[2])?,
            _ => (data + form.stored as u16) & 511,
        });
    }
    if inst.lds {
        return Err(modifier(inst, "lds or gds"));
    }
    S::address(lower, inst, &mut step)?;
    Ok(step)
}

fn fast<S: Space, O: Operation, const MARK: u8>(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    // SAFETY: lowering chose this function because the processor has the features.
    unsafe { run_fast::<S>(wave, step, env, form::<O, MARK>()) }
}

fn base<S: Space, O: Operation, const MARK: u8>(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    run_base::<S>(wave, step, env, form::<O, MARK>())
}

#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn run_fast<S: Space>(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form) -> Flow {
    S::run(wave, step, env, form)
}

#[inline(never)]
fn run_base<S: Space>(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form) -> Flow {
    S::run(wave, step, env, form)
}

/// Returns the step's constant offset.
#[inline(always)]
pub fn offset(step: &Step) -> i64 {
    i64::from(step.target as i32)
}

/// Sets the address register of a step.
///
/// # Errors
/// The operand is not a vector register.
pub fn address_row(lower: &Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported> {
    step.rows[ADDRESS] = Source::Row(lower.vgpr(inst, inst.src[0])?);
    step.target = inst.imm as u32;
    Ok(())
}

/// As [`address_row`], if the instruction may have no address register; the addresses are then 0.
///
/// # Errors
/// The operand is not a vector register.
pub fn optional_address_row(lower: &mut Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported> {
    if inst.src[0] != Operand::None {
        return address_row(lower, inst, step);
    }
    step.rows[ADDRESS] = lower.constant(0);
    step.target = inst.imm as u32;
    Ok(())
}

/// Declares a table of the loads, stores and atomics of a space: `"global_": Global; loads, stores
/// and atomics by the rest of their names.`
macro_rules! table {
    ($(#[$doc:meta])* $table:ident: $prefix:literal, $space:ty;
     $($name:literal => $operation:ty),* $(,)?) => {
        $(#[$doc])*
        pub const $table: &[(&str, $crate::exec::lower::Lowering)] =
            &[$((concat!($prefix, $name), $crate::exec::memory::space::lowering::<$space, $operation>)),*];
    };
}
pub(crate) use table;

/// As [`table`], with the names of vector memory instructions, which all spaces except group memory
/// share.
macro_rules! vector_memory {
    ($(#[$doc:meta])* $table:ident: $prefix:literal, $space:ty $(; $name:literal => $operation:ty)*) => {
        $crate::exec::memory::space::table! {
            $(#[$doc])*
            $table: $prefix, $space;
            "load_u8" => Load<U8>,
            "load_i8" => Load<I8>,
            "load_u16" => Load<U16>,
            "load_i16" => Load<I16>,
            "load_b32" => Load<Words<1>>,
            "load_b64" => Load<Words<2>>,
            "load_b96" => Load<Words<3>>,
            "load_b128" => Load<Words<4>>,
            "load_d16_u8" => Load<LowU8>,
            "load_d16_i8" => Load<LowI8>,
            "load_d16_b16" => Load<Low16>,
            "load_d16_hi_u8" => Load<HighU8>,
            "load_d16_hi_i8" => Load<HighI8>,
            "load_d16_hi_b16" => Load<High16>,
            "store_b8" => Store<U8>,
            "store_b16" => Store<U16>,
            "store_b32" => Store<Words<1>>,
            "store_b64" => Store<Words<2>>,
            "store_b96" => Store<Words<3>>,
            "store_b128" => Store<Words<4>>,
            "store_d16_hi_b8" => Store<HighU8>,
            "store_d16_hi_b16" => Store<High16>,
            $($name => $operation),*
        }
    };
}
pub(crate) use vector_memory;

/// As [`table`], for the atomics of vector memory.
macro_rules! vector_atomics {
    ($(#[$doc:meta])* $table:ident: $prefix:literal, $space:ty) => {
        $crate::exec::memory::space::table! {
            $(#[$doc])*
            $table: $prefix, $space;
            "atomic_add_u32" => Atomic<AddU32>,
            "atomic_add_u64" => Atomic<AddU64>,
            "atomic_sub_u32" => Atomic<SubU32>,
            "atomic_sub_u64" => Atomic<SubU64>,
            "atomic_csub_u32" => Atomic<CsubU32>,
            "atomic_inc_u32" => Atomic<IncU32>,
            "atomic_inc_u64" => Atomic<IncU64>,
            "atomic_dec_u32" => Atomic<DecU32>,
            "atomic_dec_u64" => Atomic<DecU64>,
            "atomic_min_i32" => Atomic<MinI32>,
            "atomic_min_i64" => Atomic<MinI64>,
            "atomic_max_i32" => Atomic<MaxI32>,
            "atomic_max_i64" => Atomic<MaxI64>,
            "atomic_min_u32" => Atomic<MinU32>,
            "atomic_min_u64" => Atomic<MinU64>,
            "atomic_max_u32" => Atomic<MaxU32>,
            "atomic_max_u64" => Atomic<MaxU64>,
            "atomic_and_b32" => Atomic<AndB32>,
            "atomic_and_b64" => Atomic<AndB64>,
            "atomic_or_b32" => Atomic<OrB32>,
            "atomic_or_b64" => Atomic<OrB64>,
            "atomic_xor_b32" => Atomic<XorB32>,
            "atomic_xor_b64" => Atomic<XorB64>,
            "atomic_swap_b32" => Atomic<SwapB32>,
            "atomic_swap_b64" => Atomic<SwapB64>,
            "atomic_cmpswap_b32" => Atomic<CmpSwapB32>,
            "atomic_cmpswap_b64" => Atomic<CmpSwapB64>,
            "atomic_cmpswap_f32" => Atomic<CmpSwapF32>,
            "atomic_add_f32" => Atomic<AddF32>,
            "atomic_add_f64" => Atomic<AddF64>,
            "atomic_min_f32" => Atomic<MinF32>,
            "atomic_min_f64" => Atomic<MinF64>,
            "atomic_max_f32" => Atomic<MaxF32>,
            "atomic_max_f64" => Atomic<MaxF64>,
            "atomic_pk_add_f16" => Atomic<PkAddF16>,
            "atomic_pk_add_bf16" => Atomic<PkAddBf16>,
        }
    };
}
pub(crate) use vector_atomics;
