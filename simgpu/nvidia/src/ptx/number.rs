//! PTX constants: integers in four bases, doubles, and the exact bits of singles and doubles.

/// A constant, or the value of a constant expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// A 64-bit integer: `.s64`, or `.u64` if it has a `U` suffix or does not fit.
    Integer {
        /// The bits.
        bits: u64,
        /// Whether it is an `.s64`.
        signed: bool,
    },
    /// The bits of a double. Bits are stored so that a NaN keeps its payload.
    Double(u64),
    /// The bits of a single, which is not allowed in expressions.
    Single(u32),
}

impl Number {
    /// Creates an `.s64`.
    pub(super) fn signed(value: i64) -> Self {
        Self::Integer { bits: value as u64, signed: true }
    }

    /// Creates a `.u64`.
    pub(super) fn unsigned(bits: u64) -> Self {
        Self::Integer { bits, signed: false }
    }

    /// Creates a double.
    pub(super) fn double(value: f64) -> Self {
        Self::Double(value.to_bits())
    }
}

/// Parses the constant at the start of a text that starts with a digit, and returns its length too.
///
/// # Errors
/// Fails if it is not a constant.
pub(super) fn scan(text: &str) -> Result<(Number, usize), String> {
    let bytes = text.as_bytes();
    let run = |from: usize, of: fn(&u8) -> bool| from + bytes[from..].iter().take_while(|byte| of(byte)).count();
    let mut end = run(0, u8::is_ascii_alphanumeric);
    let decimal = run(0, u8::is_ascii_digit);
    let exponent_at = if bytes.get(decimal) == Some(&b'.') { run(decimal + 1, u8::is_ascii_digit) } else { decimal };
    let mut float = exponent_at > decimal;
    if float {
        end = run(exponent_at, u8::is_ascii_alphanumeric);
    }
    if matches!(bytes.get(exponent_at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(exponent_at + 1), Some(b'+' | b'-')));
        let digits = exponent_at + 1 + sign;
        if run(digits.min(bytes.len()), u8::is_ascii_digit) > digits {
            (float, end) = (true, run(digits, u8::is_ascii_alphanumeric));
        }
    }
    let word = &text[..end];
    let number = if float { word.parse().ok().map(Number::double) } else { exact(word) };
    match number {
        Some(number) if !matches!(bytes.get(end), Some(b'_' | b'$')) => Ok((number, end)),
        _ => Err(format!("`{word}` is not a number")),
    }
}

/// Parses an integer or the bits of a float.
fn exact(word: &str) -> Option<Number> {
    let digits = |digits: &str, radix| {
        // `from_str_radix` would also accept a sign, but words have none.
        let unsigned = digits.strip_suffix('U');
        let bits = u64::from_str_radix(unsigned.unwrap_or(digits), radix).ok()?;
        Some(Number::Integer { bits, signed: unsigned.is_none() && i64::try_from(bits).is_ok() })
    };
    match word.as_bytes() {
        [b'0', b'x' | b'X', ..] => digits(&word[2..], 16),
        [b'0', b'b' | b'B', ..] => digits(&word[2..], 2),
        [b'0', b'f' | b'F', ..] if word.len() == 10 => u32::from_str_radix(&word[2..], 16).ok().map(Number::Single),
        [b'0', b'd' | b'D', ..] if word.len() == 18 => u64::from_str_radix(&word[2..], 16).ok().map(Number::Double),
        [b'0', b'0'..=b'9', ..] => digits(&word[1..], 8),
        _ => digits(word, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        for (text, value) in [
            ("0", 0),
            ("65280", 65280),
            ("0x7fffffffffffffff", i64::MAX),
            ("0XfF", 255),
            ("017", 15),
            ("00", 0),
            ("0b101", 5),
            ("9223372036854775807", i64::MAX),
        ] {
            assert_eq!(scan(text), Ok((Number::signed(value), text.len())), "{text}");
        }
        for (text, value) in
            [("1U", 1), ("0xFFU", 255), ("0b1U", 1), ("07U", 7), ("0U", 0), ("9223372036854775808", 1 << 63)]
        {
            assert_eq!(scan(text), Ok((Number::unsigned(value), text.len())), "{text}");
        }
        assert_eq!(scan("12,"), Ok((Number::signed(12), 2)));
    }

    #[test]
    fn floats() {
        assert_eq!(scan("0f3F800000"), Ok((Number::Single(0x3f80_0000), 10)));
        assert_eq!(scan("0d7FF8000000000001"), Ok((Number::Double(0x7ff8_0000_0000_0001), 18)));
        for (text, value) in
            [("1.5", 1.5), ("1.", 1.0), ("2e3", 2000.0), ("2.5E-1", 0.25), ("0.0", 0.0), ("1e+2", 100.0)]
        {
            assert_eq!(scan(text), Ok((Number::double(value), text.len())), "{text}");
        }
        assert_eq!(scan("1.5]"), Ok((Number::double(1.5), 3)));
    }

    #[test]
    fn what_is_no_number() {
        for text in [
            "0x",
            "0xg",
            "12ab",
            "09",
            "0b2",
            "0f3f8000",
            "0d0",
            "1_",
            "18446744073709551616",
            "1.5e",
            "1e",
            "0f+3f80000",
            "U",
        ] {
            assert!(scan(text).is_err(), "{text}");
        }
    }
}
