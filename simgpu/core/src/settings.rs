//! The environment variables for all simulated devices, read once.

use crate::finding::report::Format;
use std::fmt::{self, Display};
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

/// What happens when something is found (`ISOBIT_SIM_FINDINGS`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Response {
    /// `card`: what a card would fail on fails as on a card. The context is lost after an invalid
    /// access; a race is only a finding.
    #[default]
    Card,
    /// `record`: invalid accesses are findings and nothing else. Work that cannot be completed
    /// still fails.
    Record,
    /// `abort`: the process prints the first finding and aborts.
    Abort,
}

impl Response {
    /// Every response.
    pub const ALL: [Self; 3] = [Self::Card, Self::Record, Self::Abort];

    /// Returns the name that selects it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Record => "record",
            Self::Abort => "abort",
        }
    }
}

impl Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Response {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|response| response.name() == name).ok_or(())
    }
}

/// The settings of the simulated devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Number of host threads that run the work groups of a launch (`ISOBIT_SIM_THREADS`; by
    /// default the number of processors).
    pub threads: usize,
    /// Whether work waits for the next synchronisation (`ISOBIT_SIM_DEFER=1`), so that a missing
    /// one becomes visible.
    pub defer: bool,
    /// Units in the last place by which the results of approximate instructions (reciprocals, roots
    /// and similar) are shifted (`ISOBIT_SIM_APPROX`: 0, +1 or -1).
    pub approx: i8,
    /// Bytes of memory of the simulated devices (`ISOBIT_SIM_MEMORY`; by default 16 GiB).
    pub memory: u64,
    /// What happens when something is found (`ISOBIT_SIM_FINDINGS`).
    pub response: Response,
    /// The file to which findings are written (`ISOBIT_SIM_REPORT`), with `%p` for the process and
    /// `%v` for the vendor.
    pub report: Option<String>,
    /// The file of suppressions (`ISOBIT_SIM_SUPPRESSIONS`).
    pub suppressions: Option<String>,
    /// The file for what ran of the kernels (`ISOBIT_SIM_COVERAGE`), with `%p` for the process and
    /// `%v` for the vendor.
    pub coverage: Option<String>,
    /// Whether the process that started this one prints the findings (`ISOBIT_SIM_RUNNER=1`).
    pub has_runner: bool,
}

/// Bytes of memory if `ISOBIT_SIM_MEMORY` is not set.
const DEFAULT_MEMORY: u64 = 16 << 30;

impl Default for Settings {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads,
            defer: false,
            approx: 0,
            memory: DEFAULT_MEMORY,
            response: Response::default(),
            report: None,
            suppressions: None,
            coverage: None,
            has_runner: false,
        }
    }
}

impl Settings {
    /// Parses the settings from `variables`. Also returns one sentence per invalid value, for which
    /// the default is used.
    pub fn parse(variables: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut settings = Self::default();
        let mut errors = Vec::new();
        let mut read = Reader { variables: &variables, errors: &mut errors };
        read.take("ISOBIT_SIM_THREADS", &mut settings.threads, "a number of threads from 1 to 1024", |n| {
            (1..=1024).contains(n)
        });
        let mut defer = u8::from(settings.defer);
        read.take("ISOBIT_SIM_DEFER", &mut defer, "0 or 1", |n| *n <= 1);
        settings.defer = defer == 1;
        read.take("ISOBIT_SIM_APPROX", &mut settings.approx, "0, +1 or -1", |n| (-1..=1).contains(n));
        let sizes = |n: &u64| (1 << 20..=1 << 40).contains(n);
        read.take("ISOBIT_SIM_MEMORY", &mut settings.memory, "a number of bytes from 2^20 to 2^40", sizes);
        read.take("ISOBIT_SIM_FINDINGS", &mut settings.response, "card, record or abort", |_| true);
        let file = |name: &str| variables(name).filter(|path| !path.trim().is_empty());
        settings.suppressions = file("ISOBIT_SIM_SUPPRESSIONS");
        settings.report = file("ISOBIT_SIM_REPORT");
        settings.coverage = file("ISOBIT_SIM_COVERAGE");
        settings.has_runner = variables("ISOBIT_SIM_RUNNER").is_some_and(|set| set == "1");
        if let Some(path) = settings.report.take_if(|path| Format::of(Path::new(path)).is_none()) {
            errors
                .push(format!("ISOBIT_SIM_REPORT={path:?} ends in none of .txt, .json and .sarif; no file is written"));
        }
        (settings, errors)
    }
}

