//! Operands of instructions.

use super::ast::{Base, Operand, RegisterId};
use super::lexer::Token;
use super::number::Number;
use super::parser::{Fault, Global, Parser};
use super::scope::{Found, component};

/// How the opcode affects the notation of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Names are labels.
    Branch,
    /// Parentheses hold lists.
    Call,
    /// A subscript means the address of an element, not the element.
    Move,
    Other,
}

impl Place {
    pub(super) fn of(opcode: &str) -> Self {
        match opcode {
            "bra" => Self::Branch,
            "call" => Self::Call,
            "mov" => Self::Move,
            _ => Self::Other,
        }
    }
}

impl<'a> Parser<'a> {
    /// Parses an operand.
    pub(super) fn operand(&mut self, place: Place) -> Result<Operand, Fault> {
        match self.token {
            Token::Word("WARP_SZ") => self.constant(),
            Token::Word(name) => {
                self.advance()?;
                let operand = self.named(name, place)?;
                if self.at(b'|') { self.pair(operand) } else { Ok(operand) }
            }
            Token::Mark(b'[') => self.bracketed(),
            Token::Mark(b'{') => self.elements(b'{', b'}').map(Operand::Vector),
            Token::Mark(b'(') if place == Place::Call => self.elements(b'(', b')').map(Operand::List),
            Token::Mark(b'!') if matches!(self.peek(), Token::Word(name) if name != "WARP_SZ") => self.negated(),
            _ => self.constant(),
        }
    }

    fn constant(&mut self) -> Result<Operand, Fault> {
        if !matches!(self.token, Token::Number(_) | Token::Word(_) | Token::Mark(b'(' | b'+' | b'-' | b'~' | b'!')) {
            return Err(self.unexpected("an operand"));
        }
        Ok(operand(self.expression()?))
    }

    /// Resolves a name, including what follows it.
    fn named(&mut self, name: &'a str, place: Place) -> Result<Operand, Fault> {
        if name == "_" {
            return Ok(Operand::Sink);
        }
        if place == Place::Branch {
            return Ok(Operand::Label(self.frame.label(name, self.last)));
        }
        match self.frame.find(name) {
            Some(Found::Register(id, 1)) => match self.token {
                Token::Dot(word) => Err(self.fault(format!("`.{word}` is not a part of `{name}`"))),
                _ => Ok(Operand::Register(id)),
            },
            Some(Found::Register(first, lanes)) => self.vector_register(name, first, lanes),
            Some(Found::Symbol(index)) => {
                let stride = self.frame.symbols[index].stride;
                let symbol = self.frame.symbols[index].unique.clone();
                self.symbol(symbol, stride, place)
            }
            Some(Found::Targets(index)) => Ok(Operand::Name(self.frame.body.targets[index].0.clone())),
            Some(Found::Prototype(index)) => Ok(Operand::Name(self.frame.body.prototypes[index].0.clone())),
            None => match self.globals.get(name) {
                Some(&Global::Variable { stride, .. }) => self.symbol(name.to_string(), stride, place),
                Some(Global::Function(_)) => Ok(Operand::Name(name.to_string())),
                None if name.starts_with('%') => self.special(name),
                None => Err(self.fault(format!("`{name}` is not defined"))),
            },
        }
    }

    /// Parses a component of a vector register, or all of them.
    fn vector_register(&mut self, name: &str, first: RegisterId, lanes: u8) -> Result<Operand, Fault> {
        let Token::Dot(word) = self.token else {
            let all = (0..u32::from(lanes)).map(|lane| Operand::Register(RegisterId(first.0 + lane)));
            return Ok(Operand::Vector(all.collect()));
        };
        match component(word).filter(|&lane| lane < lanes) {
            Some(lane) => {
                self.advance()?;
                Ok(Operand::Register(RegisterId(first.0 + u32::from(lane))))
            }
            None => Err(Fault { line: self.line, message: format!("`.{word}` is not a part of `{name}`") }),
        }
    }

    fn special(&mut self, name: &str) -> Result<Operand, Fault> {
        let Token::Dot(word) = self.token else { return Ok(Operand::Special(name.to_string(), None)) };
        match component(word) {
            Some(lane) => {
                self.advance()?;
                Ok(Operand::Special(name.to_string(), Some(lane)))
            }
            None => Err(Fault { line: self.line, message: format!("`.{word}` is not a part of `{name}`") }),
        }
    }

