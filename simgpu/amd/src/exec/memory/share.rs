//! Group memory, accessed by its own instructions (DS). Those that only exchange values between
//! lanes are in the module of cross-lane instructions.

use super::atomic::*;
use super::checked_access;
use super::operation::{ADDRESS, DATA, Form, Load, SECOND, Store, row};
use super::space::{Space, address_row, table};
use super::width::*;
use crate::exec::lower::Lower;
use crate::exec::program::{Source, Unsupported};
use crate::exec::{Env, Flow, Step, Wave};
use crate::isa::Inst;

/// The group address space.
pub struct Share;

impl Space for Share {
    const OWN_SECOND: bool = true;

    fn address(lower: &mut Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported> {
        address_row(lower, inst, step)
    }

    #[inline(always)]
    fn run(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form) -> Flow {
        at(wave, step, env, form, step.target);
        Flow::Next
    }
}

/// Accesses to two places of group memory in one instruction. The constant offsets count in units
/// of `UNIT` elements.
pub struct Two<const UNIT: u32>;

impl<const UNIT: u32> Space for Two<UNIT> {
    const OWN_SECOND: bool = true;

    fn address(lower: &mut Lower, inst: &Inst, step: &mut Step) -> Result<(), Unsupported> {
        address_row(lower, inst, step)?;
        step.target = inst.imm as u32 & 0xff | (inst.imm1 as u32 & 0xff) << 8;
        // The data that a store or an exchange puts in the second place.
        if inst.src_count > 2 {
            step.rows[SECOND] = Source::Row(lower.vgpr(inst, inst.src[2])?);
        }
        Ok(())
    }

