//! The parser's state, and the few ways in which it takes words.

use super::ast::{Module, Type};
use super::lexer::{Lexer, Token};
use super::number::Number;
use super::scope::Frame;
use std::collections::HashMap;

/// What is wrong, and where; [`ParseError`](super::ParseError) has the function too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: u32,
    pub(super) message: String,
}

/// What a name of module scope stands for, with its place in the module's list.
#[derive(Debug, Clone, Copy)]
pub(super) enum Global {
    Variable {
        /// In [`Module::variables`].
        index: usize,
        /// Bytes of an element, which a subscript counts.
        stride: u32,
    },
    /// In [`Module::functions`].
    Function(usize),
}

/// The parser.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The word that is looked at.
    pub(super) token: Token<'a>,
    /// Its line.
    pub(super) line: u32,
    /// The line of the word before.
    pub(super) last: u32,
    /// What was parsed so far.
    pub(super) module: Module,
    /// The names of module scope.
    pub(super) globals: HashMap<&'a str, Global>,
    /// The function that is being parsed.
    pub(super) function: Option<&'a str>,
    /// Its names, and its body so far.
    pub(super) frame: Frame<'a>,
    /// What `.loc` gave last.
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

    /// Goes on to the next word.
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

    /// The word after the one that is looked at; the end where it is none.
    pub(super) fn peek(&self) -> Token<'a> {
        self.lexer.clone().next().unwrap_or(Token::End)
    }

    /// What is wrong with what was read last.
    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { line: self.last, message: message.into() }
    }

    /// The word that is looked at is not what there should be.
    pub(super) fn unexpected(&self, expected: &str) -> Fault {
        Fault { line: self.line, message: format!("{}, where {expected} is expected", self.quote()) }
    }

    /// The word that is looked at, as a message names it.
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

    /// Is it this sign?
    #[inline]
    pub(super) fn at(&self, mark: u8) -> bool {
        self.token == Token::Mark(mark)
    }

    /// Goes past a sign, if it is there.
    #[inline]
    pub(super) fn take(&mut self, mark: u8) -> Result<bool, Fault> {
        let there = self.at(mark);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// Goes past a sign, which must be there.
    #[inline]
    pub(super) fn expect(&mut self, mark: u8) -> Result<(), Fault> {
        match self.take(mark)? {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{}`", char::from(mark)))),
        }
    }

    /// Goes past a word after a dot, if it is this one.
    pub(super) fn take_dot(&mut self, word: &str) -> Result<bool, Fault> {
        let there = self.token == Token::Dot(word);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// A name.
    pub(super) fn name(&mut self, what: &str) -> Result<&'a str, Fault> {
        let Token::Word(name) = self.token else { return Err(self.unexpected(what)) };
        self.advance()?;
        Ok(name)
    }

    /// What stands between quotation marks.
    pub(super) fn text(&mut self, what: &str) -> Result<&'a str, Fault> {
        let Token::Text(text) = self.token else { return Err(self.unexpected(what)) };
        self.advance()?;
        Ok(text)
    }

    /// A type.
    pub(super) fn ty(&mut self) -> Result<Type, Fault> {
        let Token::Dot(word) = self.token else { return Err(self.unexpected("a type")) };
        let ty = Type::named(word).ok_or_else(|| self.unexpected("a type"))?;
        self.advance()?;
        Ok(ty)
    }

    /// A plain number of 32 bits, as directives take it.
    pub(super) fn count(&mut self, what: &str) -> Result<u32, Fault> {
        match self.token {
            Token::Number(Number::Integer { bits, .. }) if u32::try_from(bits).is_ok() => {
                self.advance()?;
                Ok(bits as u32)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// The word that is looked at, as it is written: a version is no decimal fraction.
    pub(super) fn raw(&self) -> &'a str {
        self.lexer.raw()
    }
}