    /// Parses a variable, from after its name on: its address, or an element of it.
    fn symbol(&mut self, symbol: String, stride: u32, place: Place) -> Result<Operand, Fault> {
        if !self.take(b'[')? {
            return Ok(Operand::Symbol(symbol, self.offset()?));
        }
        let element = self.integer()? as i64;
        self.expect(b']')?;
        let offset = element.wrapping_mul(stride.into());
        Ok(match place {
            Place::Move => Operand::Symbol(symbol, offset),
            _ => Operand::Address(Base::Symbol(symbol), offset),
        })
    }

    /// Parses `d|p` at the bar.
    fn pair(&mut self, first: Operand) -> Result<Operand, Fault> {
        let half = |operand: Operand| match operand {
            Operand::Register(id) => Some(Some(id)),
            Operand::Sink => Some(None),
            _ => None,
        };
        let Some(first) = half(first) else { return Err(self.unexpected("`,`")) };
        self.advance()?;
        let name = self.name("a register")?;
        let second = self.named(name, Place::Other)?;
        let second = half(second).ok_or_else(|| self.fault(format!("`{name}` is not a register")))?;
        Ok(Operand::Pair(first, second))
    }

    /// Parses `!p` at the exclamation mark.
    fn negated(&mut self) -> Result<Operand, Fault> {
        self.advance()?;
        let name = self.name("a predicate")?;
        match self.named(name, Place::Other)? {
            Operand::Register(id) => Ok(Operand::Negated(id)),
            _ => Err(self.fault(format!("`{name}` is not a predicate"))),
        }
    }

    /// Parses elements between two delimiters. The elements themselves are not vectors or lists.
    fn elements(&mut self, open: u8, close: u8) -> Result<Vec<Operand>, Fault> {
        self.expect(open)?;
        let mut elements = Vec::new();
        if self.take(close)? {
            return Ok(elements);
        }
        loop {
            if self.at(b'{') || self.at(b'[') {
                return Err(self.unexpected("an operand"));
            }
            elements.push(self.operand(Place::Other)?);
            if !self.take(b',')? {
                self.expect(close)?;
                return Ok(elements);
            }
        }
    }

    /// Parses an address in brackets.
    fn bracketed(&mut self) -> Result<Operand, Fault> {
        self.expect(b'[')?;
        let address = match self.token {
            Token::Word(name) if name != "WARP_SZ" => {
                self.advance()?;
                match self.named(name, Place::Move)? {
                    Operand::Register(id) => Operand::Address(Base::Register(id), self.offset()?),
                    Operand::Symbol(symbol, offset) => {
                        let more = self.offset()?;
                        Operand::Address(Base::Symbol(symbol), offset.wrapping_add(more))
                    }
                    _ => return Err(self.fault(format!("`{name}` is not an address"))),
                }
            }
            _ => Operand::Address(Base::None, self.integer()? as i64),
        };
        if self.at(b',') {
            return Err(self.fault("`[..]` has coordinates: textures and tensors are not simulated"));
        }
        self.expect(b']')?;
        Ok(address)
    }
}

