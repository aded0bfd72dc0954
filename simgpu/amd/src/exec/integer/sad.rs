//! Sums of absolute differences, averages of bytes, and packing of integers into narrower ones.

use super::clamp::clamped;
use crate::exec::lane::lanes;
use crate::exec::value::U16x2;

/// Returns a byte of a word.
#[inline(always)]
const fn byte(a: u32, at: u32) -> u32 {
    a >> (8 * at) & 0xff
}

/// Returns the sum of the absolute differences of all bytes; if `MASKED`, only of those whose byte
/// in the second word is not zero.
#[inline(always)]
fn sad<const MASKED: bool>(a: u32, b: u32) -> u32 {
    (0..4).fold(0, |sum, at| {
        let (x, y) = (byte(a, at), byte(b, at));
        sum + if MASKED && y == 0 { 0 } else { x.abs_diff(y) }
    })
}

/// Returns the sums at four neighbouring positions in `a`, each added to a 16-bit number of `c`.
#[inline(always)]
fn four<const MASKED: bool, const CLAMPED: bool>(a: u64, b: u32, c: u64) -> u64 {
    (0..4).fold(0, |all, at| {
        let sum = sad::<MASKED>((a >> (8 * at)) as u32, b) + (c >> (16 * at) & 0xffff) as u32;
        let sum = if CLAMPED { sum.min(0xffff) } else { sum & 0xffff };
        all | u64::from(sum) << (16 * at)
    })
}

#[inline(always)]
const fn sad_u16(a: u32, b: u32) -> u32 {
    (a & 0xffff).abs_diff(b & 0xffff) + (a >> 16).abs_diff(b >> 16)
}

/// Returns the mean of a byte of two words, rounded up if the third word has the lowest bit of that
/// byte set.
#[inline(always)]
const fn mean(a: u32, b: u32, up: u32, at: u32) -> u32 {
    (byte(a, at) + byte(b, at) + (byte(up, at) & 1)) >> 1 << (8 * at)
}

/// Saturates to a byte.
#[inline(always)]
fn saturated_byte(x: u16) -> u16 {
    (x as i16).clamp(0, 255) as u16
}

clamped! {
    /// Sums of absolute differences.
    CLAMPED:
    "v_sad_u8" => |a: u32, b: u32, c: u32| -> u32 {
        sad::<false>(a, b).wrapping_add(c)
    } or {
        sad::<false>(a, b).saturating_add(c)
    };
    "v_sad_hi_u8" => |a: u32, b: u32, c: u32| -> u32 {
        (sad::<false>(a, b) << 16).wrapping_add(c)
    } or {
        (sad::<false>(a, b) << 16).saturating_add(c)
    };
    "v_sad_u16" => |a: u32, b: u32, c: u32| -> u32 {
        sad_u16(a, b).wrapping_add(c)
    } or {
        sad_u16(a, b).saturating_add(c)
    };
    "v_sad_u32" => |a: u32, b: u32, c: u32| -> u32 {
        a.abs_diff(b).wrapping_add(c)
    } or {
        a.abs_diff(b).saturating_add(c)
    };
    "v_msad_u8" => |a: u32, b: u32, c: u32| -> u32 {
        sad::<true>(a, b).wrapping_add(c)
    } or {
        sad::<true>(a, b).saturating_add(c)
    };
    "v_qsad_pk_u16_u8" => |a: u64, b: u32, c: u64| -> u64 {
        four::<false, false>(a, b, c)
    } or {
        four::<false, true>(a, b, c)
    };
    "v_mqsad_pk_u16_u8" => |a: u64, b: u32, c: u64| -> u64 {
        four::<true, false>(a, b, c)
    } or {
        four::<true, true>(a, b, c)
    };
}

lanes! {
    /// Averages and packing.
    TABLE:
    "v_lerp_u8" => |a: u32, b: u32, up: u32| -> u32 {
        mean(a, b, up, 0) | mean(a, b, up, 1) | mean(a, b, up, 2) | mean(a, b, up, 3)
    };
    "v_sat_pk_u8_i16" => |a: U16x2| -> u16 { saturated_byte(a.0) | saturated_byte(a.1) << 8 };
    "v_cvt_pk_u16_u32" => |a: u32, b: u32| -> U16x2 {
        U16x2(a.min(u16::MAX.into()) as u16, b.min(u16::MAX.into()) as u16)
    };
    "v_cvt_pk_i16_i32" => |a: i32, b: i32| -> U16x2 {
        let narrow = |x: i32| x.clamp(i16::MIN.into(), i16::MAX.into()) as u16;
        U16x2(narrow(a), narrow(b))
    };
}
