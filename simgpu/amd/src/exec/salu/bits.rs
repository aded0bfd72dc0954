//! Scalar instructions on single bits and fields.

use crate::exec::scalar::{Scc, scalars};

/// Returns the offset and width of a bit field, packed in bits 5:0 and 22:16; the offset is taken
/// modulo the register's width.
#[inline(always)]
const fn field(packed: u32, bits: u32) -> (u32, u32) {
    (packed & (bits - 1), packed >> 16 & 0x7f)
}

#[inline(always)]
const fn extract_unsigned(a: u64, (at, width): (u32, u32)) -> u64 {
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    a >> at & mask
}

#[inline(always)]
const fn extract_signed(a: i64, (at, width): (u32, u32)) -> i64 {
    let shifted = a >> at;
    match width {
        0 => 0,
        1..=63 => shifted << (64 - width) >> (64 - width),
        _ => shifted,
    }
}

/// Returns a count, or -1 if nothing was found.
#[inline(always)]
const fn found(count: u32, none: bool) -> i32 {
    if none { -1 } else { count as i32 }
}

/// Spreads the low 32 bits to the even bits.
const fn spread(bits: u32) -> u64 {
    let mut x = bits as u64;
    x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x << 2) & 0x3333_3333_3333_3333;
    (x | x << 1) & 0x5555_5555_5555_5555
}

/// Returns the lowest bit of each group of four bits in which any is set.
const fn quads(bits: u64) -> u64 {
    let pairs = bits | bits >> 1;
    (pairs | pairs >> 2) & 0x1111_1111_1111_1111
}

/// Returns one bit for each group of four.
const fn quad_mask(bits: u64) -> u64 {
    let mut x = quads(bits);
    x = (x | x >> 3) & 0x0303_0303_0303_0303;
    x = (x | x >> 6) & 0x000f_000f_000f_000f;
    x = (x | x >> 12) & 0x0000_00ff_0000_00ff;
    (x | x >> 24) & 0xffff
}

scalars! {
    /// Bits and fields.
    TABLE:
    "s_bfe_u32" => |_scc, a: u32, at: u32| -> (u32, Scc) {
        let x = extract_unsigned(a.into(), field(at, 32)) as u32;
        (x, Scc(x != 0))
    };
    "s_bfe_u64" => |_scc, a: u64, at: u32| -> (u64, Scc) {
        let x = extract_unsigned(a, field(at, 64));
        (x, Scc(x != 0))
    };
    "s_bfe_i32" => |_scc, a: i32, at: u32| -> (i32, Scc) {
        let x = extract_signed(a.into(), field(at, 32)) as i32;
        (x, Scc(x != 0))
    };
    "s_bfe_i64" => |_scc, a: i64, at: u32| -> (i64, Scc) {
        let x = extract_signed(a, field(at, 64));
        (x, Scc(x != 0))
    };
    "s_bfm_b32" => |_scc, width: u32, at: u32| -> u32 { ((1 << (width & 31)) - 1) << (at & 31) };
    "s_bfm_b64" => |_scc, width: u32, at: u32| -> u64 { ((1 << (width & 63)) - 1) << (at & 63) };
    "s_brev_b32" => |_scc, a: u32| -> u32 { a.reverse_bits() };
    "s_brev_b64" => |_scc, a: u64| -> u64 { a.reverse_bits() };
    "s_bcnt0_i32_b32" => |_scc, a: u32| -> (u32, Scc) { (a.count_zeros(), Scc(a != u32::MAX)) };
    "s_bcnt0_i32_b64" => |_scc, a: u64| -> (u32, Scc) { (a.count_zeros(), Scc(a != u64::MAX)) };
    "s_bcnt1_i32_b32" => |_scc, a: u32| -> (u32, Scc) { (a.count_ones(), Scc(a != 0)) };
    "s_bcnt1_i32_b64" => |_scc, a: u64| -> (u32, Scc) { (a.count_ones(), Scc(a != 0)) };
    "s_ff0_i32_b32" => |_scc, a: u32| -> i32 { found(a.trailing_ones(), a == u32::MAX) };
    "s_ff0_i32_b64" => |_scc, a: u64| -> i32 { found(a.trailing_ones(), a == u64::MAX) };
    "s_ctz_i32_b32" => |_scc, a: u32| -> i32 { found(a.trailing_zeros(), a == 0) };
    "s_ctz_i32_b64" => |_scc, a: u64| -> i32 { found(a.trailing_zeros(), a == 0) };
    "s_clz_i32_u32" => |_scc, a: u32| -> i32 { found(a.leading_zeros(), a == 0) };
    "s_clz_i32_u64" => |_scc, a: u64| -> i32 { found(a.leading_zeros(), a == 0) };
    // The position of the first bit from the top that differs from the sign.
    "s_cls_i32" => |_scc, a: i32| -> i32 {
        let differs = a ^ a >> 31;
        found(differs.leading_zeros(), differs == 0)
    };
    "s_cls_i32_i64" => |_scc, a: i64| -> i32 {
        let differs = a ^ a >> 63;
        found(differs.leading_zeros(), differs == 0)
    };
    "s_sext_i32_i8" => |_scc, a: u32| -> i32 { (a as i8).into() };
    "s_sext_i32_i16" => |_scc, a: u32| -> i32 { (a as i16).into() };
    "s_bitset0_b32" => |_scc, at: u32, old: u32| -> u32 { old & !(1 << (at & 31)) };
    "s_bitset0_b64" => |_scc, at: u32, old: u64| -> u64 { old & !(1 << (at & 63)) };
    "s_bitset1_b32" => |_scc, at: u32, old: u32| -> u32 { old | 1 << (at & 31) };
    "s_bitset1_b64" => |_scc, at: u32, old: u64| -> u64 { old | 1 << (at & 63) };
    "s_bitreplicate_b64_b32" => |_scc, a: u32| -> u64 { spread(a) * 3 };
    "s_quadmask_b32" => |_scc, a: u32| -> (u32, Scc) {
        let x = quad_mask(a.into()) as u32;
        (x, Scc(x != 0))
    };
    "s_quadmask_b64" => |_scc, a: u64| -> (u64, Scc) {
        let x = quad_mask(a);
        (x, Scc(x != 0))
    };
    "s_wqm_b32" => |_scc, a: u32| -> (u32, Scc) {
        let x = quads(a.into()) as u32 * 15;
        (x, Scc(x != 0))
    };
    "s_wqm_b64" => |_scc, a: u64| -> (u64, Scc) {
        let x = quads(a) * 15;
        (x, Scc(x != 0))
    };
    "s_pack_ll_b32_b16" => |_scc, a: u32, b: u32| -> u32 { a & 0xffff | b << 16 };
    "s_pack_lh_b32_b16" => |_scc, a: u32, b: u32| -> u32 { a & 0xffff | b & 0xffff_0000 };
    "s_pack_hl_b32_b16" => |_scc, a: u32, b: u32| -> u32 { a >> 16 | b << 16 };
    "s_pack_hh_b32_b16" => |_scc, a: u32, b: u32| -> u32 { a >> 16 | b & 0xffff_0000 };
}
