//! Constant expressions, evaluated during parsing: the operators of C on 64-bit integers and on
//! doubles.
//!
//! An integer is an `.s64` or a `.u64`. The arithmetic is two's complement, so the type matters
//! only for division, comparison and right shifts. For the result of `&`, `|` and `^`, PTX's rules
//! say that it is signed if both operands are signed, but its summary table says that it is never
//! signed; this code follows the rules.

use super::lexer::Token;
use super::number::Number;
use super::parser::{Fault, Parser};
use std::cmp::Ordering;

/// Maximum depth of nested expressions.
const DEPTH: u32 = 64;

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// Returns the operator of a token, and its precedence.
    fn of(token: Token<'_>) -> Option<(Self, u8)> {
        Some(match token {
            Token::Twice(b'|') => (Self::Or, 1),
            Token::Twice(b'&') => (Self::And, 2),
            Token::Mark(b'|') => (Self::BitOr, 3),
            Token::Mark(b'^') => (Self::BitXor, 4),
            Token::Mark(b'&') => (Self::BitAnd, 5),
            Token::Twice(b'=') => (Self::Equal, 6),
            Token::OrEqual(b'!') => (Self::NotEqual, 6),
            Token::Mark(b'<') => (Self::Less, 7),
            Token::OrEqual(b'<') => (Self::LessEqual, 7),
            Token::Mark(b'>') => (Self::Greater, 7),
            Token::OrEqual(b'>') => (Self::GreaterEqual, 7),
            Token::Twice(b'<') => (Self::ShiftLeft, 8),
            Token::Twice(b'>') => (Self::ShiftRight, 8),
            Token::Mark(b'+') => (Self::Add, ADDITIVE),
            Token::Mark(b'-') => (Self::Subtract, ADDITIVE),
            Token::Mark(b'*') => (Self::Multiply, 10),
            Token::Mark(b'/') => (Self::Divide, 10),
            Token::Mark(b'%') => (Self::Remainder, 10),
            _ => return None,
        })
    }

    /// Computes the value, or returns an error message.
    fn apply(self, left: Number, right: Number) -> Result<Number, String> {
        match (left, right) {
            (Number::Integer { bits: a, signed: left }, Number::Integer { bits: b, signed: right }) => {
                self.integers(a, left, b, right)
            }
            (Number::Double(a), Number::Double(b)) => self.doubles(f64::from_bits(a), f64::from_bits(b)),
            (Number::Single(_), _) | (_, Number::Single(_)) => {
                Err("a single in 0f notation cannot be part of an expression".into())
            }
            _ => Err("an expression cannot mix integers and doubles".into()),
        }
    }

    fn integers(self, a: u64, left: bool, b: u64, right: bool) -> Result<Number, String> {
        // The usual conversions: if one operand is unsigned, both are.
        let signed = left && right;
        let number = |bits| Ok(Number::Integer { bits, signed });
        let truth = |value: bool| Ok(Number::signed(value.into()));
        let order = if signed { (a as i64).cmp(&(b as i64)) } else { a.cmp(&b) };
        match self {
            Self::Or => truth(a != 0 || b != 0),
            Self::And => truth(a != 0 && b != 0),
            Self::BitOr => number(a | b),
            Self::BitXor => number(a ^ b),
            Self::BitAnd => number(a & b),
            Self::Equal => truth(order == Ordering::Equal),
            Self::NotEqual => truth(order != Ordering::Equal),
            Self::Less => truth(order == Ordering::Less),
            Self::LessEqual => truth(order != Ordering::Greater),
            Self::Greater => truth(order == Ordering::Greater),
            Self::GreaterEqual => truth(order != Ordering::Less),
            Self::ShiftLeft => {
                let count = u32::try_from(b).unwrap_or(u32::MAX);
                Ok(Number::Integer { bits: a.checked_shl(count).unwrap_or(0), signed: left })
            }
            Self::ShiftRight if left => Ok(Number::signed(a as i64 >> b.min(63))),
            Self::ShiftRight => Ok(Number::unsigned(if b < 64 { a >> b } else { 0 })),
            Self::Add => number(a.wrapping_add(b)),
            Self::Subtract => number(a.wrapping_sub(b)),
            Self::Multiply => number(a.wrapping_mul(b)),
            Self::Divide | Self::Remainder if b == 0 => Err("the expression divides by zero".into()),
            Self::Divide if signed => number((a as i64).wrapping_div(b as i64) as u64),
            Self::Divide => number(a / b),
            // The operation is always unsigned, but its result is signed.
            Self::Remainder => Ok(Number::signed((a % b) as i64)),
        }
    }

    fn doubles(self, a: f64, b: f64) -> Result<Number, String> {
        let truth = |value: bool| Ok(Number::signed(value.into()));
        match self {
            Self::Equal => truth(a == b),
            Self::NotEqual => truth(a != b),
            Self::Less => truth(a < b),
            Self::LessEqual => truth(a <= b),
            Self::Greater => truth(a > b),
            Self::GreaterEqual => truth(a >= b),
            Self::Add => Ok(Number::double(a + b)),
            Self::Subtract => Ok(Number::double(a - b)),
            Self::Multiply => Ok(Number::double(a * b)),
            Self::Divide => Ok(Number::double(a / b)),
            _ => Err("the operator accepts only integers".into()),
        }
    }
}

