//! Entries and functions: names, parameters, launch bounds.

use super::ast::{Function, Parameter, Space, Variable};
use super::body::undefined;
use super::lexer::Token;
use super::parser::{Fault, Global, Parser};
use super::scope::Frame;
use super::variable::Prefix;

impl<'a> Parser<'a> {
    /// Parses an entry or a function, from after `.entry` or `.func` on.
    pub(super) fn function(&mut self, entry: bool) -> Result<(), Fault> {
        self.frame = Frame::default();
        self.frame.open();
        self.location = None;
        let mut function = Function { entry, ..Function::default() };
        if self.take_dot("attribute")? {
            self.attribute()?;
        }
        if !entry && self.at(b'(') {
            function.returns = self.parameters()?;
        }
        function.line = self.line;
        let name = self.name("the name of a function")?;
        self.function = Some(name);
        function.name = name.to_string();
        // The function is declared before its body, which may call it.
        let declared = self.declare_function(name, &function)?;
        if self.at(b'(') {
            function.parameters = self.parameters()?;
        }
        self.launch_bounds(&mut function)?;
        if self.at(b'{') {
            self.scope()?;
            self.frame.close().map_err(undefined)?;
            function.body = Some(std::mem::take(&mut self.frame).finish());
        } else {
            self.expect(b';')?;
        }
        self.function = None;
        self.frame = Frame::default();
        let before = &mut self.module.functions[declared];
        match (&before.body, &function.body) {
            (Some(_), Some(_)) => {
                return Err(Fault { line: function.line, message: format!("`{name}` is defined twice") });
            }
            (Some(_), None) => {}
            _ => *before = function,
        }
        Ok(())
    }

    /// Returns the index of a function in the module.
    fn declare_function(&mut self, name: &'a str, function: &Function) -> Result<usize, Fault> {
        match self.globals.get(name) {
            Some(&Global::Function(index)) if self.module.functions[index].entry == function.entry => Ok(index),
            Some(_) => Err(self.fault(format!("`{name}` is already declared as something else"))),
            None => {
                let index = self.module.functions.len();
                self.globals.insert(name, Global::Function(index));
                self.module.functions.push(Function {
                    name: name.to_string(),
                    line: function.line,
                    entry: function.entry,
                    ..Function::default()
                });
                Ok(index)
            }
        }
    }

    /// Parses a parameter list in parentheses.
    fn parameters(&mut self) -> Result<Vec<Parameter>, Fault> {
        self.expect(b'(')?;
        let mut parameters = Vec::new();
        let mut end = 0u64;
        if self.take(b')')? {
            return Ok(parameters);
        }
        loop {
            let mut parameter = self.parameter()?;
            let too_large = || self.fault("the parameters are too large");
            let offset = end.checked_next_multiple_of(parameter.variable.align.into()).ok_or_else(too_large)?;
            end = offset.checked_add(parameter.variable.bytes).ok_or_else(too_large)?;
            parameter.offset = u32::try_from(end).map(|_| offset as u32).map_err(|_| too_large())?;
            parameters.push(parameter);
            if !self.take(b',')? {
                self.expect(b')')?;
                return Ok(parameters);
            }
        }
    }

    fn parameter(&mut self) -> Result<Parameter, Fault> {
        if self.take_dot("reg")? {
            let Prefix { ty, lanes: 1, align } = self.prefix()? else {
                return Err(self.fault("a parameter cannot be a vector register"));
            };
            let line = self.line;
            let name = self.name("the name of a parameter")?;
            let register = self.frame.register(name, ty, 1);
            let register = Some(register.ok_or_else(|| self.fault(format!("`{name}` is declared twice")))?);
            let variable = Variable {
                name: name.to_string(),
                space: Space::Param,
                ty,
                align,
                bytes: ty.bytes().into(),
                init: None,
                relocations: Vec::new(),
                external: false,
                line,
            };
            return Ok(Parameter { variable, register, offset: 0 });
        }
        if !self.take_dot("param")? {
            return Err(self.unexpected("`.param` or `.reg`"));
        }
        let prefix = self.prefix()?;
        let variable = self.variable(Space::Param, prefix, false)?;
        Ok(Parameter { variable, register: None, offset: 0 })
    }

