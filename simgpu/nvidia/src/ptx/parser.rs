//! The parser's state, and its basic operations on tokens.

use super::ast::{Module, Type};
use super::lexer::{Lexer, Token};
use super::number::Number;
use super::scope::Frame;
use std::collections::HashMap;

/// An error and its line; [`ParseError`](super::ParseError) adds the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: u32,
    pub(super) message: String,
}

/// The meaning of a name of module scope, with its index in the module's list.
#[derive(Debug, Clone, Copy)]
pub(super) enum Global {
    Variable {
        /// The index in [`Module::variables`].
        index: usize,
        /// Bytes per element, for subscripts.
        stride: u32,
    },
    /// The index in [`Module::functions`].
    Function(usize),
}

/// The parser.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The current token.
    pub(super) token: Token<'a>,
    /// Its line.
    pub(super) line: u32,
    /// The line of the previous token.
    pub(super) last: u32,
    /// The module parsed so far.
    pub(super) module: Module,
    /// The names of module scope.
    pub(super) globals: HashMap<&'a str, Global>,
    /// The function that is being parsed.
    pub(super) function: Option<&'a str>,
    /// The names of the function, and its body so far.
    pub(super) frame: Frame<'a>,
    /// The last `.loc`.
    pub(super) location: Option<(u32, u32)>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, Fault> {
        let mut parser = Self {
            lexer: Lexer::new(text),
            token: Token::End,
            line: 1,
            last: 1,
            module: Module::default(),
            globals: HashMap::new(),
            function: None,
            frame: Frame::default(),
            location: None,
        };
        parser.advance()?;
        Ok(parser)
    }

    /// Moves to the next token.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<(), Fault> {
        self.last = self.line;
        match self.lexer.next() {
            Ok(token) => {
                (self.token, self.line) = (token, self.lexer.line);
                Ok(())
            }
            Err(message) => Err(Fault { line: self.lexer.line, message }),
        }
    }

    /// Returns the token after the current one; the end if it is not valid.
    pub(super) fn peek(&self) -> Token<'a> {
        self.lexer.clone().next().unwrap_or(Token::End)
    }

    /// Returns an error at the last token read.
    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { line: self.last, message: message.into() }
    }

    /// Returns the error for an unexpected current token.
    pub(super) fn unexpected(&self, expected: &str) -> Fault {
        Fault { line: self.line, message: format!("expected {expected}, found {}", self.quote()) }
    }

    /// Returns the current token as messages quote it.
    pub(super) fn quote(&self) -> String {
        match self.token {
            Token::Word(word) => format!("`{word}`"),
            Token::Dot(word) => format!("`.{word}`"),
            Token::Text(text) => format!("\"{text}\""),
            Token::Mark(mark) => format!("`{}`", char::from(mark)),
            Token::Twice(mark) => format!("`{0}{0}`", char::from(mark)),
            Token::OrEqual(mark) => format!("`{}=`", char::from(mark)),
            Token::Number(Number::Integer { bits, signed: true }) => format!("`{}`", bits as i64),
            Token::Number(Number::Integer { bits, signed: false }) => format!("`{bits}`"),
            Token::Number(Number::Double(bits)) => format!("`{:?}`", f64::from_bits(bits)),
            Token::Number(Number::Single(bits)) => format!("`0f{bits:08x}`"),
            Token::End => "the end of the text".into(),
        }
    }

    /// Whether the current token is this character.
    #[inline]
    pub(super) fn at(&self, mark: u8) -> bool {
        self.token == Token::Mark(mark)
    }

    /// Skips a character if it is present, and returns whether it was.
    #[inline]
    pub(super) fn take(&mut self, mark: u8) -> Result<bool, Fault> {
        let there = self.at(mark);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// Skips a character, which must be present.
    #[inline]
    pub(super) fn expect(&mut self, mark: u8) -> Result<(), Fault> {
        match self.take(mark)? {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{}`", char::from(mark)))),
        }
    }

    /// Skips a word after a dot if it is this one, and returns whether it was.
    pub(super) fn take_dot(&mut self, word: &str) -> Result<bool, Fault> {
        let there = self.token == Token::Dot(word);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// Parses a name.
    pub(super) fn name(&mut self, what: &str) -> Result<&'a str, Fault> {
        let Token::Word(name) = self.token else { return Err(self.unexpected(what)) };
        self.advance()?;
        Ok(name)
    }

    /// Parses a quoted text.
    pub(super) fn text(&mut self, what: &str) -> Result<&'a str, Fault> {
        let Token::Text(text) = self.token else { return Err(self.unexpected(what)) };
        self.advance()?;
        Ok(text)
    }

    /// Parses a type.
    pub(super) fn ty(&mut self) -> Result<Type, Fault> {
        let Token::Dot(word) = self.token else { return Err(self.unexpected("a type")) };
        let ty = Type::named(word).ok_or_else(|| self.unexpected("a type"))?;
        self.advance()?;
        Ok(ty)
    }

    /// Parses a plain 32-bit number, as in directives.
    pub(super) fn count(&mut self, what: &str) -> Result<u32, Fault> {
        match self.token {
            Token::Number(Number::Integer { bits, .. }) if u32::try_from(bits).is_ok() => {
                self.advance()?;
                Ok(bits as u32)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Returns the current token as it is written, because a version is not a decimal fraction.
    pub(super) fn raw(&self) -> &'a str {
        self.lexer.raw()
    }
}
