//! The contents of a module outside of functions: the header, variables, functions, and debug
//! information.

use super::ast::Function;
use super::lexer::Token;
use super::parser::{Fault, Global, Parser};

impl<'a> Parser<'a> {
    /// Parses a module to the end of the text.
    pub(super) fn module(&mut self) -> Result<(), Fault> {
        self.header()?;
        loop {
            match self.token {
                Token::End => return Ok(()),
                Token::Dot(word) => {
                    self.advance()?;
                    self.directive(word)?;
                }
                _ => return Err(self.unexpected("a directive")),
            }
        }
    }

    /// Parses `.version`, `.target`, and `.address_size`, in this order.
    fn header(&mut self) -> Result<(), Fault> {
        if !self.take_dot("version")? {
            return Err(self.unexpected("`.version`"));
        }
        let version =
            self.raw().split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        self.module.version = version.ok_or_else(|| self.unexpected("a version"))?;
        self.advance()?;
        if !self.take_dot("target")? {
            return Err(self.unexpected("`.target`"));
        }
        self.target()?;
        if !self.take_dot("address_size")? {
            return Err(self.unexpected("`.address_size`"));
        }
        match self.count("a number of bits")? {
            64 => Ok(()),
            bits => Err(self.fault(format!("`.address_size {bits}`: only 64-bit addresses are supported"))),
        }
    }

    /// Parses the architecture and the other properties of the module.
    fn target(&mut self) -> Result<(), Fault> {
        let mut target = None;
        loop {
            let word = self.name("a target")?;
            let number = word.strip_prefix("sm_").or_else(|| word.strip_prefix("compute_"));
            match (number, word) {
                (Some(number), _) if target.is_none() => {
                    // The suffixes `a` and `f` mark features of only one architecture or family.
                    let number = number.strip_suffix(['a', 'f']).unwrap_or(number);
                    let number = number.parse().map_err(|_| self.fault(format!("`{word}` is not a known target")))?;
                    target = Some(number);
                }
                // Texture modes have no effect because there are no textures, and `debug` does not
                // change the behaviour of a program.
                (None, "debug" | "texmode_unified" | "texmode_independent") => {}
                _ => return Err(self.fault(format!("`{word}` is not a known target"))),
            }
            if !self.take(b',')? {
                break;
            }
        }
        self.module.target = target.ok_or_else(|| self.fault("`.target` does not name an architecture"))?;
        Ok(())
    }

    /// Parses a directive of module scope.
    fn directive(&mut self, word: &'a str) -> Result<(), Fault> {
        let mut external = false;
        let mut word = word;
        if let "visible" | "extern" | "weak" | "common" = word {
            external = word == "extern";
            let Token::Dot(next) = self.token else { return Err(self.unexpected("a directive")) };
            if !matches!(next, "entry" | "func") && Self::space(next).is_none() {
                return Err(self.unknown_directive(next));
            }
            self.advance()?;
            word = next;
        }
        match word {
            "entry" => self.function(true),
            "func" => self.function(false),
            "file" => self.file(),
            "section" => self.section(),
            "pragma" => self.pragma(),
            "alias" => self.alias(),
            _ => match Self::space(word) {
                Some(super::ast::Space::Param) | None => Err(self.unknown_directive(word)),
                Some(space) => self.global_variables(space, external),
            },
        }
    }

    /// Returns the error for an unknown directive.
    pub(super) fn unknown_directive(&self, word: &str) -> Fault {
        self.fault(format!("`.{word}` is not a known directive"))
    }

    /// Parses `1 "path"`, optionally followed by the time and the size of the file.
    fn file(&mut self) -> Result<(), Fault> {
        let number = self.count("the number of a file")?;
        let path = self.text("a path")?;
        self.module.files.push((number, unescaped(path)));
        while self.take(b',')? {
            self.expression()?;
        }
        Ok(())
    }

    /// Skips debug data in braces.
    fn section(&mut self) -> Result<(), Fault> {
        if !matches!(self.token, Token::Dot(_) | Token::Word(_)) {
            return Err(self.unexpected("the name of a section"));
        }
        self.advance()?;
        self.expect(b'{')?;
        let mut depth = 1u32;
        while depth > 0 {
            match self.token {
                Token::Mark(b'{') => depth += 1,
                Token::Mark(b'}') => depth -= 1,
                Token::End => return Err(self.unexpected("`}`")),
                _ => {}
            }
            self.advance()?;
        }
        Ok(())
    }

