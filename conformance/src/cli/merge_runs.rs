//! Joins runs: puts the devices of this run and of earlier ones, also from other machines, into one
//! report with the pairs between them.

use super::digest_diff::{self, Side};
use super::run::Found;
use anyhow::{Context, Result, bail};
use isobit_conformance::cells::Cell;
use isobit_conformance::report::{Build, LAUNCHES, Report, ResultRow};
use isobit_conformance::run::Digests;
use isobit_conformance::runtime_tests::Group;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A run, as its machine wrote it.
#[derive(Debug)]
pub struct Run {
    /// A label that distinguishes its devices from devices of the same name in other runs.
    label: String,
    /// Its digests.
    pub digests: Digests,
    /// Its report, if one lies beside the digests.
    report: Option<Report>,
    /// Whether it is the run of this process, whose results are already collected.
    here: bool,
}

impl Run {
    /// Reads the run from a folder with a `digests.json`, or from a digests file.
    ///
    /// # Errors
    /// Fails if the run cannot be read or is something else.
    pub fn read(path: &Path) -> Result<Self> {
        let (file, digests) = (digests_of(path), read_digests(path)?);
        // The label of a folder is its name; the label of a renamed file is the file's name.
        let by_folder = file.file_name().is_some_and(|name| name == Digests::FILE);
        let folder = std::path::absolute(&file)?.parent().map(Path::to_path_buf).unwrap_or_default();
        let label = if by_folder { folder.file_name() } else { file.file_stem() };
        let label = label.unwrap_or_default().to_string_lossy().into_owned();
        let beside = folder.join("report.json");
        let report = match by_folder && beside.exists() {
            true => {
                let text = std::fs::read(&beside).with_context(|| format!("cannot read {}", beside.display()))?;
                let report = serde_json::from_slice(&text);
                Some(report.with_context(|| format!("{} is not a report of this version", beside.display()))?)
            }
            false => None,
        };
        Ok(Self { label, digests, report, here: false })
    }

    /// The run of this process.
    pub fn here(digests: Digests) -> Self {
        Self { label: "here".into(), digests, report: None, here: true }
    }

    /// Whether its devices were compared with a CPU value by value, and the report has those rows.
    fn has_rows(&self) -> bool {
        self.here || self.report.is_some()
    }
}

/// Returns the path of the digests in a run's folder, or the given file itself.
pub fn digests_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(Digests::FILE) } else { path.to_path_buf() }
}

/// Reads the digests of a folder, or of a file.
///
/// # Errors
/// Fails if they cannot be read or the file is something else.
pub fn read_digests(path: &Path) -> Result<Digests> {
    let file = digests_of(path);
    Digests::read(&file).with_context(|| format!("cannot read the digests {}", file.display()))
}

/// Adds to `found` the pairs of devices and, for the runs that were read, their devices and
/// reported results.
///
/// # Errors
/// Fails if the runs do not have the same cases and the same build.
pub fn join(runs: Vec<Run>, cells: &[&Cell], groups: &[Group], found: &mut Found) -> Result<()> {
    for other in &runs[1..] {
        comparable(&runs[0], other)?;
    }
    let ids = ids(&runs);
    for (run, ids) in runs.iter().zip(&ids).filter(|(run, _)| !run.here) {
        let name = |id: &str| {
            let at = run.digests.devices.iter().position(|d| d.device.id == id);
            at.map_or_else(|| id.to_string(), |at| ids[at].clone())
        };
        for device in &run.digests.devices {
            let mut row = device.device.clone();
            row.id = name(&row.id);
            found.devices.push(row);
        }
        if let Some(report) = &run.report {
            take(report, name, cells, groups, found);
        }
    }
    let ran: HashSet<&str> = found.devices.iter().map(|d| d.id.as_str()).collect();
    let mut seen = HashSet::new();
    found.not_run.retain(|n| !ran.contains(n.id.as_str()) && seen.insert(n.id.clone()));

    let sides: Vec<Side<'_>> = runs
        .iter()
        .enumerate()
        .flat_map(|(run, r)| r.digests.devices.iter().enumerate().map(move |(at, digests)| (run, at, digests)))
        .map(|(run, at, digests)| Side { id: &ids[run][at], run, digests })
        .collect();
    for (i, &subject) in sides.iter().enumerate() {
        for &other in &sides[..i] {
            let reversed = is_cpu(subject) && !is_cpu(other);
            let (subject, reference) = if reversed { (other, subject) } else { (subject, other) };
            if wanted(subject, reference, &runs) {
                found.rows.extend(digest_diff::rows(subject, reference, cells, runs[0].digests.seed)?);
            }
        }
    }
    Ok(())
}

