//! Reports of a process's findings: their contents, and a file of them in three formats that is
//! kept up to date, because a process may end without running its exit handlers.

use super::kept::Kept;
use super::suppress::{Suppressions, Use};
use super::{Finding, FindingKind, sarif};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

/// Numbers of findings by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<FindingKind, usize>);

impl Counts {
    /// Adds `count` findings of a kind.
    pub fn add(&mut self, kind: FindingKind, count: usize) {
        *self.0.entry(kind).or_default() += count;
    }

    /// Adds the counts of another report.
    pub fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|(kind, count)| self.add(*kind, *count));
    }

    /// Returns the number of findings of all kinds.
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }
}

/// `3 findings: 2 x race, 1 x out of bounds`.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        write!(f, "{total} finding{}", if total == 1 { "" } else { "s" })?;
        for (at, (kind, count)) in self.0.iter().enumerate() {
            write!(f, "{} {count} x {kind}", if at == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

/// What a report's file says, and the JSON format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The program.
    pub program: String,
    /// Number of findings by kind, including those that are not listed because similar ones are.
    pub counts: Counts,
    /// The same by kernel.
    pub kernels: Vec<OfKernel>,
    /// The findings, in order of discovery.
    pub findings: Vec<Finding>,
    /// The suppressions with the number of findings that each covered.
    pub suppressions: Vec<Use>,
}

/// The number of findings of a kind in a kernel or a host operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfKernel {
    /// The kind.
    pub kind: FindingKind,
    /// The kernel, or the host operation.
    pub kernel: String,
    /// The number of findings.
    pub count: usize,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One line per finding, then the numbers.
    Text,
    /// [`Report`].
    Json,
    /// SARIF 2.1.0, which code hosts and editors show at the lines of the source.
    Sarif,
}

impl Format {
    /// Returns the format that the name of a file ends with: `.txt`, `.json` or `.sarif`.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Self::Text),
            "json" => Some(Self::Json),
            "sarif" => Some(Self::Sarif),
            _ => None,
        }
    }
}

impl Report {
    /// Returns the report in a format.
    pub fn to_text(&self, format: Format) -> String {
        match format {
            Format::Text => self.lines(),
            Format::Json => serde_json::to_string_pretty(self).unwrap_or_default() + "\n",
            Format::Sarif => format!("{:#}\n", sarif::of(self)),
        }
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{finding}");
        }
        for used in self.suppressions.iter().filter(|used| used.count > 0) {
            let _ = writeln!(text, "suppressed {} by line {}: {}", used.count, used.line, used.text);
        }
        let _ = writeln!(text, "{}: {}", self.program, self.counts);
        text
    }
}

/// Writes a text to a file so that a reader never sees a part of it.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    if path.exists() && !path.is_file() {
        // A pipe or a terminal.
        return std::fs::write(path, text);
    }
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", process::id()));
    std::fs::write(&part, text)?;
    std::fs::rename(&part, path)
}

/// Returns the path of a report: in `name`, `%p` stands for the number of this process and `%v` for
/// the vendor.
pub fn path(name: &str, vendor: &str) -> PathBuf {
    PathBuf::from(name.replace("%p", &process::id().to_string()).replace("%v", vendor))
}

/// The report's file of a process.
#[derive(Debug)]
pub struct ReportFile {
    name: String,
    vendor: String,
    format: Format,
    log: Mutex<Kept>,
    behind: AtomicBool,
    /// Held while the file is written, so that an older text does not replace a newer one.
    place: Mutex<Place>,
}

/// Where a report is written.
#[derive(Debug)]
struct Place {
    /// `None` in a forked process whose parent writes the file of that name.
    path: Option<PathBuf>,
    /// Whether the file was written. A forked process has none before its first finding.
    begun: bool,
    /// A failure is reported once.
    failed: bool,
}

/// What was written to a report's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Number of findings in it by kind.
    pub counts: Counts,
}

impl ReportFile {
    /// Creates a file for the findings of this process. In `path`, `%p` stands for the number of
    /// the process and `%v` for the vendor. Returns `None` if the path ends in no known format.
    pub fn new(path: &str, vendor: &str) -> Option<Self> {
        let (name, vendor) = (path.to_owned(), vendor.to_owned());
        let path = self::path(&name, &vendor);
        let format = Format::of(&path)?;
        let place = Mutex::new(Place { path: Some(path), begun: false, failed: false });
        Some(Self { name, vendor, format, log: Mutex::default(), behind: AtomicBool::new(false), place })
    }

    /// Begins the file of a forked process. It is another one if the name has the number of the
    /// process, and otherwise none, because the parent replaces that file.
    pub(super) fn fork(&self) {
        let path = self.name.contains("%p").then(|| path(&self.name, &self.vendor));
        *self.log.lock() = Kept::default();
        self.behind.store(false, Ordering::Release);
        *self.place.lock() = Place { path, begun: false, failed: false };
    }

    pub(super) fn add(&self, finding: Finding) {
        self.log.lock().add(finding);
        self.fall_behind();
    }

    /// Says that the file lacks something.
    pub(super) fn fall_behind(&self) {
        self.behind.store(true, Ordering::Release);
    }

    /// Whether the file lacks a finding, or the use of a suppression.
    pub(super) fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Acquire)
    }

    /// Writes the file for the last time, unless it is that of a forked process without findings.
    pub(super) fn finish(&self, suppressions: &Suppressions) -> Option<Written> {
        let begun = self.place.lock().begun;
        if begun || self.is_behind() { self.save(suppressions) } else { None }
    }

    /// Writes the file if there is one.
    pub(super) fn save(&self, suppressions: &Suppressions) -> Option<Written> {
        let mut place = self.place.lock();
        let path = place.path.clone()?;
        self.behind.store(false, Ordering::Release);
        let log = self.log.lock().clone();
        let program = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
        let counts = log.counts();
        let report = Report {
            program,
            counts: counts.clone(),
            kernels: log.of_kernels(),
            findings: log.into_findings(),
            suppressions: suppressions.uses(),
        };
        if let Err(error) = replace(&path, &report.to_text(self.format))
            && !std::mem::replace(&mut place.failed, true)
        {
            eprintln!("simulated GPU: the findings cannot be written to {}: {error}", path.display());
        }
        place.begun = true;
        Some(Written { path, counts })
    }
}
