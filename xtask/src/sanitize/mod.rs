//! `cargo xtask sanitize`: runs tests under programs that watch every access or every order of
//! threads. They find what a test does not assert: a read of freed memory, a leak, a lock that two
//! threads take in opposite orders.

mod compiled;
mod valgrind;

use crate::setup::{self, Need};
use crate::steps::Steps;
use anyhow::{Result, bail};
use std::process::ExitCode;

/// A program or a mode of the compiler that checks running code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checker {
    /// Models of the memory pool, the streams and the captures, in every order of their threads.
    Loom,
    /// AddressSanitizer: accesses outside of allocations or after their end, and leaks.
    Address,
    /// Valgrind's memcheck: the same without another build, and uses of uninitialised memory.
    Memcheck,
    /// Valgrind's helgrind: data races, and locks of C libraries taken in opposite orders.
    Helgrind,
    /// ThreadSanitizer: data races. Needs the sources of the standard library and a nightly Rust.
    Thread,
    /// Miri: undefined behaviour of code that calls no C. Needs a nightly Rust.
    Miri,
}

impl Checker {
    /// All, the quickest first.
    pub const ALL: [Self; 6] = [Self::Loom, Self::Address, Self::Memcheck, Self::Helgrind, Self::Thread, Self::Miri];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loom => "loom",
            Self::Address => "address",
            Self::Memcheck => "memcheck",
            Self::Helgrind => "helgrind",
            Self::Thread => "thread",
            Self::Miri => "miri",
        }
    }

    /// Returns why it runs only if it is named.
    fn by_name_only(self) -> Option<String> {
        (self == Self::Helgrind).then(|| {
            "it does not know Rust's locks and atomics, and takes what they order for races; name it to read its reports"
                .into()
        })
    }

    /// Returns why it cannot run on this machine, if so.
    fn lacks(self) -> Result<Option<String>> {
        Ok(match self {
            Self::Loom | Self::Address => None,
            Self::Memcheck | Self::Helgrind => {
                let lacking = setup::ensure(&[Need::Valgrind])?;
                lacking.first().map(|need| format!("{} is missing: `apt-get install {}`", need.name(), need.package()))
            }
            Self::Thread => compiled::lacks_nightly("rust-src"),
            Self::Miri => compiled::lacks_nightly("miri"),
        })
    }

    fn run(self) -> Result<()> {
        match self {
            Self::Loom => compiled::loom(),
            Self::Address => compiled::address(),
            Self::Memcheck => valgrind::run(valgrind::Tool::Memcheck),
            Self::Helgrind => valgrind::run(valgrind::Tool::Helgrind),
            Self::Thread => compiled::thread(),
            Self::Miri => compiled::miri(),
        }
    }
}

/// Runs the named checkers. Without names, runs all that can run on this machine and give a
/// verdict, and lists the others.
///
/// # Errors
/// Fails if a checker finds something, or if a named one cannot run.
pub fn run(names: &[String]) -> Result<ExitCode> {
    let mut steps = Steps::default();
    let left_out = chosen(&mut steps, names)?;
    if !left_out.is_empty() {
        eprintln!("\nskipped");
        left_out.iter().for_each(|what| eprintln!("  {what}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// As [`run`], as part of another task. Returns what could not run, and why.
///
/// # Errors
/// As [`run`].
pub fn chosen(steps: &mut Steps, names: &[String]) -> Result<Vec<String>> {
    let mut left_out = Vec::new();
    let is_named = |checker: &Checker| names.iter().any(|name| name == checker.name());
    for checker in Checker::ALL.into_iter().filter(|checker| names.is_empty() || is_named(checker)) {
        let by_name_only = checker.by_name_only().filter(|_| !is_named(&checker));
        let lacks = if by_name_only.is_some() { by_name_only } else { checker.lacks()? };
        match lacks {
            None => steps.run(checker.name(), || checker.run())?,
            Some(why) if is_named(&checker) => bail!("{} cannot run: {why}", checker.name()),
            Some(why) => left_out.push(format!("the checker {}: {why}", checker.name())),
        }
    }
    Ok(left_out)
}
