//! The contents of registers and of memory that nothing has written: the same in every run, and
//! never zero. A kernel that relies on zeros then gives wrong results on a simulated card, as it
//! may on a real one, also where no read is reported.

/// A word. As an integer it is negative, as a number of elements huge, and as the upper half of an
/// address it points nowhere; as an f32 it is an ordinary number.
pub const WORD: u32 = 0xbad5_eed5;

/// Two words.
pub const DOUBLE: u64 = (WORD as u64) << 32 | WORD as u64;

/// Four words.
pub const QUAD: u128 = (DOUBLE as u128) << 64 | DOUBLE as u128;