    /// Skips advice to the compiler, which does not change the behaviour of a program.
    pub(super) fn pragma(&mut self) -> Result<(), Fault> {
        loop {
            self.text("a pragma")?;
            if !self.take(b',')? {
                return self.expect(b';');
            }
        }
    }

    /// Parses `.alias second, first;`: a second name of a function, which was declared under that
    /// name.
    fn alias(&mut self) -> Result<(), Fault> {
        let second = self.function_name()?;
        self.expect(b',')?;
        let first = self.function_name()?;
        self.expect(b';')?;
        let (declared, defined) = (&self.module.functions[second], &self.module.functions[first]);
        if declared.body.is_some() || declared.entry || defined.entry || defined.body.is_none() {
            let message = format!("`{}` cannot be an alias of `{}`", declared.name, defined.name);
            return Err(self.fault(message));
        }
        let alias = Function { name: declared.name.clone(), line: declared.line, ..defined.clone() };
        self.module.functions[second] = alias;
        Ok(())
    }

    fn function_name(&mut self) -> Result<usize, Fault> {
        let name = self.name("the name of a function")?;
        match self.globals.get(name) {
            Some(&Global::Function(index)) => Ok(index),
            _ => Err(self.fault(format!("`{name}` is not a function"))),
        }
    }
}

/// Returns a string without the backslashes before quotation marks and backslashes.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let escaped = if char == '\\' { chars.clone().next().filter(|next| matches!(next, '"' | '\\')) } else { None };
        plain.push(escaped.unwrap_or(char));
        if escaped.is_some() {
            chars.next();
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::super::tests::{module, module_error};

    #[test]
    fn headers() {
        let header =
            |text: &str| parse(text).map(|module| (module.version, module.target)).map_err(|error| error.message);
        let of = |target: &str| header(&format!(".version 8.10 .target {target} .address_size 64"));
        assert_eq!(of("sm_80"), Ok(((8, 10), 80)));
        assert_eq!(of("sm_90a, debug"), Ok(((8, 10), 90)));
        assert_eq!(of("compute_75, texmode_independent"), Ok(((8, 10), 75)));
        for target in ["sm_", "sm_80b", "gfx90a", "debug, map_f64_to_f32", "sm_80, sm_90", "sm_80, map_f64_to_f32"] {
            let word = target.rsplit(' ').next().unwrap();
            assert_eq!(of(target), Err(format!("`{word}` is not a known target")));
        }
        assert_eq!(of("debug"), Err("`.target` does not name an architecture".into()));
        let error = |text| header(text).unwrap_err();
        assert_eq!(error(".version 8 .target sm_80"), "expected a version, found `8`");
        assert_eq!(error(".version 8.0 .target sm_80"), "expected `.address_size`, found the end of the text");
        assert_eq!(
            error(".version 8.0 .target sm_80 .address_size 32"),
            "`.address_size 32`: only 64-bit addresses are supported"
        );
    }

    #[test]
    fn an_alias_is_the_same_function() {
        let module = module(".func a(.param .b32 x); .func b(.param .b32 y) { ret; } .alias a, b;");
        let [a, b] = &module.functions[..] else { panic!("{module:?}") };
        assert_eq!((a.name.as_str(), &a.body, &a.parameters), ("a", &b.body, &b.parameters));
        assert_eq!(module_error(".func a() { ret; } .func b() { ret; } .alias a, b;"), "`a` cannot be an alias of `b`");
        assert_eq!(module_error(".func a(); .alias a, b;"), "`b` is not a function");
    }

    #[test]
    fn what_debuggers_read_is_skipped() {
        let module = module(
            ".section .debug_info { { .b8 1, 2 \n a: .b64 a+4 } } .file 3 \"x\" .pragma \"y\"; .file 4 \"z\", 1, 2",
        );
        assert_eq!(module.files, [(3, "x".to_string()), (4, "z".to_string())]);
        assert_eq!(module_error(".section .debug_info { {}"), "expected `}`, found the end of the text");
    }

    #[test]
    fn what_is_no_directive() {
        for (text, message) in [
            (".tex .u64 x;", "`.tex` is not a known directive"),
            (".visible .reg .b32 x;", "`.reg` is not a known directive"),
            (".visible entry x;", "expected a directive, found `entry`"),
            ("ret;", "expected a directive, found `ret`"),
            (".file 1;", "expected a path, found `;`"),
        ] {
            assert_eq!(module_error(text), message, "{text}");
        }
    }
}
