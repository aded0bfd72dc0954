//! The steps that the compiler's driver would take, taken without it: a module takes a tenth of a
//! second, of which a third is three processes that start. One process compiles several modules
//! here, and each is linked by itself where its target links.

use super::clang::Clang;
use super::target::Target;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of the driver, without the names of files.
struct Step {
    program: String,
    arguments: Vec<String>,
}

/// What the driver does for one target.
pub struct Steps {
    /// Takes sources, and leaves the result of each beside it.
    compile: Step,
    /// The ending of what the compilation leaves.
    extension: &'static str,
    /// With the places of the object and of the result among its arguments.
    link: Option<(Step, usize, usize)>,
}

impl Steps {
    /// Asks the driver. None where it would do something else than is known here: it is for the
    /// driver to do then.
    pub fn of(clang: &Clang, target: &Target) -> Option<Self> {
        // Standard input needs no file; nothing is read or written.
        let (unit, out) = ("-", "out");
        let asked = clang.command(target, Path::new(unit), Path::new(out)).arg("-###").output().ok()?;
        let told = String::from_utf8(asked.stderr).ok()?;
        let mut commands = told.lines().filter(|line| line.starts_with(" \"")).map(words);
        let (mut compile, link) = (commands.next()??, commands.next());
        if !asked.status.success() || compile.get(1)? != "-cc1" || commands.next().is_some() {
            return None;
        }
        let output = compile.iter().position(|word| word == "-o")? + 1;
        let object = compile.get(output)?.clone();
        let extension = match (compile.iter().any(|word| word == "-emit-obj"), compile.iter().any(|word| word == "-S"))
        {
            (true, false) => "o",
            (false, true) => "s",
            _ => return None,
        };
        if compile.last()? != unit || link.is_none() && object != out {
            return None;
        }
        let link = match link {
            None => None,
            Some(link) => {
                let link = link?;
                let place = |file: &str| link.iter().position(|word| word == file).map(|at| at - 1);
                let (object, out) = (place(&object)?, place(out)?);
                Some((Step::new(link), object, out))
            }
        };
        compile.pop();
        compile.drain(output - 1..=output);
        Some(Self { compile: Step::new(compile), extension, link })
    }

    /// Compiles units of one folder, and gives the file of each. None where anything goes wrong;
    /// the driver says what.
    pub fn run(&self, units: &[PathBuf]) -> Option<Vec<PathBuf>> {
        let folder = units.first()?.parent()?;
        // Warnings are errors, so that success has nothing to say.
        let output = self.compile.command().args(units).current_dir(folder).output().ok()?;
        if !output.status.success() {
            return None;
        }
        units.iter().map(|unit| self.linked(unit)).collect()
    }

    fn linked(&self, unit: &Path) -> Option<PathBuf> {
        let compiled = unit.with_extension(self.extension);
        let Some((link, object, out)) = &self.link else { return compiled.exists().then_some(compiled) };
        let linked = unit.with_extension("out");
        let mut arguments: Vec<_> = link.arguments.iter().map(Into::into).collect::<Vec<std::ffi::OsString>>();
        (arguments[*object], arguments[*out]) = (compiled.into(), linked.clone().into());
        let output = Command::new(&link.program).args(arguments).output().ok()?;
        output.status.success().then_some(linked)
    }
}

impl Step {
    fn new(mut words: Vec<String>) -> Self {
        let program = words.remove(0);
        Self { program, arguments: words }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

/// The words of a command as the driver prints it: each in quotation marks, where a backslash
/// stands before marks, backslashes and dollars.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        rest = rest.strip_prefix('"')?;
        let mut word = String::new();
        loop {
            let mut chars = rest.chars();
            match chars.next()? {
                '"' => break,
                '\\' => word.push(chars.next()?),
                other => word.push(other),
            }
            rest = chars.as_str();
        }
        words.push(word);
        rest = rest[1..].trim_start();
    }
    (!words.is_empty()).then_some(words)
}
