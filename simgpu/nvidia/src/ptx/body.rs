//! The contents of a function's braces: declarations, labels, instructions, inner scopes.

use super::ast::{Guard, Instruction, Prototype, Signature, Statement};
use super::lexer::Token;
use super::operand::Place;
use super::parser::{Fault, Parser};
use super::scope::Found;

/// Maximum depth of nested scopes.
const DEPTH: usize = 64;

impl<'a> Parser<'a> {
    /// Parses a scope in braces. Inner scopes are processed in a loop, without recursion.
    pub(super) fn scope(&mut self) -> Result<(), Fault> {
        let outside = self.frame.depth();
        loop {
            match self.token {
                Token::Word(word) => {
                    let line = self.line;
                    self.advance()?;
                    if self.at(b':') {
                        self.label(word, line)?;
                    } else {
                        self.instruction(None, word, line)?;
                    }
                }
                Token::Mark(b'@') => self.guarded()?,
                Token::Dot(word) => {
                    self.advance()?;
                    self.inner_directive(word)?;
                }
                Token::Mark(b';') => self.advance()?,
                Token::Mark(b'{') => {
                    if self.frame.depth() - outside >= DEPTH {
                        return Err(self.fault("scopes are nested too deeply"));
                    }
                    self.frame.open();
                    self.advance()?;
                }
                Token::Mark(b'}') => {
                    self.frame.close().map_err(undefined)?;
                    self.advance()?;
                    if self.frame.depth() == outside {
                        return Ok(());
                    }
                }
                _ => return Err(self.unexpected("an instruction")),
            }
        }
    }

    /// Parses a label at its colon: that of an instruction, or the name of a list.
    fn label(&mut self, name: &'a str, line: u32) -> Result<(), Fault> {
        self.expect(b':')?;
        let fresh = match self.token {
            Token::Dot("branchtargets") => {
                self.advance()?;
                let mut labels = Vec::new();
                loop {
                    let target = self.name("a label")?;
                    labels.push(self.frame.label(target, self.last));
                    if !self.take(b',')? {
                        break;
                    }
                }
                self.expect(b';')?;
                self.frame.targets(name, labels)
            }
            Token::Dot("calltargets") => {
                self.advance()?;
                let mut targets = Vec::new();
                loop {
                    targets.push(self.name("a function")?.to_string());
                    if !self.take(b',')? {
                        break;
                    }
                }
                self.expect(b';')?;
                self.frame.prototype(name, Prototype::Targets(targets))
            }
            Token::Dot("callprototype") => {
                self.advance()?;
                let signature = self.prototype()?;
                self.frame.prototype(name, Prototype::Signature(signature))
            }
            _ => self.frame.place(name, line),
        };
        if fresh { Ok(()) } else { Err(Fault { line, message: format!("the label `{name}` is defined twice") }) }
    }

    /// Parses the prototype of an indirect call.
    fn prototype(&mut self) -> Result<Signature, Fault> {
        let mut signature = Signature::default();
        if self.at(b'(') {
            signature.returns = self.prototype_parameters()?;
        }
        self.name("`_`")?;
        if self.at(b'(') {
            signature.parameters = self.prototype_parameters()?;
        }
        while let Token::Dot(word) = self.token {
            self.advance()?;
            match word {
                "noreturn" => {}
                "abi_preserve" | "abi_preserve_control" => {
                    self.count("a number of registers")?;
                }
                _ => return Err(self.unknown_directive(word)),
            }
        }
        self.expect(b';')?;
        Ok(signature)
    }

    /// Parses the values of a prototype, and returns their sizes in bytes.
    fn prototype_parameters(&mut self) -> Result<Vec<u64>, Fault> {
        let mut sizes = Vec::new();
        self.expect(b'(')?;
        if self.take(b')')? {
            return Ok(sizes);
        }
        loop {
            if !self.take_dot("param")? && !self.take_dot("reg")? {
                return Err(self.unexpected("`.param` or `.reg`"));
            }
            let prefix = self.prefix()?;
            self.name("`_`")?;
            let shape = self.shape()?;
            let element = u64::from(prefix.ty.bytes()) * u64::from(prefix.lanes);
            let bytes = shape.dimensions.iter().try_fold(element, |size, &length| size.checked_mul(length));
            sizes.push(bytes.ok_or_else(|| self.fault("a value of a prototype is too large"))?);
            if !self.take(b',')? {
                self.expect(b')')?;
                return Ok(sizes);
            }
        }
    }

    /// Parses a directive of a body.
    fn inner_directive(&mut self, word: &'a str) -> Result<(), Fault> {
        match word {
            "reg" => self.registers(),
            "loc" => self.source_location(),
            "pragma" => self.pragma(),
            "extern" => {
                let space = if let Token::Dot(space) = self.token { Self::space(space) } else { None };
                let space = space.ok_or_else(|| self.unexpected("a state space"))?;
                self.advance()?;
                self.local_variables(space, true)
            }
            _ => match Self::space(word) {
                Some(space) => self.local_variables(space, false),
                None => Err(self.unknown_directive(word)),
            },
        }
    }

    /// Parses `.reg .b32 %r<9>, a, b;`.
    fn registers(&mut self) -> Result<(), Fault> {
        let prefix = self.prefix()?;
        loop {
            let name = self.name("the name of a register")?;
            let fresh = if self.take(b'<')? {
                let count = self.count("a number of registers")?;
                self.expect(b'>')?;
                self.frame.family(name, count, prefix.ty, prefix.lanes)
            } else {
                self.frame.register(name, prefix.ty, prefix.lanes).is_some()
            };
            if !fresh {
                return Err(self.fault(format!("`{name}` is declared twice")));
            }
            if !self.take(b',')? {
                return self.expect(b';');
            }
        }
    }

