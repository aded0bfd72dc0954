//! What became of a mutant.

use crate::list::Mutant;
use serde::{Deserialize, Serialize};

/// What a run of a mutant showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// Something found it.
    Killed(Kill),
    /// Everything passed.
    Survived,
    /// The compiler refuses it.
    DoesNotCompile {
        /// The first line of the compiler's reason.
        message: String,
    },
    /// It could not be run, because its entry is wrong.
    NotRun {
        /// The reason.
        message: String,
    },
}

/// What found a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kill {
    /// The kind of check.
    pub by: By,
    /// The device, if a cell found it.
    pub device: Option<String>,
    /// The cell or the test.
    pub check: String,
    /// What the check said.
    pub message: String,
}

/// The kinds of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// A result, an error or a crash in a cell or a group.
    Results,
    /// A finding of the simulated GPU, a guard band or the poison.
    Memory,
    /// A test of `cargo test`.
    Test,
    /// A cell or a test that did not end in time.
    Hang,
}

impl By {
    /// Every kind, in the order of reports.
    pub const ALL: [By; 4] = [By::Results, By::Memory, By::Test, By::Hang];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            By::Results => "results",
            By::Memory => "memory",
            By::Test => "test",
            By::Hang => "hang",
        }
    }
}

/// How a mutant counts, given what its entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Found, as it should be.
    Killed,
    /// Not found, and its entry does not say that it need not be.
    Survived,
    /// Not found; its entry names another run that kills it.
    KilledElsewhere,
    /// Not found, and proved to change nothing.
    Equivalent,
    /// Found, although its entry proves that it changes nothing.
    NotEquivalent,
    /// Refused by a compiler.
    DoesNotCompile,
    /// Not run, because its entry is wrong.
    NotRun,
}

impl Verdict {
    /// Judges an outcome.
    pub fn of(mutant: &Mutant, outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Killed(_) if mutant.equivalent.is_some() => Self::NotEquivalent,
            Outcome::Killed(_) => Self::Killed,
            Outcome::Survived if mutant.equivalent.is_some() => Self::Equivalent,
            Outcome::Survived if mutant.may_survive() => Self::KilledElsewhere,
            Outcome::Survived => Self::Survived,
            Outcome::DoesNotCompile { .. } => Self::DoesNotCompile,
            Outcome::NotRun { .. } => Self::NotRun,
        }
    }

    /// Whether the run fails because of it.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Survived | Self::NotEquivalent | Self::NotRun)
    }
}
