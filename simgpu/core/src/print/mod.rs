//! `printf` of kernels, as far as the vendors have it in common: a format and its arguments become
//! text, and the text goes to the streams of the C library.
//!
//! The vendors pass the arguments in different ways, so [`Arguments`] abstracts from them. Each
//! conversion is formatted by the C library's own `snprintf`, because both vendors document their
//! `printf` by the host's. Crates that format like C exist, but they lack conversions (`%a`) or
//! take their arguments from a C variadic call.

mod conversion;
mod output;
mod snprintf;

pub use output::{Output, Stream};

use conversion::{Amount, Conversion, Kind, Size};
use snprintf::{Field, Value};

/// The arguments of one call, taken in the order of the conversions. `None` means that there is
/// none, or that it cannot be read.
pub trait Arguments {
    /// Whether the text ends at a conversion that has no argument. Otherwise the conversion itself
    /// is printed, and the text goes on.
    const END_WITHOUT: bool;

    /// Takes an integer of 64 bits if `wide`, otherwise of 32, in the low bits.
    fn integer(&mut self, wide: bool) -> Option<u64>;

    /// Takes a float.
    fn double(&mut self) -> Option<f64>;

    /// Takes a string, without its NUL. If `most` is given, reads at most so many bytes, and the
    /// string needs no NUL after them.
    fn text(&mut self, most: Option<usize>) -> Option<Text>;
}

/// A string argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// A null pointer.
    Null,
}

/// The result of [`format`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Printed {
    /// The text.
    pub text: Vec<u8>,
    /// The number of arguments that the conversions took.
    pub arguments: u32,
}

/// Formats like `printf`: flags `-+ #0`, width and precision as numbers or `*`, the sizes `hh`,
/// `h`, `l`, `ll`, `j`, `z`, `t`, `L` (a `long double` is a `double`), and the conversions
/// `diouxX`, `fFeEgGaA`, `c`, `s`, `p`, `%`. `%n` takes its argument and writes nothing. Whatever
/// else follows a percent sign is printed as it stands.
pub fn format<A: Arguments>(format: &[u8], arguments: &mut A) -> Printed {
    let mut printed = Printed::default();
    let mut rest = format;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let (before, from) = rest.split_at(at);
        printed.text.extend_from_slice(before);
        match from.get(1) {
            Some(b'%') => {
                printed.text.push(b'%');
                rest = &from[2..];
                continue;
            }
            // A percent sign without a conversion; the characters after it are ordinary ones.
            _ => rest = &from[1..],
        }
        let Some((conversion, length)) = Conversion::parse(rest) else {
            printed.text.push(b'%');
            continue;
        };
        rest = &rest[length..];
        match convert(&conversion, &mut printed.arguments, arguments) {
            Some(text) => printed.text.extend(text),
            None if A::END_WITHOUT => return printed,
            None => printed.text.extend_from_slice(&from[..=length]),
        }
    }
    printed.text.extend_from_slice(rest);
    printed
}

/// Returns the text of a conversion. Returns `None` if an argument is missing, or if the text would
/// be unreasonably long.
fn convert<A: Arguments>(conversion: &Conversion, taken: &mut u32, arguments: &mut A) -> Option<Vec<u8>> {
    let mut amount = |amount: Amount, arguments: &mut A| -> Option<Option<i32>> {
        Some(match amount {
            Amount::Default => None,
            Amount::Number(number) => Some(number),
            Amount::Argument => Some(take(taken, arguments.integer(false))? as i32),
        })
    };
    let width = amount(conversion.width, arguments)?;
    // A negative precision counts as none.
    let precision = amount(conversion.precision, arguments)?.filter(|precision| *precision >= 0);
    let field = Field { flags: conversion.flags, width, precision };
    let wide = conversion.size == Size::Wide;
    let prefix = match conversion.size {
        Size::Char => "hh",
        Size::Short => "h",
        Size::Int => "",
        Size::Wide => "ll",
    };
    let letter = conversion.letter;
    match conversion.kind {
        Kind::Integer => {
            let value = take(taken, arguments.integer(wide))?;
            field.put(prefix, letter, if wide { Value::Wide(value) } else { Value::Int(value as u32) })
        }
        Kind::Char => field.put("", letter, Value::Int(take(taken, arguments.integer(false))? as u32)),
        Kind::Pointer => field.put("", letter, Value::Pointer(take(taken, arguments.integer(true))?)),
        Kind::Float => field.put("", letter, Value::Double(take(taken, arguments.double())?)),
        Kind::Text => match take(taken, arguments.text(precision.map(|most| most as usize)))? {
            Text::Bytes(bytes) => field.put("", letter, Value::Text(Some(&bytes))),
            Text::Null => field.put("", letter, Value::Text(None)),
        },
        Kind::Count => take(taken, arguments.integer(true)).map(|_| Vec::new()),
    }
}

/// Counts an argument if there is one.
fn take<T>(taken: &mut u32, argument: Option<T>) -> Option<T> {
    *taken += u32::from(argument.is_some());
    argument
}
