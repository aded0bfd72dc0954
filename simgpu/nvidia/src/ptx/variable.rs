//! Declarations of variables and parameters: state space, type, alignment, name, dimensions.

use super::ast::{Kind, Space, Type, Variable};
use super::initial::Initial;
use super::lexer::Token;
use super::parser::{Fault, Global, Parser};

/// Maximum number of array dimensions.
const DIMENSIONS: usize = 16;

/// The parts of a declaration before the name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefix {
    pub(super) ty: Type,
    /// Elements per vector: 1, 2 or 4.
    pub(super) lanes: u8,
    pub(super) align: u32,
}

/// The shape of an array.
#[derive(Debug)]
pub(super) struct Shape {
    /// The dimensions, from the outermost; the first is 0 if it is open.
    pub(super) dimensions: Vec<u64>,
    /// Whether the first dimension is open.
    pub(super) open: bool,
}

impl<'a> Parser<'a> {
    /// Returns the space that a directive names.
    pub(super) fn space(word: &str) -> Option<Space> {
        Some(match word {
            "global" => Space::Global,
            "shared" | "shared::cta" => Space::Shared,
            "local" => Space::Local,
            "const" => Space::Const,
            "param" | "param::entry" | "param::func" => Space::Param,
            _ => return None,
        })
    }

    /// Skips `.attribute(.managed)`, which has no effect here: all memory is host memory.
    pub(super) fn attribute(&mut self) -> Result<(), Fault> {
        self.expect(b'(')?;
        loop {
            match self.token {
                Token::Dot("managed") => self.advance()?,
                Token::Dot("unified") => {
                    self.advance()?;
                    self.expect(b'(')?;
                    self.integer()?;
                    self.expect(b',')?;
                    self.integer()?;
                    self.expect(b')')?;
                }
                _ => return Err(self.unexpected("an attribute")),
            }
            if !self.take(b',')? {
                return self.expect(b')');
            }
        }
    }

    /// Parses the parts between the space and the name.
    pub(super) fn prefix(&mut self) -> Result<Prefix, Fault> {
        let (mut ty, mut lanes, mut align) = (None, 1, None);
        loop {
            match self.token {
                Token::Dot("align") => {
                    self.advance()?;
                    align = Some(self.alignment()?);
                }
                Token::Dot("attribute") => {
                    self.advance()?;
                    self.attribute()?;
                }
                Token::Dot("ptr") => {
                    self.advance()?;
                    self.pointee()?;
                }
                Token::Dot("v2") if lanes == 1 => {
                    self.advance()?;
                    lanes = 2;
                }
                Token::Dot("v4") if lanes == 1 => {
                    self.advance()?;
                    lanes = 4;
                }
                Token::Dot(_) if ty.is_none() => ty = Some(self.ty()?),
                _ => break,
            }
        }
        let ty = ty.ok_or_else(|| self.unexpected("a type"))?;
        if u32::from(lanes) * ty.bits > 128 {
            return Err(self.fault("a vector has at most 128 bits"));
        }
        Ok(Prefix { ty, lanes, align: align.unwrap_or(ty.bytes() * u32::from(lanes)) })
    }

    fn alignment(&mut self) -> Result<u32, Fault> {
        let align = self.count("an alignment")?;
        if align.is_power_of_two() { Ok(align) } else { Err(self.fault(format!("{align} is not a valid alignment"))) }
    }

    /// Skips the description of a pointer parameter's target, a promise to the compiler that has no
    /// effect here.
    fn pointee(&mut self) -> Result<(), Fault> {
        if let Token::Dot("global" | "shared" | "local" | "const") = self.token {
            self.advance()?;
        }
        if self.take_dot("align")? {
            self.alignment()?;
        }
        Ok(())
    }

    /// Parses the dimensions after the name.
    pub(super) fn shape(&mut self) -> Result<Shape, Fault> {
        let mut shape = Shape { dimensions: Vec::new(), open: false };
        while self.take(b'[')? {
            if self.at(b']') && shape.dimensions.is_empty() {
                shape.open = true;
                shape.dimensions.push(0);
            } else {
                let length = self.integer()?;
                shape.dimensions.push(length);
            }
            self.expect(b']')?;
            if shape.dimensions.len() > DIMENSIONS {
                return Err(self.fault(format!("an array has at most {DIMENSIONS} dimensions")));
            }
        }
        Ok(shape)
    }

    /// Parses one variable of a declaration, from its name on. In a function, the variable gets a
    /// unique name.
    pub(super) fn variable(&mut self, space: Space, prefix: Prefix, external: bool) -> Result<Variable, Fault> {
        let line = self.line;
        let name = self.name("the name of a variable")?;
        let shape = self.shape()?;
        let Prefix { ty, lanes, align } = prefix;
        if ty.kind == Kind::Predicate {
            return Err(self.fault(format!("`{name}` is a predicate, but only registers can be predicates")));
        }
        let element = ty.bytes() * u32::from(lanes);
        let size = shape.dimensions.iter().try_fold(u64::from(element), |size, &length| size.checked_mul(length));
        let mut bytes = size.ok_or_else(|| self.fault(format!("`{name}` is too large")))?;
        let row =
            shape.dimensions.iter().skip(1).try_fold(u64::from(element), |size, &length| size.checked_mul(length));
        let stride = row.and_then(|row| u32::try_from(row).ok()).unwrap_or(element);
        let Initial { bytes: init, relocations } = if self.take(b'=')? {
            if external || !matches!(space, Space::Global | Space::Const) {
                return Err(self.fault(format!("`{name}` cannot have an initial value")));
            }
            let initial = self.initial(name, ty, lanes, &shape)?;
            bytes = initial.bytes.as_ref().map_or(bytes, |init| init.len() as u64);
            initial
        } else {
            if shape.open && !external && space != Space::Param {
                return Err(self.fault(format!("`{name}` has no length")));
            }
            Initial::default()
        };
        let name = self.declare_variable(name, stride)?;
        Ok(Variable { name, space, ty, align, bytes, init, relocations, external, line })
    }

