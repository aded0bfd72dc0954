//! Conversions, compared with 128-bit integers and exact arithmetic.

mod floats;
mod integers;
mod narrow;

use crate::lanes::Random;

/// The floating-point formats, with the sizes of their fields and their register widths.
const FLOATS: [(&str, (u32, u32)); 4] = [("f16", (5, 10)), ("bf16", (8, 7)), ("f32", (8, 23)), ("f64", (11, 52))];

/// The integers, with their width and whether they are signed.
const INTEGERS: [(&str, u32, bool); 8] = [
    ("u8", 8, false),
    ("s8", 8, true),
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

/// Returns the value of an integer's low bits.
fn value(bits: u64, width: u32, signed: bool) -> i128 {
    let bits = i128::from(bits & (u64::MAX >> (64 - width)));
    if signed && bits >> (width - 1) & 1 == 1 { bits - (1 << width) } else { bits }
}

fn range(width: u32, signed: bool) -> (i128, i128) {
    if signed { (-1 << (width - 1), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// Returns a floating-point number in the range of the integers, or any.
fn number(random: &mut Random, (exponent, fraction): (u32, u32)) -> u64 {
    let (any, how) = (random.next(), random.next());
    if how & 3 == 0 {
        return random.float(exponent, fraction);
    }
    let bias = (1 << (exponent - 1)) - 1;
    let field = (bias + (how >> 8) % 68 - 2).min((1 << exponent) - 2);
    let few = u64::MAX << ((how >> 16) % 64);
    (any >> 63) << (exponent + fraction) | field << fraction | any & few & ((1 << fraction) - 1)
}
