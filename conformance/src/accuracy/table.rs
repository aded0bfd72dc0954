//! Formats the worst errors as a Markdown table, for `docs/numerics.md`.

use crate::report::matrix::family;
use crate::schema::{Class, ResultRow};
use isobit_hal::DType;
use std::fmt::Write;

/// Returns a table with one line per operation and one column per float dtype: the largest error in
/// ulps, and `ok` if every result is correctly rounded. Rows of classes other than accuracy, and
/// rows against golden vectors, are left out.
pub fn exhaustive_table(rows: &[ResultRow]) -> String {
    let rows: Vec<_> = rows.iter().filter(|r| r.class == Class::Accuracy && r.reference == "exact").collect();
    let dtypes = DType::ALL.iter().filter(|d| d.is_float() && rows.iter().any(|r| r.dtypes == d.as_str()));
    let dtypes: Vec<_> = dtypes.map(|d| d.as_str()).collect();
    let mut ops: Vec<&str> = Vec::new();
    for row in &rows {
        if !ops.contains(&&*row.op) {
            ops.push(&row.op);
        }
    }
    // The sort is stable: the rows of a family stay in order.
    ops.sort_by_key(|op| family(op));
    let mut out = format!("| operation | {} |\n|---|{}\n", dtypes.join(" | "), "---|".repeat(dtypes.len()));
    for op in ops {
        let _ = write!(out, "| {op} |");
        for dtype in &dtypes {
            let row = rows.iter().find(|r| r.op == op && r.dtypes == *dtype);
            let _ = write!(out, " {} |", row.map_or(String::new(), |r| cell(r)));
        }
        out.push('\n');
    }
    out
}

fn cell(row: &ResultRow) -> String {
    match row.max_ulp {
        _ if row.bit_exact => "ok".into(),
        Some(ulp) => format!("{ulp:.4}"),
        None => format!("{} wrong", row.failed),
    }
}
