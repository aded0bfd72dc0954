//! The bits of a short run on the CPU, committed in `digests.tsv`: an unannounced change of a
//! result fails here.
//!
//! A change of bits requires raising `NUMERICS_VERSION`, an entry in the CHANGELOG, and rewriting
//! the file with `ISOBIT_BLESS=1`, which refuses changed results of unchanged cases under the
//! version that the file already has.

use isobit_conformance::cells::Cell;
use isobit_conformance::report::Class;
use isobit_conformance::run::{Options, Reference, run_cell};
use isobit_hal::Numerics;
use isobit_hal::{CpuDevice, NUMERICS_VERSION};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const SEED: u64 = 0;
/// Enough for every kind of layout and an in-place call.
const CASES: u64 = 8;
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/digests.tsv");
const CHANGELOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../CHANGELOG.md");
const COLUMNS: &str = "op\tdtypes\tnumerics\tcases\tresults";
const VERSION: &str = "numerics version ";
/// Stands for the results of a vendor's library, which no numerics version covers.
const VENDOR: &str = "-";

/// The inputs and the results of a cell, each as a hash over the digests of all its cases.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hashes {
    cases: String,
    results: String,
}

/// The committed file, or the run that is compared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Digests {
    version: u32,
    /// Each cell's operation, dtypes and numerics, in the order of reports.
    cells: Vec<(String, Hashes)>,
}

impl Digests {
    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default();
        let version = head.strip_prefix(VERSION).and_then(|rest| rest.split(',').next()?.parse().ok());
        let version = version.ok_or(format!("`{head}` does not begin with `{VERSION}` and a number"))?;
        let cell = |line: &str| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [op, dtypes, numerics, cases, results] = columns[..] else {
                return Err(format!("`{line}` has {} columns instead of five", columns.len()));
            };
            let hashes = Hashes { cases: cases.into(), results: results.into() };
            Ok((format!("{op}\t{dtypes}\t{numerics}"), hashes))
        };
        Ok(Self { version, cells: lines.skip(1).map(cell).collect::<Result<_, _>>()? })
    }

    fn text(&self) -> String {
        let head = format!("{VERSION}{}, seed {SEED}, {CASES} cases a cell\n{COLUMNS}\n", self.version);
        let line = |(name, hashes): &(String, Hashes)| format!("{name}\t{}\t{}\n", hashes.cases, hashes.results);
        head + &self.cells.iter().map(line).collect::<String>()
    }

    /// Runs the short run.
    fn run() -> Self {
        let (cells, next, done) = (Cell::all(), AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let options = Options { reference: Reference::Itself, ..Options::new(SEED, CASES) };
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(cell) = cells.get(at) else { break };
                let digests = run_cell(&CpuDevice, "cpu", cell, &options, |_| {}).digests;
                assert_eq!(digests.digests.len() as u64, CASES, "{cell}");
                let vendor = cell.class() == Class::Vendor;
                let results = if vendor { VENDOR.into() } else { hash(&digests.digests) };
                let hashes = Hashes { cases: hash(&digests.cases), results };
                done.lock().unwrap().insert(at, (name(cell), hashes));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
                scope.spawn(work);
            }
        });
        Self { version: NUMERICS_VERSION, cells: done.into_inner().unwrap().into_values().collect() }
    }
}

fn name(cell: &Cell) -> String {
    let numerics = cell.numerics.map_or("-", Numerics::name);
    format!("{}\t{}\t{numerics}", cell.operation.name(), cell.label())
}

fn hash(digests: &[String]) -> String {
    blake3::hash(digests.join("\n").as_bytes()).to_hex()[..16].to_string()
}

/// The differences between a run and the committed file, by the names of cells.
#[derive(Debug, Default, PartialEq, Eq)]
struct Differences {
    added: Vec<String>,
    lost: Vec<String>,
    /// Cells whose inputs changed, so their results cannot be compared.
    cases: Vec<String>,
    /// Cells with the same inputs but other results.
    results: Vec<String>,
}

impl Differences {
    fn between(committed: &Digests, run: &Digests) -> Self {
        let of = |digests: &Digests| digests.cells.iter().cloned().collect::<BTreeMap<_, _>>();
        let (old, new) = (of(committed), of(run));
        let missing = |from: &BTreeMap<String, Hashes>, name: &String| !from.contains_key(name);
        let mut found = Self {
            added: new.keys().filter(|name| missing(&old, name)).cloned().collect(),
            lost: old.keys().filter(|name| missing(&new, name)).cloned().collect(),
            ..Self::default()
        };
        for (name, now) in new {
            match old.get(&name) {
                Some(then) if then.cases != now.cases => found.cases.push(name),
                Some(then) if then.results != now.results => found.results.push(name),
                _ => {}
            }
        }
        found
    }

