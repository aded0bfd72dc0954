//! The tokens of PTX: splits the text, skips comments and blanks, counts lines.

use super::number::{self, Number};

/// A token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    /// An identifier, an opcode, a register: anything that starts with a letter, `_`, `$` or `%`.
    Word(&'a str),
    /// The text after a dot: a directive, a type, a modifier. `::` does not end it.
    Dot(&'a str),
    /// A constant.
    Number(Number),
    /// The text between quotation marks.
    Text(&'a str),
    /// A single punctuation character.
    Mark(u8),
    /// The same character twice: `<<`, `>>`, `==`, `&&`, `||`.
    Twice(u8),
    /// A character followed by an equals sign: `<=`, `>=`, `!=`.
    OrEqual(u8),
    /// The end of the text.
    End,
}

/// Splits a text into tokens.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    /// The start of the last token.
    start: usize,
    /// The end of the last token.
    at: usize,
    /// The line of the last token.
    pub(super) line: u32,
}

/// Whether the byte can be part of an identifier.
fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, start: 0, at: 0, line: 1 }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Skips to the start of the next token.
    fn skip(&mut self) -> Result<(), String> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {}
                b'/' if self.byte(1) == b'/' => {
                    self.at += bytes[self.at..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - self.at);
                    continue;
                }
                b'/' if self.byte(1) == b'*' => {
                    let inside = &self.text[self.at + 2..];
                    let end = inside.find("*/").ok_or("the comment has no end")?;
                    self.line += inside.as_bytes()[..end].iter().filter(|&&byte| byte == b'\n').count() as u32;
                    self.at += end + 4;
                    continue;
                }
                _ => break,
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Returns the end of the run of identifier bytes that starts at a position.
    fn word_end(&self, from: usize) -> usize {
        let bytes = self.text.as_bytes();
        from + bytes[from..].iter().position(|&byte| !in_word(byte)).unwrap_or(bytes.len() - from)
    }

    fn until(&mut self, end: usize) -> &'a str {
        let word = &self.text[self.at..end];
        self.at = end;
        word
    }

    /// Returns the next token.
    ///
    /// # Errors
    /// Fails if there is no valid token; [`line`](Self::line) is its line.
    pub(super) fn next(&mut self) -> Result<Token<'a>, String> {
        self.skip()?;
        self.start = self.at;
        let Some(&byte) = self.text.as_bytes().get(self.at) else { return Ok(Token::End) };
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'%' => {
                let end = self.word_end(self.at + 1);
                // A single percent sign is the remainder operator.
                Ok(if byte == b'%' && end == self.at + 1 {
                    self.at = end;
                    Token::Mark(b'%')
                } else {
                    Token::Word(self.until(end))
                })
            }
            b'.' => self.dotted(),
            b'0'..=b'9' => {
                let (number, length) = number::scan(&self.text[self.at..])?;
                self.at += length;
                Ok(Token::Number(number))
            }
            b'"' => self.quoted(),
            // A driver accepts the text with the NUL that ends a C string.
            0 if self.text[self.at..].bytes().all(|byte| byte == 0) => Ok(Token::End),
            _ => self.mark(byte),
        }
    }

    /// Returns the last token as it is written.
    pub(super) fn raw(&self) -> &'a str {
        &self.text[self.start..self.at]
    }

    fn dotted(&mut self) -> Result<Token<'a>, String> {
        self.at += 1;
        let mut end = self.word_end(self.at);
        while end > self.at && self.text.as_bytes()[end..].starts_with(b"::") {
            end = self.word_end(end + 2);
        }
        match self.until(end) {
            "" => Err("a dot without a name".into()),
            word => Ok(Token::Dot(word)),
        }
    }

    fn quoted(&mut self) -> Result<Token<'a>, String> {
        let inside = &self.text[self.at + 1..];
        let mut escaped = false;
        let end = inside.bytes().position(|byte| {
            let ends = byte == b'\n' || byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        match end {
            Some(end) if inside.as_bytes()[end] == b'"' => {
                self.at += end + 2;
                Ok(Token::Text(&inside[..end]))
            }
            _ => Err("the string has no end".into()),
        }
    }

    fn mark(&mut self, byte: u8) -> Result<Token<'a>, String> {
        let next = self.byte(1);
        let (token, length) = match byte {
            b'<' | b'>' | b'=' | b'&' | b'|' if next == byte => (Token::Twice(byte), 2),
            b'<' | b'>' | b'!' if next == b'=' => (Token::OrEqual(byte), 2),
            b'+' | b'-' | b'*' | b'/' | b'<' | b'>' | b'=' | b'&' | b'|' | b'^' | b'~' | b'!' | b'?' | b':' | b','
            | b';' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'@' => (Token::Mark(byte), 1),
            _ => {
                let wrong = self.text[self.at..].chars().next().unwrap_or_default();
                return Err(format!("{wrong:?} is not a PTX character"));
            }
        };
        self.at += length;
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            match lexer.next().unwrap() {
                Token::End => return tokens,
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn words_dots_and_signs() {
        use Token::{Dot, Mark, Number as Constant, Twice, Word};
        assert_eq!(
            all("@!%p1 ld.shared::cta.v4 {$a, _}, [%rd1+-8];"),
            [
                Mark(b'@'),
                Mark(b'!'),
                Word("%p1"),
                Word("ld"),
                Dot("shared::cta"),
                Dot("v4"),
                Mark(b'{'),
                Word("$a"),
                Mark(b','),
                Word("_"),
                Mark(b'}'),
                Mark(b','),
                Mark(b'['),
                Word("%rd1"),
                Mark(b'+'),
                Mark(b'-'),
                Constant(Number::Integer { bits: 8, signed: true }),
                Mark(b']'),
                Mark(b';'),
            ]
        );
        assert_eq!(
            all("a<<b>=c % d"),
            [Word("a"), Twice(b'<'), Word("b"), Token::OrEqual(b'>'), Word("c"), Mark(b'%'), Word("d")]
        );
    }

    #[test]
    fn comments_strings_and_lines() {
        let mut lexer = Lexer::new("a // é \"\n/* b\n\"*/ \"é // \\\" x\"\r\nc\0\0");
        assert_eq!((lexer.next().unwrap(), lexer.line), (Token::Word("a"), 1));
        assert_eq!((lexer.next().unwrap(), lexer.line), (Token::Text("é // \\\" x"), 3));
        assert_eq!((lexer.next().unwrap(), lexer.line), (Token::Word("c"), 4));
        assert_eq!(lexer.next().unwrap(), Token::End);
        assert_eq!(lexer.next().unwrap(), Token::End);
    }

    #[test]
    fn what_is_no_word() {
        for (text, message) in [
            ("é", "'é' is not a PTX character"),
            ("\0a", "'\\0' is not a PTX character"),
            ("/* a", "the comment has no end"),
            ("\"a\nb\"", "the string has no end"),
            (". a", "a dot without a name"),
            ("#", "'#' is not a PTX character"),
        ] {
            assert_eq!(Lexer::new(text).next(), Err(message.into()), "{text:?}");
        }
    }
}