fn is_cpu(side: Side<'_>) -> bool {
    side.digests.device.driver == "cpu"
}

/// Compares every two GPUs, and the CPUs of different runs. A GPU is compared with the CPU of its
/// own run, but only if that run has no rows of its own, which say more. It is compared with the
/// CPU of another run only if its own run has no CPU.
fn wanted(subject: Side<'_>, reference: Side<'_>, runs: &[Run]) -> bool {
    let own = &runs[subject.run];
    match (is_cpu(subject), is_cpu(reference)) {
        (false, false) | (true, true) => true,
        _ if subject.run == reference.run => !own.has_rows(),
        _ => own.digests.devices.iter().all(|d| d.device.driver != "cpu"),
    }
}

/// Returns the names of each run's devices in the joined report: the original name, with the run's
/// label appended if an earlier run has a device of that name.
fn ids(runs: &[Run]) -> Vec<Vec<String>> {
    let mut taken = HashSet::new();
    let mut unique = |id: &str, label: &str| {
        let labelled = format!("{id}@{label}");
        let numbered = (2..).map(|n| format!("{labelled}-{n}"));
        let mut names = [id.to_string(), labelled.clone()].into_iter().chain(numbered);
        names.find(|name| taken.insert(name.clone())).expect("there are more numbers than devices")
    };
    let of = |run: &Run, unique: &mut dyn FnMut(&str, &str) -> String| {
        run.digests.devices.iter().map(|d| unique(&d.device.id, &run.label)).collect()
    };
    runs.iter().map(|run| of(run, &mut unique)).collect()
}

/// Adds the rows that a run reported for the selected cells and groups, except those of pairs by
/// digest, which are computed again.
fn take(report: &Report, name: impl Fn(&str) -> String, cells: &[&Cell], groups: &[Group], found: &mut Found) {
    let selected = |row: &&ResultRow| {
        let same_op = |cell: &&&Cell| cell.operation.name() == row.op;
        match row.reference.as_str() {
            "cpu" if groups.iter().any(|g| g.name() == row.op) => true,
            "cpu" if row.op == LAUNCHES => !groups.is_empty(),
            "cpu" => cells.iter().filter(same_op).any(|c| c.label() == row.dtypes && c.numerics == row.numerics),
            "golden" | "exact" => cells.iter().any(|cell| same_op(&cell)),
            _ => false,
        }
    };
    found.rows.extend(report.results.iter().filter(selected).map(|row| {
        let reference = if row.reference == "cpu" { name("cpu") } else { row.reference.clone() };
        ResultRow { subject: name(&row.subject), reference, ..row.clone() }
    }));
    found.memory.add(&report.memory);
    let named = report.findings.iter().cloned().map(|mut finding| {
        finding.device = name(&finding.device);
        finding
    });
    found.findings.extend(named);
    found.not_run.extend(report.not_run.iter().cloned());
}

/// Refuses runs whose results need not agree.
fn comparable(a: &Run, b: &Run) -> Result<()> {
    let labels = format!("{} and {}", a.label, b.label);
    if a.digests.seed != b.digests.seed {
        bail!(
            "the runs {labels} have different seeds, {} and {}, so their cases differ",
            a.digests.seed,
            b.digests.seed
        );
    }
    let numerics = |b: &Build| b.numerics_version.map(|v| v.to_string()).unwrap_or_default();
    let parts = |b: &Build| [b.version.clone(), b.git.clone(), b.kernel_flags.clone(), numerics(b)];
    let pairs = parts(&a.digests.build).into_iter().zip(parts(&b.digests.build));
    for (what, (a, b)) in ["version", "commit", "kernel flags", "numerics version"].into_iter().zip(pairs) {
        // A build without kernels, or outside a checkout, leaves the field empty.
        if a != b && !a.is_empty() && !b.is_empty() {
            bail!("the runs {labels} are of different builds, whose results need not agree: {what} {a} and {b}");
        }
    }
    if a.digests.cases != b.digests.cases {
        eprintln!(
            "note: the runs {labels} have {} and {} cases per cell; only the cases that both ran are compared",
            a.digests.cases, b.digests.cases
        );
    }
    Ok(())
}
