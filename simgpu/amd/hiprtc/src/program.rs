//! A program: its source and headers, and the result of its compilation.

use crate::{clang, options};
use std::io;
use std::path::{Component, Path};
use std::process::Command;

/// The options that HIPRTC itself passes to its compiler. They come before the program's options,
/// which can therefore override them.
const FLAGS: &[&str] = &[
    "-x",
    "hip",
    "--offload-device-only",
    "--no-gpu-bundle-output",
    "-nogpuinc",
    "-nogpulib",
    "-fuse-ld=lld",
    "-O3",
    "-std=c++17",
    "-fdeclspec",
    "-mcode-object-version=5",
    "-D__HIPCC_RTC__",
    "-D__HIP_PLATFORM_AMD__=1",
];

const PRELUDE: &str = include_str!("prelude.h");

/// Why a compilation produced no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An option is unknown.
    Option,
    /// The source does not compile; the log has the reason.
    Source,
    /// The compiler could not be run.
    Internal,
}

/// The result of a compilation.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) log: String,
    /// A code object, if there is one.
    pub(crate) code: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(crate) struct Program {
    source: Vec<u8>,
    name: String,
    headers: Vec<(String, Vec<u8>)>,
}

impl Program {
    /// Creates a program. Returns `None` if a name would lie outside the folder in which the
    /// program is compiled.
    pub(crate) fn new(source: Vec<u8>, name: &str, headers: Vec<(String, Vec<u8>)>) -> Option<Self> {
        // HIPRTC also treats a name only as text for messages.
        let name = Path::new(name).file_name()?.to_str()?.to_string();
        headers.iter().all(|(name, _)| stays_inside(name)).then_some(Self { source, name, headers })
    }

    pub(crate) fn compile(&self, given: &[&str]) -> (Compiled, Result<(), Failure>) {
        let failed = |log: String, failure| (Compiled { log, code: None }, Err(failure));
        let options = match options::parse(given) {
            Ok(options) => options,
            Err(why) => return failed(why, Failure::Option),
        };
        let clang = match clang::find() {
            Ok(clang) => clang,
            Err(why) => return failed(format!("hiprtc: {why}"), Failure::Internal),
        };
        let (log, code) = match self.run(&clang, &options) {
            Ok(outcome) => outcome,
            Err(e) => return failed(format!("hiprtc: {}: {e}", clang.display()), Failure::Internal),
        };
        if code.is_some() {
            return (Compiled { log, code }, Ok(()));
        }
        // clang's messages for an unknown option.
        let no_option = [
            "error: unknown argument",
            "error: unsupported option",
            "error: invalid value",
            "error: invalid target ID",
        ];
        let failure = if no_option.iter().any(|e| log.contains(e)) { Failure::Option } else { Failure::Source };
        failed(log, failure)
    }

    fn run(&self, clang: &Path, options: &options::Options) -> io::Result<(String, Option<Vec<u8>>)> {
        let folder = tempfile::Builder::new().prefix("hiprtc-").tempdir()?;
        let sources = folder.path().join("program");
        std::fs::create_dir(&sources)?;
        for (name, text) in &self.headers {
            let path = sources.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&sources))?;
            std::fs::write(path, text)?;
        }
        std::fs::write(sources.join(&self.name), &self.source)?;
        // Written outside the folder of sources, because the program chooses the names in that
        // folder.
        std::fs::write(folder.path().join("prelude.h"), PRELUDE)?;
        let archs = if options.archs.is_empty() { vec![first_simulated_arch()] } else { options.archs.clone() };
        // clang runs in the folder, so that messages contain the program's own file names.
        let output = Command::new(clang)
            .current_dir(&sources)
            .args(FLAGS)
            .args(["-include", "../prelude.h", "-I", "."])
            .args(&options.rest)
            .args(archs.iter().map(|arch| format!("--offload-arch={arch}")))
            .args(["-o", "../code", &self.name])
            .output()?;
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Ok((log, None));
        }
        Ok((log, Some(std::fs::read(folder.path().join("code"))?)))
    }
}

/// Returns the default architecture. Without an option HIPRTC compiles for the current device; here
/// it is the first simulated card.
fn first_simulated_arch() -> String {
    let cards = std::env::var("ISOBIT_SIM_ROCM").unwrap_or_default();
    cards.split(',').map(str::trim).find(|card| !card.is_empty()).unwrap_or("gfx90a").to_string()
}

fn stays_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests;
