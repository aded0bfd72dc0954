//! The output of `--against`: the counts, then the cells that differ with the first case that shows
//! it, then the verdict.

use super::diff::{Change, Device, Key, Kind, Presence};
use super::{Comparison, Verdict};
use crate::cli::select;
use isobit_conformance::report::matrix::State;
use isobit_conformance::report::terminal::{Style, View, paint, plain};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A changed recipe changes many cells: without `--verbose`, at most this number of each kind is
/// listed.
const MOST: usize = 8;

/// The folder for the report of a repeated cell, beside the report of the whole run.
const RERUN: &str = "target/conformance-rerun";

/// Returns the summary.
pub fn text(found: &Comparison, view: View) -> String {
    let mut out = String::new();
    let numerics = |version: Option<u32>| version.map_or("not recorded".to_string(), |v| v.to_string());
    let known = |commit: &str| if commit.is_empty() { "unknown".to_string() } else { commit.to_string() };
    let [old, new] = [&found.old, &found.new];
    let title = paint(&format!("{} against {}", new.label, old.label), Style::Bold, view.color);
    let _ = writeln!(out, "{title}");
    let _ = writeln!(out, "commit {} after {}", known(&new.build.git), known(&old.build.git));
    let versions = [old, new].map(|side| numerics(side.build.numerics_version));
    let _ = match versions[0] == versions[1] {
        true => writeln!(out, "numerics version {}", versions[0]),
        false => writeln!(out, "numerics version {} after {}", versions[1], versions[0]),
    };
    let _ = match old.cases == new.cases {
        true => writeln!(out, "seed {}, {} cases per cell", found.seed, old.cases),
        false => writeln!(
            out,
            "seed {}; {} cases per cell after {}; the first {} are compared",
            found.seed,
            new.cases,
            old.cases,
            new.cases.min(old.cases)
        ),
    };
    let _ = writeln!(out, "\n{}", table(found, view));
    for kind in Kind::ALL {
        cells(&mut out, found, kind, view);
    }
    let _ = writeln!(out, "\n{}", verdict(found, view));
    out
}

fn heading(kind: Kind) -> &'static str {
    match kind {
        Kind::Results => "results changed",
        Kind::Lost => "lost",
        Kind::Cases => "cases changed",
        Kind::Vendor => "vendor results changed",
        Kind::Added => "added",
    }
}

/// Returns a table with one line per device: the number of cells for each kind of difference.
fn table(found: &Comparison, view: View) -> String {
    let columns = ["compared", "same", "results\nchanged", "lost", "cases\nchanged", "vendor\nchanged", "added"];
    let row = |d: &Device| {
        let [results, lost, cases, vendor, added] = Kind::ALL.map(|kind| d.count(kind));
        (d.id.clone(), [d.compared, d.same, results, lost, cases, vendor, added])
    };
    plain(columns, found.devices.iter().map(row), view)
}

/// A cell that differs, with the devices on which it does.
struct Named<'a> {
    change: &'a Change,
    devices: Vec<&'a str>,
}

/// Returns the cells with this kind of difference, each once for all devices, with the earliest
/// differing case of any device.
fn named(devices: &[Device], kind: Kind) -> Vec<Named<'_>> {
    let mut cells: BTreeMap<&Key, Named<'_>> = BTreeMap::new();
    for device in devices.iter().filter(|d| d.presence == Presence::Both) {
        for change in device.changes.iter().filter(|c| c.kind == kind) {
            let cell = cells.entry(&change.cell).or_insert(Named { change, devices: Vec::new() });
            if change.first < cell.change.first {
                cell.change = change;
                cell.devices.insert(0, &device.id);
            } else {
                cell.devices.push(&device.id);
            }
        }
    }
    cells.into_values().collect()
}

fn cells(out: &mut String, found: &Comparison, kind: Kind, view: View) {
    let whole = |d: &&Device| match kind {
        Kind::Lost => d.presence == Presence::Earlier,
        Kind::Added => d.presence == Presence::Later,
        _ => false,
    };
    let cells = named(&found.devices, kind);
    let devices: Vec<&Device> = found.devices.iter().filter(whole).collect();
    if cells.is_empty() && devices.is_empty() {
        return;
    }
    let outside = if kind == Kind::Vendor { " (no numerics version promises them)" } else { "" };
    let _ = writeln!(out, "\n{}{outside}:", paint(heading(kind), Style::Bold, view.color));
    for device in devices {
        let who = if kind == Kind::Lost { "later" } else { "earlier" };
        let _ = writeln!(out, "  all {} cells of {}, which the {who} run does not have", device.count(kind), device.id);
    }
    let most = if view.verbose { cells.len() } else { MOST };
    for Named { change, devices } in cells.iter().take(most) {
        let Key { op, dtypes, numerics } = &change.cell;
        let who = numerics.map(|n| format!(" {n}")).unwrap_or_default();
        let _ = write!(out, "  {op} {dtypes}{who} on {}", devices.join(", "));
        if change.cases == 0 {
            let _ = writeln!(out);
            continue;
        }
        let cases = if change.cases == 1 { "1 case".to_string() } else { format!("{} cases", change.cases) };
        let _ = writeln!(out, ": {cases}, the first at index {}", change.first);
        if matches!(kind, Kind::Results | Kind::Vendor) {
            let cell = (op.as_str(), dtypes.as_str(), *numerics);
            let rerun = select::rerun(devices[0], cell, found.seed, change.first as u64);
            let _ = writeln!(out, "    {rerun} --against {} --out {RERUN}", found.old.path);
        }
    }
    if let Some(more) = cells.len().checked_sub(most).filter(|&n| n > 0) {
        let _ = writeln!(out, "  and {more} more cells, shown with --verbose");
    }
}

/// Returns the verdict as one line.
fn verdict(found: &Comparison, view: View) -> String {
    let count = |kind| found.devices.iter().map(|d| d.count(kind)).sum::<usize>();
    let counted = |kind| match count(kind) {
        0 => None,
        n => Some(format!("{n} {}", heading(kind))),
    };
    let said = |kinds: &[Kind]| kinds.iter().filter_map(|&k| counted(k)).collect::<Vec<_>>().join(", ");
    let (word, state) = match found.verdict() {
        Verdict::Same => ("same", State::Exact),
        Verdict::Announced => ("announced", State::ExpectedFailure),
        Verdict::Different => ("DIFFERENT", State::Fail),
    };
    let cells: usize = found.devices.iter().map(|d| d.same).sum();
    let mut parts = vec![format!("{cells} cells with the same bits")];
    parts.extend([said(&Kind::ALL)].into_iter().filter(|s| !s.is_empty()));
    let announced = match (count(Kind::Results), found.announces()) {
        (0, _) => "",
        (_, true) => "; the numerics version announces the changed results",
        (_, false) => "; no numerics version announces the changed results",
    };
    format!("{}  {}{announced}", paint(word, Style::State(state), view.color), parts.join(", "))
}
