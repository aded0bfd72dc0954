//! The types of elements, and how two elements are combined.

use half::{bf16, f16};
use isobit_simgpu_math::number::{F8E4M3, F8E5M2, Input};
use std::ffi::c_int;

/// `ncclDataType_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataType {
    I8,
    U8,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
    Bf16,
    F8e4m3,
    F8e5m2,
}

/// `ncclRedOp_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Sum,
    Prod,
    Max,
    Min,
    Avg,
}

impl DataType {
    /// The types and NCCL's names, by their numbers.
    const ALL: [(Self, &str, usize); 12] = [
        (Self::I8, "ncclInt8", 1),
        (Self::U8, "ncclUint8", 1),
        (Self::I32, "ncclInt32", 4),
        (Self::U32, "ncclUint32", 4),
        (Self::I64, "ncclInt64", 8),
        (Self::U64, "ncclUint64", 8),
        (Self::F16, "ncclFloat16", 2),
        (Self::F32, "ncclFloat32", 4),
        (Self::F64, "ncclFloat64", 8),
        (Self::Bf16, "ncclBfloat16", 2),
        (Self::F8e4m3, "ncclFloat8e4m3", 1),
        (Self::F8e5m2, "ncclFloat8e5m2", 1),
    ];

    pub(crate) fn of(number: c_int) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).map(|(ty, ..)| *ty)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub(crate) fn bytes(self) -> usize {
        Self::ALL[self as usize].2
    }
}

impl Op {
    const ALL: [(Self, &str); 5] = [
        (Self::Sum, "ncclSum"),
        (Self::Prod, "ncclProd"),
        (Self::Max, "ncclMax"),
        (Self::Min, "ncclMin"),
        (Self::Avg, "ncclAvg"),
    ];

    pub(crate) fn of(number: c_int) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).map(|(op, _)| *op)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// An element.
pub(crate) trait Element: Copy {
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn sum(self, other: Self) -> Self;
    fn prod(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;

    /// Returns what a rank adds to an average.
    fn share(self, ranks: usize) -> Self;

    /// Returns the average of the sum of all shares.
    fn average(self, ranks: usize) -> Self;
}

/// Integers wrap. Their averages are rounded towards zero.
macro_rules! integer {
    ($($t:ty),*) => {$(
        impl Element for $t {
            fn read(bytes: &[u8]) -> Self {
                bytes.try_into().map(Self::from_le_bytes).unwrap_or_default()
            }

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn prod(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn max(self, other: Self) -> Self {
                Ord::max(self, other)
            }

            fn min(self, other: Self) -> Self {
                Ord::min(self, other)
            }

            fn share(self, _ranks: usize) -> Self {
                self
            }

            fn average(self, ranks: usize) -> Self {
                // Ranks are few, but a byte has even fewer values.
                <$t>::try_from(ranks).map_or(0, |ranks| self.wrapping_div(ranks))
            }
        }
    )*};
}

integer!(i8, u8, i32, u32, i64, u64);

/// Floats are combined in `$wide`, and each result is rounded to the type, as a ring stores it. A
/// NaN loses against a number in `max` and `min`. Every rank multiplies its elements by the
/// reciprocal of the number of ranks before an average is summed, as NCCL does.
macro_rules! float {
    ($($t:ty, $wide:ty, $read:expr, $write:expr, $widen:expr, $round:expr;)*) => {$(
        impl Element for $t {
            fn read(bytes: &[u8]) -> Self {
                bytes.try_into().map_or($round(0.0), $read)
            }

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&$write(self));
            }

            fn sum(self, other: Self) -> Self {
                $round($widen(self) + $widen(other))
            }

            fn prod(self, other: Self) -> Self {
                $round($widen(self) * $widen(other))
            }

            fn max(self, other: Self) -> Self {
                let (a, b): ($wide, $wide) = ($widen(self), $widen(other));
                if a >= b || b.is_nan() { self } else { other }
            }

            fn min(self, other: Self) -> Self {
                let (a, b): ($wide, $wide) = ($widen(self), $widen(other));
                if a <= b || b.is_nan() { self } else { other }
            }

            fn share(self, ranks: usize) -> Self {
                self.prod($round(1.0 / ranks as $wide))
            }

            fn average(self, _ranks: usize) -> Self {
                self
            }
        }
    )*};
}

float! {
    f32, f32, f32::from_le_bytes, f32::to_le_bytes, |x| x, |x| x;
    f64, f64, f64::from_le_bytes, f64::to_le_bytes, |x| x, |x| x;
    f16, f32, f16::from_le_bytes, f16::to_le_bytes, f16::to_f32, f16::from_f32;
    bf16, f32, bf16::from_le_bytes, bf16::to_le_bytes, bf16::to_f32, bf16::from_f32;
    F8E4M3, f32, |[bits]: [u8; 1]| F8E4M3(bits), |x: F8E4M3| [x.0], F8E4M3::widen, |x| F8E4M3(eight_bits(x, &E4M3));
    F8E5M2, f32, |[bits]: [u8; 1]| F8E5M2(bits), |x: F8E5M2| [x.0], F8E5M2::widen, |x| F8E5M2(eight_bits(x, &E5M2));
}

/// A format of floats of eight bits.
struct Format {
    mantissa_bits: i32,
    /// The exponent of the smallest normal number.
    least: i32,
    largest: f32,
}

const E4M3: Format = Format { mantissa_bits: 3, least: -6, largest: 448.0 };
const E5M2: Format = Format { mantissa_bits: 2, least: -14, largest: 57344.0 };

/// Rounds to nearest even. What is too large, infinity included, becomes the largest number, as the
/// conversions of CUDA and HIP do by default.
fn eight_bits(value: f32, format: &Format) -> u8 {
    let sign = u8::from(value.is_sign_negative()) << 7;
    if value.is_nan() {
        return sign | 0x7f;
    }
    let magnitude = value.abs().min(format.largest);
    // Of subnormal numbers of f32 this is -127.
    let exponent = Ord::max((magnitude.to_bits() >> 23) as i32 - 127, format.least);
    let steps = (f64::from(magnitude) / f64::from(exponent - format.mantissa_bits).exp2()).round_ties_even();
    // A carry of the mantissa gives the next exponent. A subnormal number has the least exponent
    // and no hidden bit, so that its exponent's field becomes zero.
    let bits = ((exponent - format.least) << format.mantissa_bits) + steps as i32;
    sign | bits as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of both formats survives, and a number between two of them goes to the nearer
    /// one, or to the even one from the middle.
    #[test]
    fn floats_of_eight_bits_are_rounded_to_the_nearest() {
        fn check<T: Element>(largest: u8, of: fn(u8) -> T, widen: fn(T) -> f32, round: fn(f32) -> u8) {
            for bits in 0..=largest {
                let here = widen(of(bits));
                assert_eq!((round(here), round(-here)), (bits, bits | 0x80), "{here}");
                if bits < largest {
                    let (next, even) = (widen(of(bits + 1)), bits + bits % 2);
                    let middle = (here + next) / 2.0;
                    assert_eq!(round(middle), even, "between {here} and {next}");
                    assert_eq!([round(middle.next_down()), round(middle.next_up())], [bits, bits + 1]);
                }
            }
            assert_eq!([round(f32::INFINITY), round(f32::MAX), round(f32::from_bits(1))], [largest, largest, 0]);
            assert!(widen(of(round(f32::NAN))).is_nan());
        }
        check(0x7e, F8E4M3, F8E4M3::widen, |x| eight_bits(x, &E4M3));
        check(0x7b, F8E5M2, F8E5M2::widen, |x| eight_bits(x, &E5M2));
    }
}
