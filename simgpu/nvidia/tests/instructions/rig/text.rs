//! Parses instructions from text: the part of PTX's syntax that tests of single instructions need.

use super::Rig;
use isobit_simgpu_nvidia::ptx::ast::{Base, Instruction, Operand, RegisterId};

impl Rig {
    /// Parses an instruction. Variables are the names of `locations`.
    pub fn parse(&self, text: &str) -> Instruction {
        let (head, rest) = text.trim().split_once([' ', '\t']).unwrap_or((text.trim(), ""));
        let mut head = head.split('.').map(str::to_owned);
        let opcode = head.next().unwrap();
        let mut operands = Vec::new();
        let mut depth = 0;
        let pieces = rest.split(|c| {
            depth += i32::from(matches!(c, '{' | '[')) - i32::from(matches!(c, '}' | ']'));
            c == ',' && depth == 0
        });
        for piece in pieces.map(str::trim).filter(|piece| !piece.is_empty()) {
            operands.push(self.operand(piece));
        }
        Instruction { guard: None, opcode, modifiers: head.collect(), operands, line: 1, location: None }
    }

    fn id(&self, name: &str) -> Option<RegisterId> {
        self.index(name).map(|at| RegisterId(at as u32))
    }

    fn operand(&self, text: &str) -> Operand {
        let part = |text: &str| if text == "_" { None } else { self.id(text) };
        let number = |text: &str| text.parse::<i64>().ok().map(|n| n as u64);
        if let Some(inner) = text.strip_prefix('{') {
            return Operand::Vector(
                inner.trim_end_matches('}').split(',').map(|one| self.operand(one.trim())).collect(),
            );
        }
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.trim_end_matches(']');
            let (base, offset) = inner.split_once('+').unwrap_or((inner, "0"));
            let offset = offset.parse().unwrap();
            return match (self.id(base), number(base)) {
                (Some(id), _) => Operand::Address(Base::Register(id), offset),
                (_, Some(at)) => Operand::Address(Base::None, at as i64 + offset),
                _ => Operand::Address(Base::Symbol(base.to_owned()), offset),
            };
        }
        if let Some((first, second)) = text.split_once('|') {
            return Operand::Pair(part(first), part(second));
        }
        match (text, self.id(text), number(text)) {
            ("_", ..) => Operand::Sink,
            (_, Some(id), _) => Operand::Register(id),
            (_, _, Some(number)) => Operand::Integer(number),
            _ if text.starts_with('!') => Operand::Negated(self.id(&text[1..]).unwrap()),
            _ if text.starts_with("0f") => Operand::Single(u32::from_str_radix(&text[2..], 16).unwrap()),
            _ if text.starts_with('%') => match text.split_once('.') {
                Some((name, part)) => Operand::Special(name.to_owned(), "xyzw".find(part).map(|part| part as u8)),
                None => Operand::Special(text.to_owned(), None),
            },
            _ => match text.split_once('+') {
                Some((name, offset)) => Operand::Symbol(name.to_owned(), offset.parse().unwrap()),
                None => Operand::Symbol(text.to_owned(), 0),
            },
        }
    }
}
