//! Tests of binary32 and binary64 against exact arithmetic, and of the approximations against their
//! bounds.

mod approx;
mod min_max;
mod rounding;
mod specials;

/// Bits of exponent and fraction.
const F32: (u32, u32) = (8, 23);
const F64: (u32, u32) = (11, 52);

fn bits(x: f32) -> u64 {
    x.to_bits().into()
}
