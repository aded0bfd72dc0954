//! `--against`: compares the digests of two builds for one seed. It finds which result bits changed
//! and which cells were lost.

mod diff;
mod show;

use super::args::Args;
use super::merge_runs::{digests_of, read_digests};
use super::save::quoted;
use super::{devices, select};
use anyhow::{Result, bail};
use diff::{Device, Key, Kind};
use isobit_conformance::cells::Cell;
use isobit_conformance::report::Build;
use isobit_conformance::report::terminal::View;
use isobit_conformance::run::Digests;
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// One of the two runs.
#[derive(Debug)]
pub struct Side {
    /// The name shown to the user.
    label: String,
    /// The path as a command-line argument.
    path: String,
    build: Build,
    cases: u64,
}

/// The result of the comparison.
#[derive(Debug)]
pub struct Comparison {
    old: Side,
    new: Side,
    seed: u64,
    devices: Vec<Device>,
}

/// The verdict of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// No result changed, no cell was lost, and every case is the same.
    Same,
    /// Results changed, and the numerics version changed too.
    Announced,
    /// Anything else.
    Different,
}

impl Comparison {
    /// Whether both builds record their numerics version and the versions differ.
    fn announces(&self) -> bool {
        let versions = [&self.old, &self.new].map(|side| side.build.numerics_version);
        versions.iter().all(Option::is_some) && versions[0] != versions[1]
    }

    fn verdict(&self) -> Verdict {
        let any = |kind| self.devices.iter().any(|d| d.count(kind) > 0);
        match any(Kind::Results) {
            _ if any(Kind::Lost) || any(Kind::Cases) => Verdict::Different,
            true if self.announces() => Verdict::Announced,
            true => Verdict::Different,
            false => Verdict::Same,
        }
    }

    /// Prints the comparison. Returns true if nothing differs that was not announced.
    pub fn show(&self, verbose: bool) -> bool {
        let view = View { color: std::io::stdout().is_terminal(), verbose };
        print!("{}", show::text(self, view));
        self.verdict() != Verdict::Different
    }
}

/// The earlier run with which this one is compared. It is read before anything runs, because the
/// later run may overwrite its file.
#[derive(Debug)]
pub struct Earlier {
    side: Side,
    file: PathBuf,
    digests: Digests,
}

impl Earlier {
    /// Reads the run from a folder or from a file of digests.
    ///
    /// # Errors
    /// Fails if the run cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let digests = read_digests(path)?;
        let label = path.display().to_string();
        let side = Side { label, path: quoted(path), build: digests.build.clone(), cases: digests.cases };
        Ok(Self { side, file: digests_of(path), digests })
    }

    /// Refuses a comparison that cannot work, before the run starts: another seed, or digests that
    /// the run would overwrite.
    ///
    /// # Errors
    /// Fails if the seeds differ, if the run would overwrite the earlier one, or if no cell is
    /// selected.
    pub fn admits(&self, args: &Args, cells: &[&Cell]) -> Result<()> {
        self.is_of(args.seed)?;
        let place = |path: &Path| path.canonicalize().ok();
        let here = place(&args.out.join(Digests::FILE));
        if here.is_some() && here == place(&self.file) {
            bail!(
                "this run would overwrite {}, with which it is to be compared: choose another folder with --out",
                self.side.label
            );
        }
        if cells.is_empty() {
            bail!("--against compares cells, but the filters select none: groups have no digests");
        }
        Ok(())
    }

    /// Refuses a run of another seed, in which no case is the same.
    ///
    /// # Errors
    /// Fails if the seeds differ.
    fn is_of(&self, seed: u64) -> Result<()> {
        match self.digests.seed == seed {
            true => Ok(()),
            false => bail!(
                "{} has seed {}, but the other run has seed {seed}: they have no case in common",
                self.side.label,
                self.digests.seed
            ),
        }
    }

    /// Compares it with a later run, for the devices and cells that pass the filters.
    ///
    /// # Errors
    /// Fails if nothing is left to compare.
    pub fn with(self, args: &Args, new: &Digests, label: &str, cells: &[&Cell]) -> Result<Comparison> {
        let Earlier { side: old, digests, .. } = self;
        let asked = args.devices.iter().map(|id| devices::canonical(id)).collect::<Result<HashSet<_>>>()?;
        let wanted = Wanted::new(args, cells);
        let device = |id: &str| asked.is_empty() || asked.contains(id);
        let devices = diff::devices(&digests, new, device, |key| wanted.has(key));
        if devices.iter().all(|d| d.compared == 0) {
            let ids = |run: &Digests| run.devices.iter().map(|d| d.device.id.as_str()).collect::<Vec<_>>().join(", ");
            bail!(
                "nothing to compare: no selected cell ran on the same device in both runs; {} has {}, {label} has {}",
                old.label,
                ids(&digests),
                ids(new)
            );
        }
        let new = Side { label: label.into(), path: String::new(), build: new.build.clone(), cases: new.cases };
        Ok(Comparison { old, new, seed: digests.seed, devices })
    }
}

/// The cells that pass the filters, including those that only the other build has.
struct Wanted<'a> {
    args: &'a Args,
    known: HashSet<Key>,
    selected: HashSet<Key>,
}

impl<'a> Wanted<'a> {
    fn new(args: &'a Args, cells: &[&Cell]) -> Self {
        let key = |c: &Cell| Key { op: c.operation.name().into(), dtypes: c.label(), numerics: c.numerics };
        let known = Cell::all().iter().map(key).collect();
        Self { args, known, selected: cells.iter().map(|c| key(c)).collect() }
    }

    fn has(&self, key: &Key) -> bool {
        if self.known.contains(key) {
            return self.selected.contains(key);
        }
        let Args { ops, dtypes, numerics, .. } = self.args;
        let names = |list: &[String], name: &str| list.iter().any(|n| n == name);
        (ops.is_empty() || names(ops, &key.op))
            && (dtypes.is_empty()
                || names(dtypes, &key.dtypes.replace(',', "-"))
                || key.dtypes.split(',').all(|d| names(dtypes, d)))
            && (numerics.is_empty() || key.numerics.is_none_or(|n| numerics.contains(&n)))
    }
}

/// Compares two existing runs; nothing runs. Returns true if nothing differs that was not
/// announced.
///
/// # Errors
/// Fails if a run cannot be read, the seeds differ, or the filters leave nothing to compare.
pub fn folders(args: &Args, old: &Path, new: &Path) -> Result<bool> {
    let cells = select::cells(args)?;
    let (old, digests) = (Earlier::read(old)?, read_digests(new)?);
    old.is_of(digests.seed)?;
    Ok(old.with(args, &digests, &new.display().to_string(), &cells)?.show(args.verbose))
}
