//! Compares a pair of devices by digest: equal results have equal digests, whichever machine
//! computed them.

use anyhow::{Result, bail};
use isobit::Numerics;
use isobit_conformance::cells::Cell;
use isobit_conformance::generate;
use isobit_conformance::report::{Class, ResultRow, Status};
use isobit_conformance::run::{CellDigests, CellRun, DeviceDigests, Reference};
use std::collections::HashMap;

/// A device of a run.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The device's name in the joined report.
    pub id: &'a str,
    /// The index of its run among the joined runs.
    pub run: usize,
    /// The digests of its results.
    pub digests: &'a DeviceDigests,
}

type Index<'a> = HashMap<(&'a str, &'a str, Option<Numerics>), &'a CellDigests>;

fn index(side: Side<'_>) -> Index<'_> {
    side.digests.cells.iter().map(|c| ((c.op.as_str(), c.dtypes.as_str(), c.numerics), c)).collect()
}

/// Returns the rows of a pair, `subject` against `reference`, for the cells that both ran and whose
/// class promises equal bits. Results of a vendor's library are excluded: each machine checks them
/// against their bound. If the runs have different lengths, only the cases that both ran are
/// compared.
///
/// # Errors
/// Fails if a case differs between the two.
pub fn rows(subject: Side<'_>, reference: Side<'_>, cells: &[&Cell], seed: u64) -> Result<Vec<ResultRow>> {
    let (subjects, references) = (index(subject), index(reference));
    let mut rows = Vec::new();
    for cell in cells.iter().filter(|cell| cell.class() != Class::Vendor) {
        let label = cell.label();
        let key = (cell.operation.name(), label.as_str(), cell.numerics);
        let (Some(a), Some(b)) = (subjects.get(&key), references.get(&key)) else { continue };
        if let Some(index) = a.cases.iter().zip(&b.cases).position(|(a, b)| a != b) {
            bail!(
                "{cell}, index {index}: {} and {} ran different cases for the same seed and index, so their results cannot be compared; \
                 run both with the same version of the suite",
                subject.id,
                reference.id
            );
        }
        let pairs: Vec<(&str, &str)> = a.digests.iter().zip(&b.digests).map(|(a, b)| (&**a, &**b)).collect();
        if pairs.is_empty() {
            continue;
        }
        let mut row = CellRun::new(cell, subject.id, Reference::Cpu).row;
        row.reference = reference.id.into();
        row.repeatable = None;
        // A case without a result on both sides is a failure of each device, not of the pair.
        row.cases = pairs.iter().filter(|(a, b)| !(a.is_empty() && b.is_empty())).count() as u64;
        let differing: Vec<usize> = (0..pairs.len()).filter(|&i| pairs[i].0 != pairs[i].1).collect();
        row.failed = differing.len() as u64;
        if let Some(&first) = differing.first() {
            fail(&mut row);
            row.worst = Some(worst(cell, seed, first, differing.len(), [subject.id, reference.id], pairs[first]));
            row.repro = Some(repro(cell, seed, first, subject, reference));
        } else if row.cases == 0 {
            fail(&mut row);
            row.reason = Some("no case gave a result on either of the two devices".into());
        }
        rows.push(row);
    }
    Ok(rows)
}

fn fail(row: &mut ResultRow) {
    row.status = Status::Fail;
    row.bit_exact = false;
    row.max_ulp = None;
}

fn worst(cell: &Cell, seed: u64, first: usize, count: usize, ids: [&str; 2], digests: (&str, &str)) -> String {
    let case = generate::case(seed, cell, first as u64);
    let name = |digest: &str| if digest.is_empty() { "no result".to_string() } else { digest.to_string() };
    let differ = if count == 1 { "1 case differs" } else { &format!("{count} cases differ") };
    format!(
        "{differ}, the first at index {first} (shape {:?}): {} on {}, {} on {}",
        case.shape,
        name(digests.0),
        ids[0],
        name(digests.1),
        ids[1]
    )
}

/// Returns the command that repeats the cell up to the case: one command if one machine has both
/// devices, else one for each machine.
fn repro(cell: &Cell, seed: u64, first: usize, subject: Side<'_>, reference: Side<'_>) -> String {
    let label = cell.label();
    let command = |devices: &str| {
        super::select::rerun(devices, (cell.operation.name(), &label, cell.numerics), seed, first as u64)
    };
    let (a, b) = (&subject.digests.device.id, &reference.digests.device.id);
    if subject.run == reference.run {
        return command(&format!("{a},{b}"));
    }
    let with_cpu = |id: &str| if id == "cpu" { id.to_string() } else { format!("cpu,{id}") };
    format!("{}  # and on the machine of {}: {}", command(&with_cpu(a)), reference.id, command(&with_cpu(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_conformance::report::DeviceRow;

    fn device(id: &str, digests: &[&str]) -> DeviceDigests {
        let cell = CellDigests {
            op: "exp".into(),
            dtypes: "f32".into(),
            numerics: None,
            cases: (0..digests.len()).map(|i| format!("case {i}")).collect(),
            digests: digests.iter().map(|d| d.to_string()).collect(),
        };
        DeviceDigests { device: DeviceRow { id: id.into(), ..DeviceRow::default() }, cells: vec![cell] }
    }

    fn pair(subject: &DeviceDigests, reference: &DeviceDigests) -> Result<Vec<ResultRow>> {
        let cells: Vec<&Cell> = Cell::all().iter().collect();
        let side = |run, digests| Side { id: if run == 0 { "a" } else { "b" }, run, digests };
        rows(side(0, subject), side(1, reference), &cells, 3)
    }

    #[test]
    fn a_pair_agrees_where_digests_do_and_names_the_first_case_where_not() {
        let a = device("cuda:0", &["1", "2", "3"]);
        let same = pair(&a, &device("rocm:0", &["1", "2"])).unwrap();
        assert_eq!((same.len(), same[0].cases, same[0].status), (1, 2, Status::Pass));
        let other = pair(&a, &device("rocm:0", &["1", "x", "y"])).unwrap();
        assert_eq!((other[0].failed, other[0].status), (2, Status::Fail));
        let worst = other[0].worst.as_ref().unwrap();
        assert!(worst.contains("2 cases differ, the first at index 1") && worst.contains("2 on a, x on b"), "{worst}");
        let repro = other[0].repro.as_ref().unwrap();
        let command = "cargo xtask conformance --devices cpu,cuda:0 --ops exp --dtypes f32 --seed 3 --cases 2";
        assert!(repro.starts_with(command) && repro.contains("on the machine of b"), "{repro}");
    }

    #[test]
    fn a_case_without_a_result_agrees_with_nothing() {
        let none = device("cuda:0", &["", ""]);
        let row = |other: &[&str]| pair(&none, &device("rocm:0", other)).unwrap().remove(0);
        assert_eq!((row(&["1", "2"]).failed, row(&["1", "2"]).cases), (2, 2));
        assert_eq!((row(&["", "2"]).failed, row(&["", "2"]).cases), (1, 1));
        assert_eq!((row(&["", ""]).status, row(&["", ""]).cases), (Status::Fail, 0));
    }

    #[test]
    fn other_cases_are_refused() {
        let mut other = device("rocm:0", &["1", "2"]);
        other.cells[0].cases[1] = "another".into();
        let e = pair(&device("cuda:0", &["1", "2"]), &other).unwrap_err();
        assert!(e.to_string().contains("exp f32, index 1: a and b ran different cases"), "{e}");
    }
}
