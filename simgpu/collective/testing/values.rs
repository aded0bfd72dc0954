//! The types of elements, by definitions that do not share code with the library: a number is
//! written as the nearest of all values that the type has.

use half::{bf16, f16};

/// A type of elements.
pub struct Type {
    /// NCCL's number.
    pub number: i32,
    pub bytes: usize,
    pub is_signed: bool,
    pub is_float: bool,
}

/// Every type, by NCCL's number.
pub const TYPES: [Type; 12] = [
    Type { number: 0, bytes: 1, is_signed: true, is_float: false },
    Type { number: 1, bytes: 1, is_signed: false, is_float: false },
    Type { number: 2, bytes: 4, is_signed: true, is_float: false },
    Type { number: 3, bytes: 4, is_signed: false, is_float: false },
    Type { number: 4, bytes: 8, is_signed: true, is_float: false },
    Type { number: 5, bytes: 8, is_signed: false, is_float: false },
    Type { number: 6, bytes: 2, is_signed: true, is_float: true },
    Type { number: 7, bytes: 4, is_signed: true, is_float: true },
    Type { number: 8, bytes: 8, is_signed: true, is_float: true },
    Type { number: 9, bytes: 2, is_signed: true, is_float: true },
    Type { number: 10, bytes: 1, is_signed: true, is_float: true },
    Type { number: 11, bytes: 1, is_signed: true, is_float: true },
];

/// The value of a float of eight bits: sign, exponent of `8 - 1 - mantissa` bits, mantissa.
fn of_eight_bits(bits: u8, mantissa: i32) -> f64 {
    let bias = (1 << (6 - mantissa)) - 1;
    let (exponent, fraction) = (i32::from(bits & 0x7f) >> mantissa, i32::from(bits) & ((1 << mantissa) - 1));
    let size = 2f64.powi(-mantissa);
    let magnitude = match exponent {
        0 => f64::from(fraction) * size * 2f64.powi(1 - bias),
        _ => (1.0 + f64::from(fraction) * size) * 2f64.powi(exponent - bias),
    };
    if bits & 0x80 == 0 { magnitude } else { -magnitude }
}

fn nearest(value: f64, mantissa: i32, largest: u8) -> u8 {
    let codes = (0..=largest).chain(0x80..=largest | 0x80);
    let distance = |code: &u8| (of_eight_bits(*code, mantissa) - value).abs();
    codes.min_by(|a, b| distance(a).total_cmp(&distance(b))).expect("there are values")
}

impl Type {
    /// Returns the bytes of values that the type has.
    pub fn encode(&self, values: &[f64]) -> Vec<u8> {
        let one = |&value: &f64| match self.number {
            0 => (value as i8).to_le_bytes().to_vec(),
            1 => (value as u8).to_le_bytes().to_vec(),
            2 => (value as i32).to_le_bytes().to_vec(),
            3 => (value as u32).to_le_bytes().to_vec(),
            4 => (value as i64).to_le_bytes().to_vec(),
            5 => (value as u64).to_le_bytes().to_vec(),
            6 => f16::from_f64(value).to_le_bytes().to_vec(),
            7 => (value as f32).to_le_bytes().to_vec(),
            8 => value.to_le_bytes().to_vec(),
            9 => bf16::from_f64(value).to_le_bytes().to_vec(),
            10 => vec![nearest(value, 3, 0x7e)],
            _ => vec![nearest(value, 2, 0x7b)],
        };
        values.iter().flat_map(one).collect()
    }
}

#[test]
fn floats_of_eight_bits_have_their_published_values() {
    // Table 1 of "OCP 8-bit Floating Point Specification", revision 1.0.
    assert_eq!(
        [of_eight_bits(0x7e, 3), of_eight_bits(0x08, 3), of_eight_bits(0x01, 3)],
        [448.0, 2f64.powi(-6), 2f64.powi(-9)]
    );
    assert_eq!(
        [of_eight_bits(0x7b, 2), of_eight_bits(0x04, 2), of_eight_bits(0x01, 2)],
        [57344.0, 2f64.powi(-14), 2f64.powi(-16)]
    );
}
