//! What the formats with code books share: entries, signs and odd scales.

use super::format::Scale;

/// Returns the entry of a code book that the low bits of a number select.
#[inline(always)]
pub(super) fn entry(grid: &[u16], number: usize) -> u32 {
    grid[number & (grid.len() - 1)].into()
}

/// Writes the levels of digits of `BITS` bits each, one per element, negated where a sign is set.
#[inline(always)]
pub(super) fn put<const BITS: u32>(digits: u32, levels: &[i8], signs: u32, out: &mut [i8]) {
    for (i, q) in out.iter_mut().enumerate() {
        let i = i as u32;
        let level = levels[(digits >> (BITS * i)) as usize & (levels.len() - 1)];
        *q = if signs >> i & 1 == 1 { -level } else { level };
    }
}

/// Returns eight signs of which seven are stored: an even number is set.
#[inline(always)]
pub(super) fn eight_signs(seven: u32) -> u32 {
    let seven = seven & 127;
    seven | (seven.count_ones() & 1) << 7
}

/// Returns the scale `d (2 number + 1) unit`.
#[inline(always)]
pub(super) fn odd(d: f32, number: u32, unit: f32) -> Scale {
    Scale { factor: d * ((2 * number + 1) as f32 * unit), summand: 0.0 }
}

/// Reads a u32.
#[inline(always)]
pub(super) fn word(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

/// Reads a u16.
#[inline(always)]
pub(super) fn u16_at(block: &[u8], at: usize) -> u32 {
    u16::from_le_bytes([block[at], block[at + 1]]).into()
}

/// Reads a nibble of consecutive ones.
#[inline(always)]
pub(super) fn nibble(bytes: &[u8], i: usize) -> u32 {
    u32::from(bytes[i / 2] >> (i % 2 * 4) & 15)
}
