//! `--matrix`: writes a Markdown table of what each device reports as supported.

use super::args::Args;
use super::{devices, process, select};
use anyhow::{Context, Result, bail};
use isobit::{AnyDevice, Numerics};
use isobit_conformance::cells::Cell;
use isobit_conformance::report::matrix::{family, split_dtypes};
use isobit_hal::{BackendDevice, DType};
use std::fmt::Write;
use std::path::Path;

const PATH: &str = "docs/support.md";
/// The default devices: the same on every machine.
const ASKED: [&str; 3] = ["cpu", "sim-cuda", "sim-rocm:gfx90a"];
const TITLE: &str = "# What each driver supports

Written by `cargo xtask conformance --matrix` from the answers of the devices to `supports`; `cargo xtask test` checks that it is current.

";
const LEGEND: &str = "
*yes*: every driver supports the operation. A driver's name: only that driver does. *no*: no driver does. –: the operation is not defined for the dtype.
If an operation takes several dtypes, the column is the dtype of the values, and the other dtypes are in brackets after its name: the source dtype of a
cast, the condition dtype of `where_cond`.

";

/// One driver's answers.
struct Answers {
    driver: String,
    supported: Vec<bool>,
}

/// Writes the page, or checks that it is current.
///
/// # Errors
/// Fails if a device is absent, or a file cannot be written or read.
pub fn main(args: &Args) -> Result<bool> {
    let cells = select::cells(args)?;
    let asked = if args.devices.is_empty() { ASKED.map(String::from).into() } else { args.devices.clone() };
    let plan = devices::plan(&asked)?;
    let mut ids = plan.workers;
    ids.splice(0..0, plan.cpu.then(|| "cpu".to_string()));
    // A device's support does not depend on its ordinal: one device per driver is enough.
    ids.dedup_by(|a, b| a.split(':').next() == b.split(':').next());
    if ids.is_empty() {
        bail!("no device to ask");
    }
    let mut answers = Vec::new();
    let mut text = String::from(TITLE);
    for id in &ids {
        let (row, supported) = match id.as_str() {
            "cpu" => (devices::row(id, &AnyDevice::cpu())?, self::answers(&AnyDevice::cpu(), &cells)),
            id => {
                let worker = process::start(id, 1)?;
                (worker.row.clone(), worker.ask(&cells)?)
            }
        };
        let simulated = if row.simulated { " (a simulated device answered)" } else { "" };
        let _ = writeln!(text, "- `{}`{simulated}", row.driver);
        answers.push(Answers { driver: row.driver, supported });
    }
    text += LEGEND;
    text += &table(&answers, &cells);
    text.push('\n');
    text += include_str!("exceptions.md");
    let path = Path::new(PATH);
    if args.check {
        let written = std::fs::read_to_string(path).with_context(|| format!("cannot read {PATH}"))?;
        return Ok(is_current(&written, &text));
    }
    std::fs::create_dir_all("docs").context("cannot create docs")?;
    std::fs::write(path, &text).with_context(|| format!("cannot write {PATH}"))?;
    print!("{text}");
    Ok(true)
}

/// Compares the texts and prints the first difference.
fn is_current(written: &str, text: &str) -> bool {
    if written == text {
        return true;
    }
    let mut lines = written.lines().chain([""; 1]).zip(text.lines().chain([""; 1])).enumerate();
    if let Some((number, (old, new))) = lines.find(|(_, (old, new))| old != new) {
        eprintln!("{PATH}:{} has\n  {old}\nbut the devices answer\n  {new}", number + 1);
    }
    eprintln!("{PATH} is not current: run `cargo xtask conformance --matrix` to rewrite it");
    false
}

/// Returns whether the device supports each cell.
pub fn answers(device: &AnyDevice, cells: &[&Cell]) -> Vec<bool> {
    cells.iter().map(|cell| device.supports(&cell.op(), &cell.dtypes).is_supported()).collect()
}

/// An operation, with what distinguishes its cells besides the column's dtype.
struct Line {
    op: &'static str,
    with: String,
    columns: Vec<String>,
}

/// Returns a table with one line for each set of operations of a family with the same support, and
/// one column for each dtype of the values.
fn table(answers: &[Answers], cells: &[&Cell]) -> String {
    let mut lines: Vec<Line> = Vec::new();
    for (i, cell) in cells.iter().enumerate() {
        let (column, with) = column_of(cell);
        let op = cell.operation.name();
        let at = lines.iter().position(|l| l.op == op && l.with == with).unwrap_or_else(|| {
            lines.push(Line { op, with, columns: vec!["–".into(); DType::ALL.len()] });
            lines.len() - 1
        });
        let those: Vec<&str> = answers.iter().filter(|a| a.supported[i]).map(|a| a.driver.as_str()).collect();
        lines[at].columns[column.index()] = match those.len() {
            0 => "no".into(),
            n if n == answers.len() => "yes".into(),
            _ => those.join(", "),
        };
    }
    let names: Vec<_> = DType::ALL.iter().map(|d| d.as_str()).collect();
    let mut out = format!("| family | operations | {} |\n|---|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    let mut families: Vec<&str> = Vec::new();
    lines.iter().map(|l| family(l.op)).for_each(|f| {
        if !families.contains(&f) {
            families.push(f);
        }
    });
    for name in families {
        let mut sets: Vec<(Vec<&Line>, &[String])> = Vec::new();
        for line in lines.iter().filter(|l| family(l.op) == name) {
            match sets.iter_mut().find(|(_, columns)| *columns == line.columns) {
                Some((set, _)) => set.push(line),
                None => sets.push((vec![line], &line.columns)),
            }
        }
        for (i, (set, columns)) in sets.iter().enumerate() {
            let shown = if i == 0 { name } else { "" };
            let _ = writeln!(out, "| {shown} | {} | {} |", operations(set), columns.join(" | "));
        }
    }
    out
}

/// Returns the dtype of a cell's values, and the rest of its label and its numerics.
fn column_of(cell: &Cell) -> (DType, String) {
    let label = cell.label();
    let (others, column) = split_dtypes(cell.operation.name(), &label);
    let numerics = cell.numerics.map_or("", Numerics::name);
    let beside = [others, numerics].into_iter().filter(|text| !text.is_empty());
    (column.parse().expect("a label is of dtypes"), beside.collect::<Vec<_>>().join(" "))
}

/// Returns each name once, with what distinguishes the lines of one operation in brackets.
fn operations(lines: &[&Line]) -> String {
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        match names.iter_mut().find(|(op, _)| *op == line.op) {
            Some((_, with)) => with.push(&line.with),
            None => names.push((line.op, vec![&line.with])),
        }
    }
    let shown = names.iter().map(|(op, with)| match with.join(", ") {
        with if with.is_empty() => format!("`{op}`"),
        with => format!("`{op}` ({with})"),
    });
    shown.collect::<Vec<_>>().join(", ")
}