    fn declare_variable(&mut self, name: &'a str, stride: u32) -> Result<String, Fault> {
        let global = self.globals.get(name);
        if self.frame.depth() > 0 {
            let unique = self.frame.variable(name, stride, global.is_some());
            return unique.ok_or_else(|| self.fault(format!("`{name}` is declared twice")));
        }
        // A variable that is declared first and defined later keeps its index in the list.
        let index = match global {
            None => self.module.variables.len(),
            Some(&Global::Variable { index, .. }) => index,
            Some(Global::Function(_)) => return Err(self.fault(format!("`{name}` is already a function"))),
        };
        self.globals.insert(name, Global::Variable { index, stride });
        Ok(name.to_string())
    }

    /// Parses the variables of a directive of module scope, from after the space on.
    pub(super) fn global_variables(&mut self, space: Space, external: bool) -> Result<(), Fault> {
        let prefix = self.prefix()?;
        loop {
            let variable = self.variable(space, prefix, external)?;
            let index = match self.globals.get(variable.name.as_str()) {
                Some(&Global::Variable { index, .. }) => index,
                _ => self.module.variables.len(),
            };
            match self.module.variables.get_mut(index) {
                None => self.module.variables.push(variable),
                Some(before) if before.space != variable.space => {
                    return Err(self.fault(format!("`{}` is declared in two state spaces", variable.name)));
                }
                Some(before) if before.external => *before = variable,
                Some(_) if variable.external => {}
                Some(_) => return Err(self.fault(format!("`{}` is defined twice", variable.name))),
            }
            if !self.take(b',')? {
                return self.expect(b';');
            }
        }
    }

    /// Parses the variables of a directive in a function, from after the space on.
    pub(super) fn local_variables(&mut self, space: Space, external: bool) -> Result<(), Fault> {
        let prefix = self.prefix()?;
        loop {
            let variable = self.variable(space, prefix, external)?;
            self.frame.body.variables.push(variable);
            if !self.take(b',')? {
                return self.expect(b';');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{body, module, module_error};
    use super::*;

    #[test]
    fn sizes_and_alignments() {
        let module = module(
            ".global .v4 .f32 a; .visible .const .align 2 .b8 b[3], c; .shared .b64 d[2][3]; .weak .global .f64 e[1+1];
             .common .global .align 64 .b128 f; .extern .shared .align 16 .b8 g[]; .global .attribute(.unified(1, 2)) .u16 h;",
        );
        let all: Vec<_> =
            module.variables[1..].iter().map(|v| (v.name.as_str(), v.bytes, v.align, v.external)).collect();
        assert_eq!(
            all,
            [
                ("a", 16, 16, false),
                ("b", 3, 2, false),
                ("c", 1, 2, false),
                ("d", 48, 8, false),
                ("e", 16, 8, false),
                ("f", 16, 64, false),
                ("g", 0, 16, true),
                ("h", 2, 2, false),
            ]
        );
        let body = body(".local .align 8 .b8 depot[16]; .extern .shared .b32 words[]; .param .b64 p, q;");
        let all: Vec<_> = body.variables.iter().map(|v| (v.name.as_str(), v.space, v.bytes, v.external)).collect();
        assert_eq!(
            all,
            [
                ("depot", Space::Local, 16, false),
                ("words", Space::Shared, 0, true),
                ("p", Space::Param, 8, false),
                ("q", Space::Param, 8, false),
            ]
        );
    }

    #[test]
    fn a_definition_replaces_a_declaration() {
        let module = module(".extern .global .u32 x; .global .u32 y; .global .u32 x = 7; .extern .global .u32 y;");
        let all: Vec<_> =
            module.variables[1..].iter().map(|v| (v.name.as_str(), v.external, v.init.is_some())).collect();
        assert_eq!(all, [("x", false, true), ("y", false, false)]);
    }

    #[test]
    fn faults() {
        for (text, message) in [
            (".global .u32 x; .global .u32 x;", "`x` is defined twice"),
            (".extern .global .u32 x; .const .u32 x;", "`x` is declared in two state spaces"),
            (".func f(); .global .u32 f;", "`f` is already a function"),
            (".global .u33 x;", "expected a type, found `.u33`"),
            (".global .u032 x;", "expected a type, found `.u032`"),
            (".global .texref x;", "expected a type, found `.texref`"),
            (".global x;", "expected a type, found `x`"),
            (".global .pred x;", "`x` is a predicate, but only registers can be predicates"),
            (".global .v4 .f64 x;", "a vector has at most 128 bits"),
            (".global .align 3 .b8 x;", "3 is not a valid alignment"),
            (".global .b8 x[];", "`x` has no length"),
            (".global .b8 x[2][];", "expected a constant, found `]`"),
            (".global .b8 x[1 << 40][1 << 40];", "`x` is too large"),
            (".global .attribute(.fast) .b8 x;", "expected an attribute, found `.fast`"),
            (".param .b8 x;", "`.param` is not a known directive"),
        ] {
            assert_eq!(module_error(text), message, "{text}");
        }
        assert_eq!(
            module_error(&format!(".global .b8 x{};", "[1]".repeat(100_000))),
            "an array has at most 16 dimensions"
        );
    }
}