    /// Parses the directives between the parameters and the body.
    fn launch_bounds(&mut self, function: &mut Function) -> Result<(), Fault> {
        while let Token::Dot(word) = self.token {
            match word {
                "maxntid"
                | "reqntid"
                | "minnctapersm"
                | "maxnctapersm"
                | "maxnreg"
                | "noreturn"
                | "pragma"
                | "attribute"
                | "abi_preserve"
                | "abi_preserve_control" => self.advance()?,
                _ => return Err(self.unknown_directive(word)),
            }
            match word {
                "maxntid" => function.max_threads = Some(self.extent()?),
                "reqntid" => function.required_threads = Some(self.extent()?),
                // The second is the older name of the first.
                "minnctapersm" | "maxnctapersm" => function.min_blocks = Some(self.count("a number of blocks")?),
                "maxnreg" => function.max_registers = Some(self.count("a number of registers")?),
                "pragma" => self.pragma()?,
                "attribute" => self.attribute()?,
                "abi_preserve" | "abi_preserve_control" => {
                    self.count("a number of registers")?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Parses one to three numbers and pads them with ones.
    fn extent(&mut self) -> Result<[u32; 3], Fault> {
        let mut extent = [self.count("a number of threads")?, 1, 1];
        for axis in &mut extent[1..] {
            if !self.take(b',')? {
                break;
            }
            *axis = self.count("a number of threads")?;
        }
        Ok(extent)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ast::{Operand, RegisterId, Statement, Type};
    use super::super::tests::{module, module_error};

    #[test]
    fn parameters_have_places() {
        let module = module(
            ".entry k(.param .u8 a, .param .u64 .ptr .global .align 32 b, .param .align 16 .b8 c[20], .param .u16 d,
                      .param .b64 .ptr e, .param .u32 outside) { ret; }
             .extern .func (.param .b32 r) g(.param .b32 a, .param .align 8 .b8 rest[]);",
        );
        let all: Vec<_> = module.functions[0]
            .parameters
            .iter()
            .map(|parameter| {
                (parameter.variable.name.as_str(), parameter.offset, parameter.variable.bytes, parameter.variable.align)
            })
            .collect();
        assert_eq!(
            all,
            [
                ("a", 0, 1, 1),
                ("b", 8, 8, 8),
                ("c", 16, 20, 16),
                ("d", 36, 2, 2),
                ("e", 40, 8, 8),
                ("outside#1", 48, 4, 4)
            ]
        );
        let [_, rest] = &module.functions[1].parameters[..] else { panic!("{module:?}") };
        assert_eq!((rest.variable.bytes, rest.offset), (0, 8));
    }

    #[test]
    fn registers_may_be_parameters() {
        let module = module(".func (.reg .f32 r, .param .b64 q) f(.reg .b32 a, .reg .pred p) { mov.b32 r, a; ret; }");
        let function = &module.functions[0];
        let ids =
            |parameters: &[super::Parameter]| parameters.iter().map(|parameter| parameter.register).collect::<Vec<_>>();
        assert_eq!(ids(&function.returns), [Some(RegisterId(0)), None]);
        assert_eq!(ids(&function.parameters), [Some(RegisterId(1)), Some(RegisterId(2))]);
        let body = function.body.as_ref().unwrap();
        assert_eq!(body.registers[2].ty, Type::named("pred").unwrap());
        let Statement::Instruction(inst) = &body.statements[0] else { panic!("{body:?}") };
        assert_eq!(inst.operands, [RegisterId(0), RegisterId(1)].map(Operand::Register));
    }

    #[test]
    fn bounds_of_launches() {
        let module = module(
            ".entry a .maxntid 8, 4 .minnctapersm 3 .pragma \"x\", \"y\"; { ret; }
             .entry b() .reqntid 8, 4, 2 .maxnctapersm 5 .maxnreg 32 { ret; } .func c() .noreturn .abi_preserve 8 { ret; }",
        );
        let [a, b, c] = &module.functions[..] else { panic!("{module:?}") };
        assert_eq!((a.max_threads, a.required_threads, a.min_blocks), (Some([8, 4, 1]), None, Some(3)));
        assert_eq!((b.max_threads, b.required_threads, b.min_blocks), (None, Some([8, 4, 2]), Some(5)));
        assert_eq!((b.max_registers, c.max_registers, c.entry), (Some(32), None, false));
    }

    #[test]
    fn a_definition_replaces_a_declaration() {
        let module = module(
            ".func f(.param .b32 a); .func g() { call f, (1); ret; } .func f(.param .b32 a) { ret; } .func f(.param .b32 a);",
        );
        let all: Vec<_> =
            module.functions.iter().map(|function| (function.name.as_str(), function.body.is_some())).collect();
        assert_eq!(all, [("f", true), ("g", true)]);
    }

    #[test]
    fn faults() {
        for (text, message) in [
            (".func f() { ret; } .func f() { ret; }", "`f` is defined twice"),
            (".func f(); .entry f() { ret; }", "`f` is already declared as something else"),
            (".func outside();", "`outside` is already declared as something else"),
            (".entry f(.param .b32 a, .param .b32 a);", "`a` is declared twice"),
            (".func f(.reg .b32 a, .reg .b32 a);", "`a` is declared twice"),
            (".func f(.reg .v2 .b32 a);", "a parameter cannot be a vector register"),
            (".func f(.local .b32 a);", "expected `.param` or `.reg`, found `.local`"),
            (".entry f(.param .b8 a[4294967295], .param .b8 b[2]);", "the parameters are too large"),
            (".entry f() .maxntid { ret; }", "expected a number of threads, found `{`"),
            (".entry f() .reqnctapercluster 2 { ret; }", "`.reqnctapercluster` is not a known directive"),
            (".entry f() ret;", "expected `;`, found `ret`"),
            (".entry f() {", "expected an instruction, found the end of the text"),
        ] {
            assert_eq!(module_error(text), message, "{text}");
        }
    }
}
