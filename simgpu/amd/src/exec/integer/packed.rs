//! Two 16-bit integers at a time.

use super::clamp::clamped;
use crate::exec::lane::lanes;
use crate::exec::value::U16x2;

/// Applies a function to both halves.
#[inline(always)]
fn each(a: U16x2, b: U16x2, f: impl Fn(u16, u16) -> u16) -> U16x2 {
    U16x2(f(a.0, b.0), f(a.1, b.1))
}

/// Applies a function to both halves as signed numbers.
#[inline(always)]
fn each_signed(a: U16x2, b: U16x2, f: impl Fn(i16, i16) -> i16) -> U16x2 {
    each(a, b, |a, b| f(a as i16, b as i16) as u16)
}

/// Computes the product of both halves plus a sum; `to` converts the exact result.
#[inline(always)]
fn mad(a: U16x2, b: U16x2, c: U16x2, to: impl Fn(u32) -> u16) -> U16x2 {
    let one = |a: u16, b: u16, c: u16| to(u32::from(a) * u32::from(b) + u32::from(c));
    U16x2(one(a.0, b.0, c.0), one(a.1, b.1, c.1))
}

/// As [`mad`], for signed numbers.
#[inline(always)]
fn mad_signed(a: U16x2, b: U16x2, c: U16x2, to: impl Fn(i32) -> i16) -> U16x2 {
    let one = |a: u16, b: u16, c: u16| to(i32::from(a as i16) * i32::from(b as i16) + i32::from(c as i16)) as u16;
    U16x2(one(a.0, b.0, c.0), one(a.1, b.1, c.1))
}

clamped! {
    /// Sums and products.
    CLAMPED:
    "v_pk_add_u16" => |a: U16x2, b: U16x2| -> U16x2 {
        each(a, b, u16::wrapping_add)
    } or {
        each(a, b, u16::saturating_add)
    };
    "v_pk_sub_u16" => |a: U16x2, b: U16x2| -> U16x2 {
        each(a, b, u16::wrapping_sub)
    } or {
        each(a, b, u16::saturating_sub)
    };
    "v_pk_add_i16" => |a: U16x2, b: U16x2| -> U16x2 {
        each_signed(a, b, i16::wrapping_add)
    } or {
        each_signed(a, b, i16::saturating_add)
    };
    "v_pk_sub_i16" => |a: U16x2, b: U16x2| -> U16x2 {
        each_signed(a, b, i16::wrapping_sub)
    } or {
        each_signed(a, b, i16::saturating_sub)
    };
    "v_pk_mul_lo_u16" => |a: U16x2, b: U16x2| -> U16x2 {
        each(a, b, u16::wrapping_mul)
    } or {
        each(a, b, u16::saturating_mul)
    };
    "v_pk_mad_u16" => |a: U16x2, b: U16x2, c: U16x2| -> U16x2 {
        mad(a, b, c, |x| x as u16)
    } or {
        mad(a, b, c, |x| x.min(u16::MAX.into()) as u16)
    };
    "v_pk_mad_i16" => |a: U16x2, b: U16x2, c: U16x2| -> U16x2 {
        mad_signed(a, b, c, |x| x as i16)
    } or {
        mad_signed(a, b, c, |x| x.clamp(i16::MIN.into(), i16::MAX.into()) as i16)
    };
}

lanes! {
    /// Minimum, maximum, and shifts with the count first.
    TABLE:
    "v_pk_min_u16" => |a: U16x2, b: U16x2| -> U16x2 { each(a, b, u16::min) };
    "v_pk_max_u16" => |a: U16x2, b: U16x2| -> U16x2 { each(a, b, u16::max) };
    "v_pk_min_i16" => |a: U16x2, b: U16x2| -> U16x2 { each_signed(a, b, i16::min) };
    "v_pk_max_i16" => |a: U16x2, b: U16x2| -> U16x2 { each_signed(a, b, i16::max) };
    "v_pk_lshlrev_b16" => |by: U16x2, a: U16x2| -> U16x2 { each(by, a, |by, a| a << (by & 15)) };
    "v_pk_lshrrev_b16" => |by: U16x2, a: U16x2| -> U16x2 { each(by, a, |by, a| a >> (by & 15)) };
    "v_pk_ashrrev_i16" => |by: U16x2, a: U16x2| -> U16x2 { each_signed(by, a, |by, a| a >> (by & 15)) };
}
