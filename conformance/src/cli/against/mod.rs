//! `--against`: the digests of two builds for one seed. What a build changed in the bits of results
//! is found here, and what it lost.

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
    /// What a person calls it.
    label: String,
    /// The path as an argument, for commands.
    path: String,
    build: Build,
    cases: u64,
}

/// What the comparison found.
#[derive(Debug)]
pub struct Comparison {
    old: Side,
    new: Side,
    seed: u64,
    devices: Vec<Device>,
}

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// No result changed, nothing was lost, and every case is the one it was.
    Same,
    /// Results changed, and the versions of the numerics say so.
    Announced,
    /// Anything else.
    Different,
}

impl Comparison {
    /// True where both builds know their version of the numerics, and it is not the same.
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

    /// Prints it; true where nothing differs that was not announced.
    pub fn show(&self, verbose: bool) -> bool {
        let view = View { color: std::io::stdout().is_terminal(), verbose };
        print!("{}", show::text(self, view));
        self.verdict() != Verdict::Different
    }
}

/// The earlier run that this one is compared with, read before anything runs: the later run may
/// write over its file.
#[derive(Debug)]
pub struct Earlier {
    side: Side,
    file: PathBuf,
    digests: Digests,
}

impl Earlier {
    /// The run of a folder, or of a file of digests.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let digests = read_digests(path)?;
        let label = path.display().to_string();
        let side = Side { label, path: quoted(path), build: digests.build.clone(), cases: digests.cases };
        Ok(Self { side, file: digests_of(path), digests })
    }

    /// Refuses what a run that is about to start could not be compared with: another seed, and the
    /// digests that it would write over.
    ///
    /// # Errors
    /// The seeds differ; the earlier run lies where this one goes.
    pub fn admits(&self, args: &Args, cells: &[&Cell]) -> Result<()> {
        self.is_of(args.seed)?;
        let place = |path: &Path| path.canonicalize().ok();
        let here = place(&args.out.join(Digests::FILE));
        if here.is_some() && here == place(&self.file) {
            bail!(
                "this run would write over {}, with which it is to be compared: --out names another folder",
                self.side.label
            );
        }
        if cells.is_empty() {
            bail!(
                "--against compares cells, and the filters leave none: groups of what surrounds the operations have no digests"
            );
        }
        Ok(())
    }

    /// Refuses a run of another seed, in which no case is the same.
    ///
    /// # Errors
    /// The seeds differ.
    fn is_of(&self, seed: u64) -> Result<()> {
        match self.digests.seed == seed {
            true => Ok(()),
            false => bail!(
                "{} is of seed {}, and the other run of seed {seed}: no case of the two is the same",
                self.side.label,
                self.digests.seed
            ),
        }
    }

    /// Compares it with a later run, as far as the filters go.
    ///
    /// # Errors
    /// Nothing is left to compare.
    pub fn with(self, args: &Args, new: &Digests, label: &str, cells: &[&Cell]) -> Result<Comparison> {
        let Earlier { side: old, digests, .. } = self;
        let asked = args.devices.iter().map(|id| devices::canonical(id)).collect::<Result<HashSet<_>>>()?;
        let wanted = Wanted::new(args, cells);
        let device = |id: &str| asked.is_empty() || asked.contains(id);
        let devices = diff::devices(&digests, new, device, |key| wanted.has(key));
        if devices.iter().all(|d| d.compared == 0) {
            let ids = |run: &Digests| run.devices.iter().map(|d| d.device.id.as_str()).collect::<Vec<_>>().join(", ");
            bail!(
                "no cell of a device that both runs have is left to compare: {} has {}, {label} has {}",
                old.label,
                ids(&digests),
                ids(new)
            );
        }
        let new = Side { label: label.into(), path: String::new(), build: new.build.clone(), cases: new.cases };
        Ok(Comparison { old, new, seed: digests.seed, devices })
    }
}

/// The cells that the filters let through, those included that only the other build has.
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

/// Two runs that are there already: nothing runs. True where nothing differs that was not
/// announced.
///
/// # Errors
/// One of them cannot be read; they are of other seeds; the filters leave nothing.
pub fn folders(args: &Args, old: &Path, new: &Path) -> Result<bool> {
    let cells = select::cells(args)?;
    let (old, digests) = (Earlier::read(old)?, read_digests(new)?);
    old.is_of(digests.seed)?;
    Ok(old.with(args, &digests, &new.display().to_string(), &cells)?.show(args.verbose))
}