/// Converts a constant to an operand.
fn operand(number: Number) -> Operand {
    match number {
        Number::Integer { bits, .. } => Operand::Integer(bits),
        Number::Double(bits) => Operand::Double(bits),
        Number::Single(bits) => Operand::Single(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{body, error, instructions};
    use super::*;

    const REGISTERS: &str = ".reg .b32 a, b; .reg .pred p, q; .shared .b32 tile[4][8]; .reg .b64 %SP;";

    /// Parses the operands of an instruction; `a` and `b` are registers 0 and 1, `p` and `q` are 2
    /// and 3, `%SP` is 4.
    fn operands(text: &str) -> Vec<Operand> {
        let body = body(&format!("{REGISTERS} L: {text};"));
        let inst = instructions(&body).next().expect("an instruction");
        inst.operands.clone()
    }

    const fn id(number: u32) -> RegisterId {
        RegisterId(number)
    }

    #[test]
    fn registers_and_constants() {
        use Operand::{Double, Integer, Negated, Pair, Register, Sink, Special, Vector};
        for (text, expected) in [
            ("x a, b", vec![Register(id(0)), Register(id(1))]),
            (
                "x p|q, _|q, p|_, _",
                vec![Pair(Some(id(2)), Some(id(3))), Pair(None, Some(id(3))), Pair(Some(id(2)), None), Sink],
            ),
            ("x !p, !0, !(1+1)", vec![Negated(id(2)), Integer(1), Integer(0)]),
            (
                "x -5, ~0, 0xFFU, WARP_SZ, (1|2)*2, 1 ? 5 : 6",
                [-5i64 as u64, u64::MAX, 255, 32, 6, 5].map(Integer).to_vec(),
            ),
            (
                "x 1.5, -1.5, 0d7ff8000000000001",
                vec![Double(1.5f64.to_bits()), Double((-1.5f64).to_bits()), Double(0x7ff8_0000_0000_0001)],
            ),
            ("x 0fBF800000", vec![Operand::Single(0xbf80_0000)]),
            (
                "x {a, _, 0, 1.0}, {b}",
                vec![
                    Vector(vec![Register(id(0)), Sink, Integer(0), Double(1.0f64.to_bits())]),
                    Vector(vec![Register(id(1))]),
                ],
            ),
            (
                "x %tid.x, %ctaid.z, %laneid, %tid, %envreg0, %SP",
                vec![
                    Special("%tid".into(), Some(0)),
                    Special("%ctaid".into(), Some(2)),
                    Special("%laneid".into(), None),
                    Special("%tid".into(), None),
                    Special("%envreg0".into(), None),
                    Register(id(4)),
                ],
            ),
        ] {
            assert_eq!(operands(text), expected, "{text}");
        }
    }

    #[test]
    fn addresses_and_symbols() {
        let address = |base, offset| vec![Operand::Address(base, offset)];
        let symbol = |name: &str| Base::Symbol(name.into());
        for (text, expected) in [
            ("x [a]", address(Base::Register(id(0)), 0)),
            ("x [a+4]", address(Base::Register(id(0)), 4)),
            ("x [a + -8]", address(Base::Register(id(0)), -8)),
            ("x [a-8+2*3]", address(Base::Register(id(0)), -2)),
            ("x [a+0xffffffffffffffff]", address(Base::Register(id(0)), -1)),
            ("x [tile+4]", address(symbol("tile"), 4)),
            ("x [outside]", address(symbol("outside"), 0)),
            ("x [WARP_SZ*2]", address(Base::None, 64)),
            ("x [0x1000]", address(Base::None, 4096)),
            ("x tile[2]", address(symbol("tile"), 64)),
            ("mov tile[2]", vec![Operand::Symbol("tile".into(), 64)]),
            ("x tile", vec![Operand::Symbol("tile".into(), 0)]),
            ("x outside-4", vec![Operand::Symbol("outside".into(), -4)]),
            ("x kernel", vec![Operand::Name("kernel".into())]),
        ] {
            assert_eq!(operands(text), expected, "{text}");
        }
    }

    #[test]
    fn calls_and_branches() {
        use Operand::{Integer, List, Name, Register};
        let name = || Name("kernel".into());
        assert_eq!(operands("bra L"), [Operand::Label(super::super::ast::LabelId(0))]);
        assert_eq!(operands("call kernel"), [name()]);
        assert_eq!(
            operands("call (a), kernel, (b, 5)"),
            [List(vec![Register(id(0))]), name(), List(vec![Register(id(1)), Integer(5)])]
        );
        assert_eq!(operands("call %SP, ()"), [Register(id(4)), List(vec![])]);
    }

    #[test]
    fn faults() {
        for (text, message) in [
            ("x c", "`c` is not defined"),
            ("x L", "`L` is not defined"),
            ("x a.x", "`.x` is not a part of `a`"),
            ("x %tid.q", "`.q` is not a part of `%tid`"),
            ("x [a, {b}]", "`[..]` has coordinates: textures and tensors are not simulated"),
            ("x [%tid]", "`%tid` is not an address"),
            ("x [a+b]", "expected a constant, found `b`"),
            ("x [a", "expected `]`, found `;`"),
            ("x {a, {b}}", "expected an operand, found `{`"),
            ("x {a", "expected `}`, found `;`"),
            ("x (a)", "expected a constant, found `a`"),
            ("x a|5", "expected a register, found `5`"),
            ("x tile|a", "expected `,`, found `|`"),
            ("x !tile", "`tile` is not a predicate"),
            ("x a b", "expected `;`, found `b`"),
            ("x a,", "expected an operand, found `;`"),
            ("x \"a\"", "expected an operand, found \"a\""),
        ] {
            assert_eq!(error(&format!("{REGISTERS} L: {text};")), message, "{text}");
        }
    }
}
