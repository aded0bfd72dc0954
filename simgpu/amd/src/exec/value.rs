//! The types of operands: how many registers they use, how constants and modifiers act on them, and
//! how lanes read and write them.

use super::row::HALF;

/// The meaning of an operand's bits, for inline constants, literals and modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// 32-bit integers and untyped words.
    Int32,
    /// 16-bit integers in the low half.
    Int16,
    /// Unsigned 64-bit: literals are zero-extended.
    Uint64,
    /// Signed 64-bit: literals are sign-extended.
    Int64,
    /// IEEE binary16 in the low half.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64: literals are the high half.
    F64,
    /// Two binary16.
    PackedF16,
    /// Two 16-bit integers.
    PackedInt16,
    /// Two binary32 in two registers.
    PackedF32,
    /// One bit per lane in a scalar register or pair.
    Mask,
}

impl Kind {
    /// Returns the number of registers of a value.
    pub const fn dwords(self) -> usize {
        match self {
            Self::Uint64 | Self::Int64 | Self::F64 | Self::PackedF32 => 2,
            _ => 1,
        }
    }

    /// Returns the bits of an inline constant (codes 128 to 208, 240 to 248) for this type.
    pub const fn inline_constant(self, code: u8) -> u64 {
        let integer = if code <= 192 { code as i64 - 128 } else { 192 - code as i64 };
        // 0.5, 1, 2 and 4 with their negatives, and 1 / (2 pi) rounded to nearest.
        const F16: [u16; 9] = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];
        const F32: [u32; 9] = [
            0x3f00_0000,
            0xbf00_0000,
            0x3f80_0000,
            0xbf80_0000,
            0x4000_0000,
            0xc000_0000,
            0x4080_0000,
            0xc080_0000,
            0x3e22_f983,
        ];
        const F64: [u64; 9] = [
            0x3fe0_0000_0000_0000,
            0xbfe0_0000_0000_0000,
            0x3ff0_0000_0000_0000,
            0xbff0_0000_0000_0000,
            0x4000_0000_0000_0000,
            0xc000_0000_0000_0000,
            0x4010_0000_0000_0000,
            0xc010_0000_0000_0000,
            0x3fc4_5f30_6dc9_c882,
        ];
        if code < 240 {
            return match self {
                Self::Uint64 | Self::Int64 | Self::F64 | Self::Mask => integer as u64,
                _ => integer as u32 as u64,
            };
        }
        let float = (code - 240) as usize;
        match self {
            Self::F16 | Self::Int16 | Self::PackedF16 | Self::PackedInt16 => F16[float] as u64,
            Self::Int32 | Self::F32 | Self::PackedF32 => F32[float] as u64,
            Self::F64 | Self::Uint64 | Self::Int64 | Self::Mask => F64[float],
        }
    }

    /// Returns the bits of a 32-bit literal for this type.
    pub const fn literal(self, word: u32) -> u64 {
        match self {
            Self::F64 => (word as u64) << 32,
            Self::Int64 => word as i32 as i64 as u64,
            _ => word as u64,
        }
    }
}

/// A lane's operand or result.
pub trait Value: Copy {
    /// The meaning of its bits.
    const KIND: Kind;
    /// Creates the value from its words, low first.
    fn from_words(low: u32, high: u32) -> Self;
    /// Returns the value's words, low first.
    fn words(self) -> (u32, u32);
}

macro_rules! value {
    ($($type:ty, $kind:ident, |$low:ident, $high:ident| $from:expr, |$x:ident| $to:expr;)*) => {$(
        impl Value for $type {
            const KIND: Kind = Kind::$kind;
            #[inline(always)]
            fn from_words($low: u32, $high: u32) -> Self {
                let _ = $high;
                $from
            }
            #[inline(always)]
            fn words(self) -> (u32, u32) {
                let $x = self;
                $to
            }
        }
    )*};
}

/// The bits of a binary16 in the low half of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct F16(pub u16);

/// Two halves of a register, low first, that modifiers treat as binary16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct F16x2(pub u16, pub u16);

/// Two 16-bit integers, low first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct U16x2(pub u16, pub u16);

/// Two binary32 in two registers, low first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct F32x2(pub f32, pub f32);

/// One bit per lane from a scalar register: all ones or zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask(pub u32);

impl Mask {
    /// Whether the lane's bit is set.
    #[inline(always)]
    pub const fn is_set(self) -> bool {
        self.0 != 0
    }
}