    #[inline(always)]
    fn run(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form) -> Flow {
        let unit = UNIT * form.bytes;
        let (first, second) = (step.target & 0xff, step.target >> 8);
        // The first access may overwrite the address register, which the second still needs.
        let address = wave.v[row(step.rows[ADDRESS]) & 511];
        at(wave, step, env, form, first * unit);
        let mut next = *step;
        next.rows[DATA] = step.rows[SECOND];
        next.dst = step.dst.wrapping_add((form.bytes / 4) as u16);
        from(wave, &next, env, form, &address.0, second * unit);
        Flow::Next
    }
}

#[inline(always)]
fn at(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form, offset: u32) {
    let address = wave.v[row(step.rows[ADDRESS]) & 511];
    from(wave, step, env, form, &address.0, offset);
}

#[inline(always)]
fn from(wave: &mut Wave, step: &Step, env: &mut Env<'_>, form: &Form, address: &[u32; 64], offset: u32) {
    let mask = wave.exec();
    if mask != 0 {
        checked_access::local(wave, step, env, form, mask, &address.map(|a| a.wrapping_add(offset)));
    }
}

table! {
    /// Loads and stores.
    TABLE: "ds_", Share;
    "load_u8" => Load<U8>,
    "load_i8" => Load<I8>,
    "load_u16" => Load<U16>,
    "load_i16" => Load<I16>,
    "load_b32" => Load<Words<1>>,
    "load_b64" => Load<Words<2>>,
    "load_b96" => Load<Words<3>>,
    "load_b128" => Load<Words<4>>,
    "load_u8_d16" => Load<LowU8>,
    "load_i8_d16" => Load<LowI8>,
    "load_u16_d16" => Load<Low16>,
    "load_u8_d16_hi" => Load<HighU8>,
    "load_i8_d16_hi" => Load<HighI8>,
    "load_u16_d16_hi" => Load<High16>,
    "store_b8" => Store<U8>,
    "store_b16" => Store<U16>,
    "store_b32" => Store<Words<1>>,
    "store_b64" => Store<Words<2>>,
    "store_b96" => Store<Words<3>>,
    "store_b128" => Store<Words<4>>,
    "store_b8_d16_hi" => Store<HighU8>,
    "store_b16_d16_hi" => Store<High16>,
}

table! {
    /// Two places, with offsets in elements.
    TWO: "ds_", Two<1>;
    "load_2addr_b32" => Load<Words<1>>,
    "load_2addr_b64" => Load<Words<2>>,
    "store_2addr_b32" => Store<Words<1>>,
    "store_2addr_b64" => Store<Words<2>>,
    "storexchg_2addr_rtn_b32" => Atomic<SwapB32>,
    "storexchg_2addr_rtn_b64" => Atomic<SwapB64>,
}

table! {
    /// Two places, with offsets in units of 64 elements.
    TWO_FAR: "ds_", Two<64>;
    "load_2addr_stride64_b32" => Load<Words<1>>,
    "load_2addr_stride64_b64" => Load<Words<2>>,
    "store_2addr_stride64_b32" => Store<Words<1>>,
    "store_2addr_stride64_b64" => Store<Words<2>>,
    "storexchg_2addr_stride64_rtn_b32" => Atomic<SwapB32>,
    "storexchg_2addr_stride64_rtn_b64" => Atomic<SwapB64>,
}

/// Declares atomics, without and with return of the old value.
macro_rules! atomics {
    ($($name:literal $(, $returning:literal)? => $change:ty;)*) => {
        table! {
            /// Atomics.
            ATOMICS: "ds_", Share;
            $($name => Atomic<$change> $(, $returning => Atomic<$change>)?),*
        }
    };
}

atomics! {
    "add_u32", "add_rtn_u32" => AddU32;
    "add_u64", "add_rtn_u64" => AddU64;
    "sub_u32", "sub_rtn_u32" => SubU32;
    "sub_u64", "sub_rtn_u64" => SubU64;
    "rsub_u32", "rsub_rtn_u32" => RsubU32;
    "rsub_u64", "rsub_rtn_u64" => RsubU64;
    "inc_u32", "inc_rtn_u32" => IncU32;
    "inc_u64", "inc_rtn_u64" => IncU64;
    "dec_u32", "dec_rtn_u32" => DecU32;
    "dec_u64", "dec_rtn_u64" => DecU64;
    "min_i32", "min_rtn_i32" => MinI32;
    "min_i64", "min_rtn_i64" => MinI64;
    "max_i32", "max_rtn_i32" => MaxI32;
    "max_i64", "max_rtn_i64" => MaxI64;
    "min_u32", "min_rtn_u32" => MinU32;
    "min_u64", "min_rtn_u64" => MinU64;
    "max_u32", "max_rtn_u32" => MaxU32;
    "max_u64", "max_rtn_u64" => MaxU64;
    "and_b32", "and_rtn_b32" => AndB32;
    "and_b64", "and_rtn_b64" => AndB64;
    "or_b32", "or_rtn_b32" => OrB32;
    "or_b64", "or_rtn_b64" => OrB64;
    "xor_b32", "xor_rtn_b32" => XorB32;
    "xor_b64", "xor_rtn_b64" => XorB64;
    "mskor_b32", "mskor_rtn_b32" => MskOrB32;
    "mskor_b64", "mskor_rtn_b64" => MskOrB64;
    "storexchg_rtn_b32" => SwapB32;
    "storexchg_rtn_b64" => SwapB64;
    "wrap_rtn_b32" => WrapB32;
    "cmpstore_b32", "cmpstore_rtn_b32" => CmpSwapB32;
    "cmpstore_b64", "cmpstore_rtn_b64" => CmpSwapB64;
    "cmpstore_f32", "cmpstore_rtn_f32" => CmpSwapF32;
    "cmpstore_f64", "cmpstore_rtn_f64" => CmpSwapF64;
    "cmpst_b32", "cmpst_rtn_b32" => CmpStB32;
    "cmpst_b64", "cmpst_rtn_b64" => CmpStB64;
    "cmpst_f32", "cmpst_rtn_f32" => CmpStF32;
    "cmpst_f64", "cmpst_rtn_f64" => CmpStF64;
    "add_f32", "add_rtn_f32" => AddF32;
    "add_f64", "add_rtn_f64" => AddF64;
    "min_f32", "min_rtn_f32" => MinF32;
    "min_f64", "min_rtn_f64" => MinF64;
    "max_f32", "max_rtn_f32" => MaxF32;
    "max_f64", "max_rtn_f64" => MaxF64;
    "pk_add_f16", "pk_add_rtn_f16" => PkAddF16;
    "pk_add_bf16", "pk_add_rtn_bf16" => PkAddBf16;
}
