//! Indices of levels of 4 bits: the low nibbles are those of the first half of the elements.

/// Reads the levels.
#[inline(always)]
pub(super) fn read(nibbles: &[u8], levels: &[i8; 16], out: &mut [i8]) {
    let (low, high) = out.split_at_mut(nibbles.len());
    for ((low, high), &pair) in low.iter_mut().zip(high).zip(nibbles) {
        *low = levels[usize::from(pair & 15)];
        *high = levels[usize::from(pair >> 4)];
    }
}

/// Writes the indices of elements.
#[inline(always)]
pub(super) fn write(x: &[f32], nibbles: &mut [u8], index: impl Fn(f32) -> u8) {
    let (low, high) = x.split_at(nibbles.len());
    for ((pair, &low), &high) in nibbles.iter_mut().zip(low).zip(high) {
        *pair = index(low) | index(high) << 4;
    }
}
