//! Selects the cells and groups to run by name, and suggests similar names for an unknown one.

use super::args::Args;
use anyhow::{Result, bail};
use isobit::Numerics;
use isobit_conformance::cells::{Cell, Operation};
use isobit_conformance::runtime_tests::{self, Group};
use isobit_hal::DType;

/// The prefix of all group names; alone, it selects all groups.
const GROUPS: &str = "device.";

/// Returns the cells and groups that pass the filters. Groups have no dtype: a filter by dtypes
/// excludes them.
///
/// # Errors
/// Fails if a name is unknown, or if nothing passes the filters.
pub fn all(args: &Args) -> Result<(Vec<&'static Cell>, Vec<Group>)> {
    let cells = passing(args)?;
    let named = |g: &Group| args.ops.is_empty() || args.ops.iter().any(|o| o == g.name() || o == GROUPS);
    let groups: Vec<Group> = runtime_tests::groups().filter(|g| args.dtypes.is_empty() && named(g)).collect();
    if cells.is_empty() && groups.is_empty() {
        return Err(nothing(args));
    }
    if args.case.is_some() && !cells.is_empty() {
        bail!(
            "--case applies only to groups, whose names begin with {GROUPS}; a failing case of an operation is saved to a file, which --replay runs"
        );
    }
    Ok((cells, groups))
}

/// Returns the cells that pass the filters.
///
/// # Errors
/// Fails if a name is unknown, or if no cell passes the filters.
pub fn cells(args: &Args) -> Result<Vec<&'static Cell>> {
    let cells = passing(args)?;
    if cells.is_empty() { Err(nothing(args)) } else { Ok(cells) }
}

fn nothing(args: &Args) -> anyhow::Error {
    let of = |names: &[String]| if names.is_empty() { "any".to_string() } else { names.join(",") };
    anyhow::anyhow!("the filters select nothing: operations {}, dtypes {}", of(&args.ops), of(&args.dtypes))
}

fn passing(args: &Args) -> Result<Vec<&'static Cell>> {
    let groups = runtime_tests::groups().map(Group::name).chain([GROUPS]);
    let ops: Vec<&str> = Operation::all().map(Operation::name).chain(groups).collect();
    for op in &args.ops {
        known("operation", op, &ops)?;
    }
    let dtypes: Vec<&str> = DType::ALL.iter().map(|d| d.as_str()).collect();
    let labels: Vec<String> = Cell::all().iter().map(dashed).collect();
    for name in &args.dtypes {
        if !labels.iter().any(|l| l == name) {
            known("dtype", name, &dtypes)?;
        }
    }
    let passes = |cell: &&Cell| {
        let (values, label) = (cell.value_dtypes(), dashed(cell));
        let dtype = values.iter().all(|d| args.dtypes.iter().any(|n| n == d.as_str())) || args.dtypes.contains(&label);
        (args.ops.is_empty() || args.ops.iter().any(|o| o == cell.operation.name()))
            && (args.dtypes.is_empty() || dtype)
            && (args.numerics.is_empty() || cell.numerics.is_none_or(|n| args.numerics.contains(&n)))
    };
    Ok(Cell::all().iter().filter(passes).collect())
}

/// Returns the dtypes of a cell as one word for the command line.
pub fn dashed(cell: &Cell) -> String {
    cell.label().replace(',', "-")
}

/// Returns the command that runs a cell, given by its name, dtypes and numerics, up to the case
/// `index` on `devices`.
pub fn rerun(devices: &str, (op, dtypes, numerics): (&str, &str, Option<Numerics>), seed: u64, index: u64) -> String {
    let numerics = numerics.map(|n| format!(" --numerics {n}")).unwrap_or_default();
    let (dtypes, cases) = (dtypes.replace(',', "-"), index + 1);
    format!(
        "cargo xtask conformance --devices {devices} --ops {op} --dtypes {dtypes}{numerics} --seed {seed} --cases {cases}"
    )
}

/// Refuses an unknown name and suggests the known names that resemble it.
///
/// # Errors
/// Fails if the name is unknown.
pub fn known(what: &str, name: &str, names: &[&str]) -> Result<()> {
    if names.contains(&name) {
        return Ok(());
    }
    let mut near: Vec<(f64, &str)> =
        names.iter().map(|n| (strsim::jaro_winkler(&name.to_lowercase(), n), *n)).filter(|(s, _)| *s > 0.75).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, n)| n).collect();
    match near.is_empty() {
        true => bail!("no {what} is named `{name}`; known names: {}", names.join(", ")),
        false => bail!("no {what} is named `{name}`; did you mean {}?", near.join(" or ")),
    }
}
