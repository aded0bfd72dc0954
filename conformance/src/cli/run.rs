//! A run, from the arguments to the report.

use super::against::Earlier;
use super::args::Args;
use super::execute::Selected;
use super::fail_fast::FailFast;
use super::merge_runs::{self, Run};
use super::{build, execute, huge, save, select};
use anyhow::{Context, Result, bail};
use isobit_conformance::report::terminal::{View, terminal};
use isobit_conformance::report::{self, DeviceRow, Finding, Memory, NotRun, Report, ResultRow, SCHEMA};
use isobit_conformance::run::{CellRun, DeviceDigests, Digests, Options};
use isobit_conformance::runtime_tests::GroupRun;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::Instant;

/// The results collected so far.
#[derive(Default)]
pub struct Found {
    pub devices: Vec<DeviceRow>,
    pub not_run: Vec<NotRun>,
    pub rows: Vec<ResultRow>,
    pub memory: Memory,
    pub findings: Vec<Finding>,
    /// The digests of the devices that ran.
    pub digests: Vec<DeviceDigests>,
}

impl Found {
    /// Adds the cell results of a device, and saves its failures to files.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn keep(&mut self, args: &Args, device: DeviceRow, runs: Vec<CellRun>) -> Result<()> {
        let mut cells = Vec::with_capacity(runs.len());
        for mut run in runs {
            save::failure(&args.out, &mut run)?;
            self.memory.add(&run.memory);
            self.rows.push(run.row);
            self.findings.extend(run.findings);
            cells.push(run.digests);
        }
        self.devices.push(device.clone());
        self.digests.push(DeviceDigests { device, cells });
        Ok(())
    }

    /// Adds the group results of a device.
    pub fn keep_groups(&mut self, runs: Vec<GroupRun>) {
        for run in runs {
            self.memory.add(&run.memory);
            self.rows.push(run.row);
            self.findings.extend(run.findings);
        }
    }

    /// Adds a finding that belongs to no cell.
    pub fn found(&mut self, finding: Finding) {
        if let Some(count) = self.memory.count_mut(&finding.kind) {
            *count += 1;
        }
        self.findings.push(finding);
    }
}

/// Runs, writes the report and prints it. Returns true if everything passed.
pub fn main(args: &Args) -> Result<bool> {
    let started = Instant::now();
    let (mut cells, mut groups) = if args.huge { Default::default() } else { select::all(args)? };
    let mut options = Options { variant_cases: args.variant_count(), ..Options::new(args.seed, args.case_count()) };
    let mut asked = args.devices.clone();
    if let Some(file) = &args.replay {
        let failures = save::load(file)?;
        if asked.is_empty() {
            asked = failures.iter().map(|f| f.device.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        }
        options.first = isobit_conformance::regress::cases(failures);
        options.replay_only = true;
        groups.clear();
        cells.retain(|cell| options.first.iter().any(|c| c.cell() == Some(cell)));
        if cells.is_empty() {
            bail!("{} contains no case whose cell exists in this version and passes the filters", file.display());
        }
    } else {
        options.first = save::regressions(&args.out)?;
    }
    let earlier = args.against.first().map(|path| Earlier::read(path)).transpose()?;
    if let Some(earlier) = &earlier {
        earlier.admits(args, &cells)?;
    }
    let mut runs = args.compare.iter().map(|path| Run::read(path)).collect::<Result<Vec<_>>>()?;
    let joined_alone = !runs.is_empty() && asked.is_empty();
    if joined_alone && runs.len() == 1 {
        bail!("--compare has only one run: give a second one, or devices to run with --devices");
    }

    let mut found = Found::default();
    let mut against = None;
    if !joined_alone {
        let fast = FailFast::new(args.fail_fast);
        options.fail_fast = args.fail_fast;
        match args.huge {
            true => huge::run_devices(args, &asked, &fast, &mut found)?,
            false => {
                let selected = Selected { cells: &cells, groups: &groups, fast: &fast };
                execute::run_devices(args, &asked, &selected, &options, &mut found)?;
            }
        }
        let devices = std::mem::take(&mut found.digests);
        let digests =
            Digests { schema: SCHEMA, seed: options.seed, cases: options.cases, build: build::info(), devices };
        if !options.replay_only && !args.huge {
            let path = args.out.join(Digests::FILE);
            std::fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
            digests.write(&path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        against = earlier.map(|earlier| earlier.with(args, &digests, "this run", &cells));
        runs.insert(0, Run::here(digests));
    }
    // The first of the joined runs supplies the values that all share.
    let of = &runs[0].digests;
    let (seed, cases, build) = (of.seed, runs.iter().map(|r| r.digests.cases).min().unwrap_or(0), of.build.clone());
    merge_runs::join(runs, &cells, &groups, &mut found)?;

    let Found { devices, not_run, rows, memory, findings, .. } = found;
    let report = Report::assemble(seed, cases, build, devices, not_run, rows, memory, findings, started.elapsed());
    if report.totals.executed == 0 {
        bail!("nothing ran: the present devices support no cell that passes the filters");
    }
    let written = report::write(&report, &args.out)?;
    let view = View { color: std::io::stdout().is_terminal(), verbose: args.verbose };
    print!("{}", terminal(&report, Some(&written), view));
    let unchanged = match against {
        Some(compared) => {
            println!();
            compared?.show(args.verbose)
        }
        None => true,
    };
    Ok(report.passed() && unchanged)
}