    /// Parses `.loc 1 20 5`, optionally followed by the function and the place where it was
    /// inlined; only the innermost location is used.
    fn source_location(&mut self) -> Result<(), Fault> {
        let file = self.count("the number of a file")?;
        let line = self.count("a line")?;
        self.count("a column")?;
        self.location = Some((file, line));
        while self.take(b',')? {
            match self.name("`function_name` or `inlined_at`")? {
                "function_name" => {
                    self.name("a label")?;
                    self.offset()?;
                }
                "inlined_at" => {
                    self.count("the number of a file")?;
                    self.count("a line")?;
                    self.count("a column")?;
                }
                other => return Err(self.fault(format!("`{other}` is not a valid part of `.loc`"))),
            }
        }
        Ok(())
    }

    /// Parses an instruction with a guard, from the `@` on.
    fn guarded(&mut self) -> Result<(), Fault> {
        self.advance()?;
        let negated = self.take(b'!')?;
        let name = self.name("a predicate")?;
        let Some(Found::Register(register, 1)) = self.frame.find(name) else {
            return Err(self.fault(format!("`{name}` is not a predicate")));
        };
        let line = self.line;
        let opcode = self.name("an instruction")?;
        self.instruction(Some(Guard { register, negated }), opcode, line)
    }

    /// Parses an instruction, from after its opcode on.
    fn instruction(&mut self, guard: Option<Guard>, opcode: &'a str, line: u32) -> Result<(), Fault> {
        let mut modifiers = Vec::new();
        while let Token::Dot(modifier) = self.token {
            modifiers.push(modifier.to_string());
            self.advance()?;
        }
        let place = Place::of(opcode);
        let mut operands = Vec::new();
        if !self.at(b';') {
            loop {
                operands.push(self.operand(place)?);
                if !self.take(b',')? {
                    break;
                }
            }
        }
        self.expect(b';')?;
        let location = self.location;
        let opcode = opcode.to_string();
        let inst = Instruction { guard, opcode, modifiers, operands, line, location };
        self.frame.body.statements.push(Statement::Instruction(inst));
        Ok(())
    }
}

/// Returns the error for an undefined label.
pub(super) fn undefined((label, line): (&str, u32)) -> Fault {
    Fault { line, message: format!("the label `{label}` is not defined") }
}

#[cfg(test)]
mod tests {
    use super::super::ast::{LabelId, RegisterId};
    use super::super::tests::{body, error, instructions};
    use super::*;

    #[test]
    fn statements() {
        let body = body(".reg .pred p; @p exit; L: M: @!p bra.uni M;; bar.sync 0; { ret; }");
        let all: Vec<_> = body
            .statements
            .iter()
            .map(|statement| match statement {
                Statement::Label(label) => (body.labels[label.0 as usize].as_str(), None),
                Statement::Instruction(inst) => (inst.opcode.as_str(), inst.guard.map(|guard| guard.negated)),
            })
            .collect();
        assert_eq!(
            all,
            [("exit", Some(false)), ("L", None), ("M", None), ("bra", Some(true)), ("bar", None), ("ret", None)]
        );
        let guards: Vec<_> = instructions(&body).filter_map(|inst| inst.guard).map(|guard| guard.register).collect();
        assert_eq!(guards, [RegisterId(0), RegisterId(0)]);
    }

    #[test]
    fn lists_and_prototypes() {
        let body = body(
            ".reg .b64 d; A: B: t: .branchtargets A, B, A; { t: .branchtargets B; brx.idx d, t; } brx.idx d, t;
             p: .callprototype _ (.param .b32 _, .param .align 8 .b8 _[12]); q: .callprototype (.reg .f32 _) _ ();
             c: .calltargets f, g; call d, (), p; call d, c;",
        );
        let list =
            |name: &str, labels: &[u32]| (name.to_string(), labels.iter().copied().map(LabelId).collect::<Vec<_>>());
        assert_eq!(body.targets, [list("t", &[0, 1, 0]), list("t#1", &[1])]);
        let last: Vec<_> = instructions(&body).map(|inst| format!("{:?}", inst.operands.last().unwrap())).collect();
        assert_eq!(last, ["Name(\"t#1\")", "Name(\"t\")", "Name(\"p\")", "Name(\"c\")"]);
    }

    #[test]
    fn places_in_the_source() {
        let body = body(
            "exit; .loc 1 20 5\n exit; .loc 2 30 1, function_name $L__info_string3+4, inlined_at 1 21 3\nexit; { exit; }",
        );
        let all: Vec<_> = instructions(&body).map(|inst| inst.location).collect();
        assert_eq!(all, [None, Some((1, 20)), Some((2, 30)), Some((2, 30))]);
    }

    #[test]
    fn faults() {
        for (text, message) in [
            ("add.u32 1, 2", "expected `;`, found `}`"),
            ("@p ret;", "`p` is not a predicate"),
            (".reg .v2 .b32 v; @v ret;", "`v` is not a predicate"),
            (".maxntid 5;", "`.maxntid` is not a known directive"),
            (".reg .b32 a<;", "expected a number of registers, found `;`"),
            ("5;", "expected an instruction, found `5`"),
            ("t: .branchtargets A;", "the label `A` is not defined"),
            ("A: t: .branchtargets A; t: .calltargets A;", "the label `t` is defined twice"),
            (".loc 1 2 3, inside 4", "`inside` is not a valid part of `.loc`"),
            ("p: .callprototype _ (.b32 _);", "expected `.param` or `.reg`, found `.b32`"),
            ("}", "expected a directive, found `}`"),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
    }
}