struct Reader<'a> {
    variables: &'a dyn Fn(&str) -> Option<String>,
    errors: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn take<T: FromStr + Display>(&mut self, name: &str, into: &mut T, wanted: &str, good: impl Fn(&T) -> bool) {
        let Some(text) = (self.variables)(name) else { return };
        match text.trim().parse::<T>() {
            Ok(value) if good(&value) => *into = value,
            _ => self.errors.push(format!("{name}={text:?} is not {wanted}; {into} is used")),
        }
    }
}

/// Returns the settings of this process. Invalid values are reported once on stderr.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let (settings, errors) = Settings::parse(|name| std::env::var(name).ok());
        for error in errors {
            eprintln!("simulated GPU: {error}");
        }
        settings
    })
}

/// Returns the simulated GPUs that a vendor's variable selects (`ISOBIT_SIM_ROCM=gfx90a,gfx1100`
/// gives one of each), by the names in `known`. Returns `default` if the variable is not set or has
/// an unknown name, which is then reported on stderr.
pub fn cards<T: Copy>(variable: &str, known: &[(&str, T)], default: T) -> Vec<T> {
    let Ok(text) = std::env::var(variable) else { return vec![default] };
    parse_cards(&text, known).unwrap_or_else(|name| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "simulated GPU: {variable}={text:?} names {name:?}, which is not one of {}; the default is used",
            names.join(", ")
        );
        vec![default]
    })
}

fn parse_cards<T: Copy>(text: &str, known: &[(&str, T)]) -> Result<Vec<T>, String> {
    let find = |name: &str| known.iter().find(|(known, _)| *known == name).map(|(_, card)| *card);
    text.split(',').map(|name| find(name.trim()).ok_or_else(|| name.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::parse(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn values_are_read_and_bad_ones_named() {
        let (good, errors) = parse(&[
            ("ISOBIT_SIM_THREADS", "3"),
            ("ISOBIT_SIM_DEFER", "1"),
            ("ISOBIT_SIM_APPROX", "+1"),
            ("ISOBIT_SIM_MEMORY", "1073741824"),
            ("ISOBIT_SIM_FINDINGS", "record"),
            ("ISOBIT_SIM_REPORT", "found-%p.sarif"),
            ("ISOBIT_SIM_SUPPRESSIONS", "known.txt"),
            ("ISOBIT_SIM_COVERAGE", "ran-%p.json"),
        ]);
        let expected = Settings {
            threads: 3,
            defer: true,
            approx: 1,
            memory: 1 << 30,
            response: Response::Record,
            report: Some("found-%p.sarif".into()),
            suppressions: Some("known.txt".into()),
            coverage: Some("ran-%p.json".into()),
            has_runner: false,
        };
        assert_eq!(good, expected);
        assert!(errors.is_empty());
        assert_eq!(parse(&[("ISOBIT_SIM_APPROX", "-1")]).0.approx, -1);
        for (name, response) in [("card", Response::Card), (" abort ", Response::Abort)] {
            assert_eq!(parse(&[("ISOBIT_SIM_FINDINGS", name)]).0.response, response);
        }
        assert_eq!(Settings::default().response, Response::Card);
        // A variable that is set to nothing is as one that is not set.
        assert_eq!(parse(&[("ISOBIT_SIM_REPORT", ""), ("ISOBIT_SIM_SUPPRESSIONS", " ")]), parse(&[]));

        let (bad, errors) = parse(&[
            ("ISOBIT_SIM_THREADS", "0"),
            ("ISOBIT_SIM_APPROX", "2"),
            ("ISOBIT_SIM_MEMORY", "much"),
            ("ISOBIT_SIM_FINDINGS", "ignore"),
            ("ISOBIT_SIM_REPORT", "findings.xml"),
        ]);
        assert_eq!(bad, Settings::default());
        assert_eq!(errors.len(), 5);
        assert!(errors[3].contains("\"ignore\" is not card, record or abort; card is used"), "{errors:?}");
        assert!(errors[4].contains("findings.xml") && errors[4].contains(".sarif"), "{errors:?}");
        assert!(
            errors.iter().any(|e| e.contains("ISOBIT_SIM_APPROX=\"2\"") && e.contains("0, +1 or -1")),
            "{errors:?}"
        );
    }

    #[test]
    fn cards_come_in_their_order() {
        let known = [("a", 1), ("b", 2)];
        assert_eq!(parse_cards("b, a,b", &known), Ok(vec![2, 1, 2]));
        assert_eq!(parse_cards("a,c", &known), Err("c".to_owned()));
        assert_eq!(parse_cards("", &known), Err(String::new()));
    }
}
