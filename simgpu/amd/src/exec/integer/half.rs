//! 16-bit integers in the low half of a register, or in the high half if `op_sel` selects it. The
//! engine handles the other half: GFX9 clears it, except for the instructions that GFX9 added, and
//! GFX11 keeps it. The legacy products are GFX8's, which clear it.

use super::clamp::clamped;
use crate::exec::lane::lanes;
use crate::exec::value::Mask;

#[inline(always)]
fn product_sum_u16(a: u16, b: u16, c: u16) -> u32 {
    u32::from(a) * u32::from(b) + u32::from(c)
}

#[inline(always)]
fn product_sum_i16(a: i16, b: i16, c: i16) -> i32 {
    i32::from(a) * i32::from(b) + i32::from(c)
}

#[inline(always)]
fn clamp_u16(x: u32) -> u16 {
    x.min(u16::MAX.into()) as u16
}

#[inline(always)]
fn clamp_i16(x: i32) -> i16 {
    x.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

clamped! {
    /// Sums and products.
    CLAMPED:
    "v_add_nc_u16" => |a: u16, b: u16| -> u16 { a.wrapping_add(b) } or { a.saturating_add(b) };
    "v_sub_nc_u16" => |a: u16, b: u16| -> u16 { a.wrapping_sub(b) } or { a.saturating_sub(b) };
    "v_subrev_nc_u16" => |a: u16, b: u16| -> u16 { b.wrapping_sub(a) } or { b.saturating_sub(a) };
    "v_add_nc_i16" => |a: i16, b: i16| -> i16 { a.wrapping_add(b) } or { a.saturating_add(b) };
    "v_sub_nc_i16" => |a: i16, b: i16| -> i16 { a.wrapping_sub(b) } or { a.saturating_sub(b) };
    "v_mad_u16" => |a: u16, b: u16, c: u16| -> u16 {
        product_sum_u16(a, b, c) as u16
    } or {
        clamp_u16(product_sum_u16(a, b, c))
    };
    "v_mad_i16" => |a: i16, b: i16, c: i16| -> i16 {
        product_sum_i16(a, b, c) as i16
    } or {
        clamp_i16(product_sum_i16(a, b, c))
    };
    "v_mad_legacy_u16" => |a: u16, b: u16, c: u16| -> u16 {
        product_sum_u16(a, b, c) as u16
    } or {
        clamp_u16(product_sum_u16(a, b, c))
    };
    "v_mad_legacy_i16" => |a: i16, b: i16, c: i16| -> i16 {
        product_sum_i16(a, b, c) as i16
    } or {
        clamp_i16(product_sum_i16(a, b, c))
    };
}

lanes! {
    /// Moves, logic, shifts, and the low half of a product.
    TABLE:
    "v_mov_b16" => |a: u16| -> u16 { a };
    "v_cndmask_b16" => |a: u16, b: u16, pick: Mask| -> u16 { if pick.is_set() { b } else { a } };
    "v_not_b16" => |a: u16| -> u16 { !a };
    "v_and_b16" => |a: u16, b: u16| -> u16 { a & b };
    "v_or_b16" => |a: u16, b: u16| -> u16 { a | b };
    "v_xor_b16" => |a: u16, b: u16| -> u16 { a ^ b };
    "v_mul_lo_u16" => |a: u16, b: u16| -> u16 { a.wrapping_mul(b) };
    "v_lshlrev_b16" => |by: u16, a: u16| -> u16 { a << (by & 15) };
    "v_lshrrev_b16" => |by: u16, a: u16| -> u16 { a >> (by & 15) };
    "v_ashrrev_i16" => |by: u16, a: i16| -> i16 { a >> (by & 15) };
}
