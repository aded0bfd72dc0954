//! The parts of a conversion specification of `printf`.

/// What stands between a percent sign and the end of its conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conversion {
    pub(super) flags: Flags,
    pub(super) width: Amount,
    pub(super) precision: Amount,
    pub(super) size: Size,
    pub(super) kind: Kind,
    /// The letter that names it.
    pub(super) letter: u8,
}

/// The flags, one bit for each of [`Flags::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Flags(u8);

impl Flags {
    const ALL: &[u8] = b"-+ #0";

    fn add(&mut self, byte: u8) -> bool {
        let at = Self::ALL.iter().position(|flag| *flag == byte);
        at.inspect(|at| self.0 |= 1 << at).is_some()
    }

    /// Returns the characters of the flags.
    pub(super) fn characters(self) -> impl Iterator<Item = char> {
        Self::ALL.iter().enumerate().filter(move |(at, _)| self.0 >> at & 1 == 1).map(|(_, flag)| char::from(*flag))
    }
}

/// A width or a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    Default,
    Number(i32),
    /// `*`
    Argument,
}

/// The size of an integer argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// An `int` that is converted to `char`.
    Char,
    /// An `int` that is converted to `short`.
    Short,
    Int,
    /// 64 bits, on every system that runs CUDA or HIP on Linux.
    Wide,
}

/// The type of the argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Char,
    Float,
    Text,
    Pointer,
    /// `%n`
    Count,
}

impl Conversion {
    /// Parses what follows a percent sign. Returns the conversion and its length, or `None` if it
    /// is not one.
    pub(super) fn parse(text: &[u8]) -> Option<(Self, usize)> {
        let mut at = 0;
        let mut flags = Flags::default();
        while flags.add(*text.get(at)?) {
            at += 1;
        }
        let width = amount(text, &mut at)?;
        let precision = match text.get(at)? {
            b'.' => {
                at += 1;
                match amount(text, &mut at)? {
                    // A point alone means zero.
                    Amount::Default => Amount::Number(0),
                    given => given,
                }
            }
            _ => Amount::Default,
        };
        let (size, double) = size(text, &mut at);
        let letter = *text.get(at)?;
        let kind = match letter {
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' if !double => Kind::Integer,
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => Kind::Float,
            // Wide characters and strings are not supported by either vendor.
            b'c' if size == Size::Int => Kind::Char,
            b's' if size == Size::Int => Kind::Text,
            b'p' => Kind::Pointer,
            b'n' => Kind::Count,
            _ => return None,
        };
        Some((Self { flags, width, precision, size, kind, letter }, at + 1))
    }
}

/// Parses a number or `*`. Returns `None` at the end of the text, or if the number is too large.
fn amount(text: &[u8], at: &mut usize) -> Option<Amount> {
    if *text.get(*at)? == b'*' {
        *at += 1;
        return Some(Amount::Argument);
    }
    let from = *at;
    let mut number = 0i32;
    while let Some(digit) = text.get(*at).filter(|byte| byte.is_ascii_digit()) {
        number = number.checked_mul(10)?.checked_add((digit - b'0').into())?;
        *at += 1;
    }
    Some(if *at == from { Amount::Default } else { Amount::Number(number) })
}

/// Parses the size, and whether it is `L`, which only floats have.
fn size(text: &[u8], at: &mut usize) -> (Size, bool) {
    let names: [(&[u8], Size, bool); 8] = [
        (b"hh", Size::Char, false),
        (b"h", Size::Short, false),
        (b"ll", Size::Wide, false),
        (b"l", Size::Wide, false),
        (b"j", Size::Wide, false),
        (b"z", Size::Wide, false),
        (b"t", Size::Wide, false),
        (b"L", Size::Int, true),
    ];
    let found = names.into_iter().find(|(name, ..)| text[*at..].starts_with(name));
    found.map_or((Size::Int, false), |(name, size, double)| {
        *at += name.len();
        (size, double)
    })
}