    fn describe(&self) -> String {
        let kinds = [
            ("results changed", &self.results),
            ("cases changed", &self.cases),
            ("cells lost", &self.lost),
            ("cells added", &self.added),
        ];
        let shown = |(kind, names): (&str, &Vec<String>)| {
            let first = names.iter().take(8).map(|name| name.replace('\t', " ")).collect::<Vec<_>>().join("; ");
            let more = if names.len() > 8 { "; and others" } else { "" };
            (!names.is_empty()).then(|| format!("{} {kind}: {first}{more}\n", names.len()))
        };
        kinds.into_iter().filter_map(shown).collect()
    }
}

/// Compares a run with the committed file.
fn check(committed: &Digests, run: &Digests) -> Result<(), String> {
    let found = Differences::between(committed, run);
    let what = found.describe();
    if !found.results.is_empty() && committed.version == run.version {
        return Err(format!(
            "bits changed unannounced\n{what}numerics version {} promises the old ones. If the change is intended: raise NUMERICS_VERSION in \
             hal/src/lib.rs, say in the CHANGELOG what changed, and run this test with ISOBIT_BLESS=1",
            run.version
        ));
    }
    if found != Differences::default() || committed.version != run.version {
        return Err(format!(
            "{what}digests.tsv has numerics version {}, but this run has {}: review the difference; ISOBIT_BLESS=1 rewrites the file",
            committed.version, run.version
        ));
    }
    Ok(())
}

/// Returns the new file, if no promise of the old one is broken.
fn bless(committed: &Digests, run: &Digests) -> Result<String, String> {
    if run.version < committed.version {
        return Err(format!(
            "NUMERICS_VERSION only rises, but it was {} and now is {}",
            committed.version, run.version
        ));
    }
    let results_changed = !Differences::between(committed, run).results.is_empty();
    if results_changed && committed.version == run.version {
        return check(committed, run).map(|()| run.text());
    }
    Ok(run.text())
}

#[test]
fn no_bit_changes_unannounced() {
    let committed = match std::fs::read_to_string(PATH) {
        Ok(text) => Digests::parse(&text).unwrap(),
        Err(e) => panic!("cannot read {PATH}: {e}"),
    };
    let run = Digests::run();
    if std::env::var_os("ISOBIT_BLESS").is_some() {
        std::fs::write(PATH, bless(&committed, &run).unwrap_or_else(|e| panic!("{e}"))).unwrap();
    } else if let Err(e) = check(&committed, &run) {
        panic!("{e}");
    }
}

#[test]
fn the_changelog_names_the_numerics_version() {
    let text = std::fs::read_to_string(CHANGELOG).unwrap();
    let line = format!("`NUMERICS_VERSION` {NUMERICS_VERSION}:");
    assert!(text.contains(&line), "CHANGELOG.md has no line with `{line}` that says which bits changed");
}

/// Digests of made-up cells, given as name, cases and results.
fn digests(version: u32, cells: &[[&str; 3]]) -> Digests {
    let cell = |[name, cases, results]: &[&str; 3]| {
        (format!("{name}\tf32\t-"), Hashes { cases: cases.to_string(), results: results.to_string() })
    };
    Digests { version, cells: cells.iter().map(cell).collect() }
}

#[test]
fn a_changed_result_is_blessed_under_a_raised_version_alone() {
    let committed = digests(3, &[["exp", "c", "1"], ["log", "c", "2"]]);
    let same = check(&committed, &committed);
    assert_eq!(same, Ok(()));
    let changed = digests(3, &[["exp", "c", "1"], ["log", "c", "other"]]);
    for refused in [check(&committed, &changed).unwrap_err(), bless(&committed, &changed).unwrap_err()] {
        assert!(refused.contains("unannounced") && refused.contains("1 results changed: log f32 -"), "{refused}");
    }
    let announced = Digests { version: 4, ..changed };
    assert!(check(&committed, &announced).unwrap_err().contains("ISOBIT_BLESS=1 rewrites"));
    let text = bless(&committed, &announced).unwrap();
    assert_eq!(Digests::parse(&text), Ok(announced.clone()));
    assert!(bless(&announced, &committed).unwrap_err().contains("only rises"));
}

#[test]
fn other_cells_and_cases_are_blessed_and_do_not_hide_a_changed_result() {
    let committed = digests(3, &[["exp", "c", "1"], ["log", "c", "2"], ["sin", "c", "3"]]);
    let moved = digests(3, &[["exp", "other", "9"], ["log", "c", "2"], ["cos", "c", "4"]]);
    let found = check(&committed, &moved).unwrap_err();
    for part in ["1 cases changed: exp", "1 cells lost: sin", "1 cells added: cos", "review"] {
        assert!(found.contains(part), "{found}");
    }
    assert_eq!(bless(&committed, &moved), Ok(moved.text()));
    let hidden = digests(3, &[["exp", "other", "9"], ["log", "c", "5"], ["cos", "c", "4"]]);
    assert!(bless(&committed, &hidden).unwrap_err().contains("results changed: log"));
}
