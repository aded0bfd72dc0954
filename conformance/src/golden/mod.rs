//! Checks devices against golden vectors: results of NumPy, PyTorch and mpmath for small inputs,
//! produced by `golden/make_golden.py`.

mod apply;
mod compare;
mod file;

use crate::family::Operation;
use crate::schema::{Class, ResultRow, Status};
use file::{Case, Golden};
use isobit_hal::{BackendDevice, Error, ErrorKind, Result};

/// All committed files of vectors, as `golden/make_golden.py` names them.
const FILES: &[&[u8]] = &[
    include_bytes!("../../golden/numpy.json.gz"),
    include_bytes!("../../golden/torch.json.gz"),
    include_bytes!("../../golden/norm.json.gz"),
    include_bytes!("../../golden/conv.json.gz"),
    include_bytes!("../../golden/quantized.json.gz"),
    include_bytes!("../../golden/sort.json.gz"),
    include_bytes!("../../golden/random.json.gz"),
    include_bytes!("../../golden/shape.json.gz"),
    include_bytes!("../../golden/pooling.json.gz"),
    include_bytes!("../../golden/index_map.json.gz"),
    include_bytes!("../../golden/indexing.json.gz"),
    include_bytes!("../../golden/compact.json.gz"),
    include_bytes!("../../golden/attention.json.gz"),
    include_bytes!("../../golden/elementwise.json.gz"),
    include_bytes!("../../golden/fold.json.gz"),
    include_bytes!("../../golden/functions.json.gz"),
    include_bytes!("../../golden/dtypes.json.gz"),
    include_bytes!("../../golden/products.json.gz"),
    include_bytes!("../../golden/packed.json.gz"),
];

/// The cells to run; an empty list selects everything.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The names of operations.
    pub ops: Vec<String>,
    /// The names of dtypes; a cell with several dtypes runs if one of them is named.
    pub dtypes: Vec<String>,
}

impl Filter {
    fn wants(&self, op: &str, dtypes: &str) -> bool {
        (self.ops.is_empty() || self.ops.iter().any(|o| o == op))
            && (self.dtypes.is_empty() || dtypes.split(',').any(|d| self.dtypes.iter().any(|e| e == d)))
    }
}

/// Runs every golden vector on a device and returns one row per cell, over all sources. `id` is the
/// device's name in the report.
///
/// # Errors
/// Returns `Other` if a committed file is damaged. An error from the device is a failed case, not
/// an error of this call.
pub fn run<D: BackendDevice>(device: &D, id: &str, filter: &Filter) -> Result<Vec<ResultRow>> {
    let mut rows: Vec<ResultRow> = Vec::new();
    for bytes in FILES {
        let golden = Golden::read(bytes)?;
        for (index, case) in golden.cases.iter().enumerate() {
            let dtypes = cell_dtypes(case, &golden);
            if !filter.wants(&case.op, &dtypes) {
                continue;
            }
            let at = rows.iter().position(|r| r.op == case.op && r.dtypes == dtypes).unwrap_or_else(|| {
                rows.push(ResultRow::new(&case.op, &dtypes, id, "golden", Class::Accuracy));
                rows.len() - 1
            });
            let row = &mut rows[at];
            match check(device, case, &golden) {
                Ok(Outcome::Unsupported(reason)) => {
                    row.status = Status::Unsupported;
                    row.reason = Some(reason);
                }
                Ok(Outcome::Compared(found)) => add(row, found, &format!("{}, case {index}", golden.source)),
                Err(e) => add(row, compare::Found::error(&e), &format!("{}, case {index}", golden.source)),
            }
        }
    }
    for row in rows.iter_mut().filter(|r| r.status == Status::Unsupported) {
        (row.cases, row.bit_exact, row.max_ulp) = (0, false, None);
    }
    Ok(rows)
}

/// Returns what the vectors leave out, as source, operation, dtypes and reason: cells that the
/// source cannot answer for, and elements where the contract differs from it.
///
/// # Errors
/// Returns `Other` if a committed file is damaged.
pub fn skipped() -> Result<Vec<[String; 4]>> {
    let mut all = Vec::new();
    for bytes in FILES {
        let golden = Golden::read(bytes)?;
        let source = &golden.source;
        all.extend(
            golden.skipped.iter().map(|[op, dtypes, why]| [source.clone(), op.clone(), dtypes.clone(), why.clone()]),
        );
        let partly = golden.cases.iter().filter(|c| !c.skip.is_empty());
        all.extend(
            partly
                .map(|c| [source.clone(), c.op.clone(), cell_dtypes(c, &golden), format!("some elements: {}", c.why)]),
        );
    }
    all.sort();
    all.dedup();
    Ok(all)
}

enum Outcome {
    Unsupported(String),
    Compared(compare::Found),
}

fn check<D: BackendDevice>(device: &D, case: &Case, golden: &Golden) -> Result<Outcome> {
    let call = apply::Call::of(case, golden)?;
    if let Some(reason) = device.supports(&call.op, &call.dtypes).reason() {
        return Ok(Outcome::Unsupported(reason.into()));
    }
    let got = call.run(device)?;
    compare::compare(case, golden, &got).map(Outcome::Compared)
}

/// Returns the dtypes by which reports distinguish the cells of an operation.
fn cell_dtypes(case: &Case, golden: &Golden) -> String {
    let input = |i: usize| case.inputs.get(i).and_then(|s| golden.buffers.get(s.0)).map(|b| b.dtype.as_str());
    let first = input(0).unwrap_or(case.out.0.as_str());
    let Some(operation) = Operation::find(&case.op) else { return first.to_string() };
    let operands = operation.family().distinctive(operation.op()).iter();
    operands.map(|&i| input(i).unwrap_or(case.out.0.as_str())).collect::<Vec<_>>().join(",")
}

fn add(row: &mut ResultRow, found: compare::Found, source: &str) {
    row.cases += 1;
    row.bit_exact &= found.bit_exact;
    if !row.layouts.contains(&found.layout) {
        row.layouts.push(found.layout);
    }
    let further = match (row.max_ulp, found.max_ulp) {
        (Some(so_far), Some(now)) => now > so_far,
        (so_far, _) => so_far.is_some(),
    };
    if further {
        row.max_ulp = found.max_ulp;
    }
    let first_failure = found.failed && row.failed == 0;
    if let Some(worst) = found.worst.filter(|_| first_failure || further && (row.failed == 0 || found.failed)) {
        row.worst = Some(format!("{worst} ({source})"));
    }
    if found.failed {
        row.failed += 1;
        row.status = Status::Fail;
        let (op, dtypes, id) = (&row.op, &row.dtypes, &row.subject);
        row.repro = Some(format!("cargo xtask conformance --devices {id} --ops {op} --dtypes {dtypes}"));
    }
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Other, format!("golden vectors: {what}; run golden/make_golden.py"))
}
