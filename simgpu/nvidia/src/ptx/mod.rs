//! The PTX parser: [`parse`](parse()) turns the text into the tree of [`ast`], resolves names, and
//! handles every directive.

pub mod ast;
mod body;
mod directive;
mod expression;
mod function;
mod initial;
mod lexer;
mod number;
mod operand;
mod parser;
mod scope;
mod variable;

#[cfg(test)]
mod tests;

use parser::{Fault, Parser};
use std::fmt;

/// The reason why a text is not a valid module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The surrounding kernel or function, if there is one.
    pub function: Option<String>,
    /// The error, with the offending word.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(function) = &self.function {
            write!(f, ", in {function}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ParseError {}

/// Parses a module.
///
/// # Errors
/// Fails on invalid PTX and on an unknown directive.
pub fn parse(text: &str) -> Result<ast::Module, ParseError> {
    let mut parser =
        Parser::new(text).map_err(|Fault { line, message }| ParseError { line, function: None, message })?;
    match parser.module() {
        Ok(()) => Ok(parser.module),
        Err(Fault { line, message }) => {
            Err(ParseError { line, function: parser.function.map(str::to_string), message })
        }
    }
}
