//! Pairs of devices by digest: results that are equal have equal digests, whichever machine they were made on.

use isobit_conformance::cells::Cell;
use isobit_conformance::report::{Class, Numerics, ResultRow, Status};
use isobit_conformance::run::{CellDigests, CellRun, DigestFile, Reference};
use std::collections::HashMap;

type Index<'a> = HashMap<(&'a str, &'a str, Option<Numerics>), &'a CellDigests>;

fn index(file: &DigestFile) -> Index<'_> {
    file.cells.iter().map(|c| ((c.op.as_str(), c.dtypes.as_str(), c.numerics), c)).collect()
}

/// The rows of a pair: `subject` against `reference`, for the selected cells that both ran and whose class promises equal bits. Files of
/// unequal length are compared as far as both go.
pub fn rows(subject: &DigestFile, reference: &DigestFile, cells: &[&Cell]) -> Vec<ResultRow> {
    let (subjects, references) = (index(subject), index(reference));
    let row = |cell: &&Cell| {
        let label = cell.label();
        let key = (cell.kind.name(), label.as_str(), cell.numerics);
        let (a, b) = (subjects.get(&key)?, references.get(&key)?);
        let pairs: Vec<_> = a.digests.iter().zip(&b.digests).collect();
        if cell.class() == Class::Vendor || pairs.is_empty() {
            return None;
        }
        let mut row = CellRun::new(cell, &subject.header.device.id, Reference::Cpu).row;
        row.reference = reference.header.device.id.clone();
        row.cases = pairs.len() as u64;
        row.repeatable = None;
        // A case that gave no result on either is empty in both, and a failure of each; it is none of the pair.
        let differing: Vec<usize> = pairs.iter().enumerate().filter(|(_, (a, b))| a != b).map(|(i, _)| i).collect();
        row.failed = differing.len() as u64;
        if let Some(first) = differing.first() {
            row.status = Status::Fail;
            row.bit_exact = false;
            row.max_ulp = None;
            row.worst = Some(format!("{} cases differ, the first of index {first}", differing.len()));
            row.repro = Some(format!(
                "cargo xtask conformance --devices {},{} --ops {} --dtypes {} --seed {} --cases {}",
                subject.header.device.id,
                reference.header.device.id,
                row.op,
                super::select::dashed(cell),
                subject.header.seed,
                first + 1
            ));
        }
        Some(row)
    };
    cells.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_conformance::report::DeviceRow;
    use isobit_conformance::run::DigestHeader;

    fn file(id: &str, digests: &[&str]) -> DigestFile {
        let device = DeviceRow { id: id.into(), ..DeviceRow::default() };
        let cell = CellDigests {
            op: "exp".into(),
            dtypes: "f32".into(),
            numerics: None,
            digests: digests.iter().map(|d| d.to_string()).collect(),
        };
        DigestFile { header: DigestHeader { seed: 3, device }, cells: vec![cell] }
    }

    #[test]
    fn a_pair_agrees_where_digests_do_and_names_the_first_case_where_not() {
        let cells: Vec<&Cell> = Cell::all().iter().collect();
        let a = file("cuda:0", &["1", "2", "3"]);
        let same = rows(&a, &file("rocm:0", &["1", "2"]), &cells);
        assert_eq!((same.len(), same[0].cases, same[0].status), (1, 2, Status::Pass));
        let other = rows(&a, &file("rocm:0", &["1", "x", "y"]), &cells);
        assert_eq!((other[0].failed, other[0].status), (2, Status::Fail));
        assert!(other[0].repro.as_ref().unwrap().contains("--seed 3 --cases 2"));
    }
}