/// The precedence of `+` and `-`.
const ADDITIVE: u8 = 9;

impl<'a> Parser<'a> {
    /// Parses a constant expression.
    pub(super) fn expression(&mut self) -> Result<Number, Fault> {
        self.conditional(DEPTH)
    }

    /// Parses a constant integer expression and returns its bits.
    pub(super) fn integer(&mut self) -> Result<u64, Fault> {
        match self.expression()? {
            Number::Integer { bits, .. } => Ok(bits),
            _ => Err(self.fault("expected an integer, found a float")),
        }
    }

    /// Parses the offset after a symbol or a register, such as `+ 4 - 8`; each term is a product at
    /// most. Returns zero if nothing follows.
    pub(super) fn offset(&mut self) -> Result<i64, Fault> {
        let mut sum = 0i64;
        loop {
            let minus = match self.token {
                Token::Mark(b'+') => false,
                Token::Mark(b'-') => true,
                _ => return Ok(sum),
            };
            self.advance()?;
            let Number::Integer { bits, .. } = self.binary(ADDITIVE + 1, DEPTH)? else {
                return Err(self.fault("an offset must be an integer, but this is a float"));
            };
            sum = if minus { sum.wrapping_sub(bits as i64) } else { sum.wrapping_add(bits as i64) };
        }
    }

    fn conditional(&mut self, depth: u32) -> Result<Number, Fault> {
        let condition = self.binary(0, depth)?;
        if !self.take(b'?')? {
            return Ok(condition);
        }
        let Number::Integer { bits, .. } = condition else {
            return Err(self.fault("the condition before `?` is not an integer"));
        };
        let deeper = self.deeper(depth)?;
        let then = self.conditional(deeper)?;
        self.expect(b':')?;
        let other = self.conditional(deeper)?;
        match (then, other) {
            (Number::Integer { bits: a, signed: left }, Number::Integer { bits: b, signed: right }) => {
                Ok(Number::Integer { bits: if bits != 0 { a } else { b }, signed: left && right })
            }
            (Number::Double(a), Number::Double(b)) => Ok(Number::Double(if bits != 0 { a } else { b })),
            _ => Err(self.fault("the operands of `:` are neither two integers nor two doubles")),
        }
    }

    fn binary(&mut self, floor: u8, depth: u32) -> Result<Number, Fault> {
        let mut left = self.unary(depth)?;
        while let Some((operator, strength)) = Operator::of(self.token).filter(|&(_, strength)| strength >= floor) {
            self.advance()?;
            let deeper = self.deeper(depth)?;
            let right = self.binary(strength + 1, deeper)?;
            left = operator.apply(left, right).map_err(|message| self.fault(message))?;
        }
        Ok(left)
    }

    fn deeper(&self, depth: u32) -> Result<u32, Fault> {
        depth.checked_sub(1).ok_or_else(|| self.fault("the expression is nested too deeply"))
    }

    fn unary(&mut self, depth: u32) -> Result<Number, Fault> {
        let token = self.token;
        match token {
            Token::Number(number) => {
                self.advance()?;
                return Ok(number);
            }
            Token::Word("WARP_SZ") => {
                self.advance()?;
                return Ok(Number::signed(32));
            }
            _ => {}
        }
        let Token::Mark(mark @ (b'(' | b'+' | b'-' | b'~' | b'!')) = token else {
            return Err(self.unexpected("a constant"));
        };
        self.advance()?;
        let deeper = self.deeper(depth)?;
        if mark == b'(' {
            if let Token::Dot(ty) = self.token {
                return self.cast(ty, deeper);
            }
            let inside = self.conditional(deeper)?;
            self.expect(b')')?;
            return Ok(inside);
        }
        let number = self.unary(deeper)?;
        match (mark, number) {
            (b'+', Number::Integer { .. } | Number::Double(_)) => Ok(number),
            (b'-', Number::Integer { bits, signed }) => Ok(Number::Integer { bits: bits.wrapping_neg(), signed }),
            (b'-', Number::Double(bits)) => Ok(Number::double(-f64::from_bits(bits))),
            (b'~', Number::Integer { bits, .. }) => Ok(Number::unsigned(!bits)),
            (b'!', Number::Integer { bits, .. }) => Ok(Number::signed((bits == 0).into())),
            (_, Number::Single(_)) => Err(self.fault("a single in 0f notation cannot be part of an expression")),
            _ => Err(self.fault("the operator accepts only integers")),
        }
    }

