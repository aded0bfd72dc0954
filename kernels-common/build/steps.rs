//! Runs the steps of the clang driver without the driver. A module takes a tenth of a second to
//! compile, a third of which is spent on starting three processes. Here one process compiles
//! several modules; each is linked separately if its target links.

use super::clang::Clang;
use super::target::Target;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of the driver, without the file names.
struct Step {
    program: String,
    arguments: Vec<String>,
}

/// The steps that the driver takes for one target.
pub struct Steps {
    /// Compiles sources, and leaves each result next to its source.
    compile: Step,
    /// The extension of the compiled files.
    extension: &'static str,
    /// The link step, with the indices of the object and of the result among its arguments.
    link: Option<(Step, usize, usize)>,
}

impl Steps {
    /// Asks the driver for its steps. Returns `None` if they are not the expected ones; the driver
    /// must then be used instead.
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

    /// Compiles units of one folder and returns the file of each. Returns `None` if anything fails;
    /// running the driver then gives the message.
    pub fn run(&self, units: &[PathBuf]) -> Option<Vec<PathBuf>> {
        let folder = units.first()?.parent()?;
        // Warnings are errors, so there is no output to show on success.
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

/// Splits a command as printed by the driver. Each word is in quotation marks, and quotation marks,
/// backslashes and dollars are escaped with a backslash.
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