value! {
    u32, Int32, |low, high| low, |x| (x, 0);
    i32, Int32, |low, high| low as i32, |x| (x as u32, 0);
    u16, Int16, |low, high| low as u16, |x| (x.into(), 0);
    i16, Int16, |low, high| low as i16, |x| ((x as u16).into(), 0);
    u64, Uint64, |low, high| u64::from(low) | u64::from(high) << 32, |x| (x as u32, (x >> 32) as u32);
    i64, Int64, |low, high| (u64::from(low) | u64::from(high) << 32) as i64, |x| (x as u32, (x >> 32) as u32);
    F16, F16, |low, high| F16(low as u16), |x| (x.0.into(), 0);
    f32, F32, |low, high| f32::from_bits(low), |x| (x.to_bits(), 0);
    f64, F64, |low, high| f64::from_bits(u64::from(low) | u64::from(high) << 32), |x| (x.to_bits() as u32, (x.to_bits() >> 32) as u32);
    F16x2, PackedF16, |low, high| F16x2(low as u16, (low >> 16) as u16), |x| (u32::from(x.0) | u32::from(x.1) << 16, 0);
    U16x2, PackedInt16, |low, high| U16x2(low as u16, (low >> 16) as u16), |x| (u32::from(x.0) | u32::from(x.1) << 16, 0);
    F32x2, PackedF32, |low, high| F32x2(f32::from_bits(low), f32::from_bits(high)), |x| (x.0.to_bits(), x.1.to_bits());
    Mask, Mask, |low, high| Mask(low), |x| (x.0, 0);
}

/// The largest number of registers of one lane's operands.
pub const MAX_ROWS: usize = 8;

/// The operands of a lane.
pub trait Operands: Copy {
    /// Their types.
    const KINDS: &'static [Kind];
    /// Reads a lane from the half rows of all operands, one after the other.
    fn read(rows: &[&[u32; HALF]; MAX_ROWS], lane: usize) -> Self;
}

macro_rules! operands {
    ($($t:ident),*) => {
        impl<$($t: Value),*> Operands for ($($t,)*) {
            const KINDS: &'static [Kind] = &[$($t::KIND),*];
            #[inline(always)]
            #[allow(unused_assignments, unused_mut, unused_variables, reason = "the counter is not read after the last operand")]
            fn read(rows: &[&[u32; HALF]; MAX_ROWS], lane: usize) -> Self {
                let mut row = 0;
                ($({
                    let low = rows[row][lane];
                    let high = if $t::KIND.dwords() == 2 { rows[row + 1][lane] } else { 0 };
                    row += $t::KIND.dwords();
                    $t::from_words(low, high)
                },)*)
            }
        }
    };
}

operands!(A);
operands!(A, B);
operands!(A, B, C);
operands!(A, B, C, D);

/// A bit that is gathered from all lanes into the scalar destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag(pub bool);

/// The results of a lane.
pub trait Results: Copy {
    /// The type of the vector result, if there is one.
    const KIND: Option<Kind>;
    /// Whether there is a bit for the scalar destination.
    const FLAG: bool;
    /// Writes the results of a lane.
    fn write(self, rows: &mut [[u32; HALF]; 2], flags: &mut [u32; HALF], lane: usize);
}

impl<V: Value> Results for V {
    const KIND: Option<Kind> = Some(V::KIND);
    const FLAG: bool = false;
    #[inline(always)]
    fn write(self, rows: &mut [[u32; HALF]; 2], _: &mut [u32; HALF], lane: usize) {
        let (low, high) = self.words();
        rows[0][lane] = low;
        if V::KIND.dwords() == 2 {
            rows[1][lane] = high;
        }
    }
}

impl<V: Value> Results for (V, Flag) {
    const KIND: Option<Kind> = Some(V::KIND);
    const FLAG: bool = true;
    #[inline(always)]
    fn write(self, rows: &mut [[u32; HALF]; 2], flags: &mut [u32; HALF], lane: usize) {
        self.0.write(rows, flags, lane);
        flags[lane] = u32::from(self.1.0).wrapping_neg();
    }
}

impl Results for Flag {
    const KIND: Option<Kind> = None;
    const FLAG: bool = true;
    #[inline(always)]
    fn write(self, _: &mut [[u32; HALF]; 2], flags: &mut [u32; HALF], lane: usize) {
        flags[lane] = u32::from(self.0).wrapping_neg();
    }
}