    /// Parses what follows `(` in `(.s64)5`.
    fn cast(&mut self, ty: &str, depth: u32) -> Result<Number, Fault> {
        let signed = match ty {
            "s64" => true,
            "u64" => false,
            _ => return Err(self.fault(format!("an expression can be cast to .s64 or .u64, but not to .{ty}"))),
        };
        self.advance()?;
        self.expect(b')')?;
        match self.unary(depth)? {
            Number::Integer { bits, .. } => Ok(Number::Integer { bits, signed }),
            _ => Err(self.fault(format!("a float cannot be cast to .{ty}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Number, String> {
        let mut parser = Parser::new(text).map_err(|fault| fault.message)?;
        let number = parser.expression().map_err(|fault| fault.message)?;
        assert_eq!(parser.token, Token::End, "{text}");
        Ok(number)
    }

    #[test]
    fn integers() {
        for (text, expected) in [
            ("1+2*3", 7),
            ("(1+2)*3", 9),
            ("-7/2", -3),
            ("7 % 4", 3),
            ("-7 % 2", 1),
            ("7 % 4U - 4", -1),
            ("1|6", 7),
            ("7&3^1", 2),
            ("1|2&2", 3),
            ("-8&-4", -8),
            ("1<<4>>2", 4),
            ("-8>>1", -4),
            ("-1>>64", -1),
            ("1<<64", 0),
            ("10-3-2", 5),
            ("3<4", 1),
            ("-1<0", 1),
            ("-1<0U", 0),
            ("2>=2 && 1!=1", 0),
            ("0||5", 1),
            ("!5", 0),
            ("!0", 1),
            ("1 ? 2 : 0 ? 3 : 4", 2),
            ("0 ? 2 : 0 ? 3 : 4", 4),
            ("WARP_SZ-1", 31),
            ("(.s64)0xffffffffffffffff", -1),
            ("(.s64)18446744073709551615/2", 0),
            ("--5", 5),
            ("+5", 5),
            ("0x7fffffffffffffff+1", i64::MIN),
            ("(0-0x7fffffffffffffff-1)/-1", i64::MIN),
        ] {
            assert_eq!(value(text), Ok(Number::signed(expected)), "{text}");
        }
        for (text, expected) in [
            ("~0", u64::MAX),
            ("1U|6", 7),
            ("7&3U^1", 2),
            ("(.u64)-1/2", u64::MAX / 2),
            ("(.u64)-1>>63", 1),
            ("1U<<64", 0),
            ("0xffffffffffffffff>>4", u64::MAX >> 4),
            ("5U-6", u64::MAX),
            ("1 ? 2 : 3U", 2),
        ] {
            assert_eq!(value(text), Ok(Number::unsigned(expected)), "{text}");
        }
    }

    #[test]
    fn doubles() {
        assert_eq!(value("1.5*2.0-0.5"), Ok(Number::double(2.5)));
        assert_eq!(value("-1.5"), Ok(Number::double(-1.5)));
        assert_eq!(value("1.0/0.0"), Ok(Number::double(f64::INFINITY)));
        assert_eq!(value("1.5<2.5"), Ok(Number::signed(1)));
        assert_eq!(value("1 ? 0.5 : 1.5"), Ok(Number::double(0.5)));
        assert_eq!(value("0f3f800000"), Ok(Number::Single(0x3f80_0000)));
    }

    #[test]
    fn faults() {
        for (text, message) in [
            ("1/0", "the expression divides by zero"),
            ("1 % 0", "the expression divides by zero"),
            ("1+1.5", "an expression cannot mix integers and doubles"),
            ("-0f3f800000", "a single in 0f notation cannot be part of an expression"),
            ("~1.5", "the operator accepts only integers"),
            ("1.5&2.5", "the operator accepts only integers"),
            ("(.s32)1", "an expression can be cast to .s64 or .u64, but not to .s32"),
            ("1+", "expected a constant, found the end of the text"),
            ("(1", "expected `)`, found the end of the text"),
        ] {
            assert_eq!(value(text), Err(message.into()), "{text}");
        }
        for text in ["(", "-", "1+(", "1?", "1?1:"] {
            assert_eq!(value(&text.repeat(100_000)), Err("the expression is nested too deeply".into()), "{text}");
        }
    }
}
