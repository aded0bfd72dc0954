//! The table of docs/performance.md: a line for each family and numerics with the medians of its
//! rows, then its operations that are furthest behind. Of thousands of rows this keeps a page that
//! one can read, and no row that is slow goes unseen.

use crate::group::{Group, Place};
use crate::report::Report;
use crate::roof::Roof;
use crate::row::{Row, median};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The operations that are shown of a group.
const SHOWN: usize = 2;
/// The dtypes with columns. Others share the last one.
const DTYPES: [&str; 3] = ["f32", "f16", "bf16"];
const COLUMNS: usize = DTYPES.len() + 1;

/// Rows of one operation and one work, which differ in their dtype.
#[derive(Debug, Default)]
struct Entry<'a> {
    rows: Vec<&'a Row>,
}

/// Returns what was measured, and the table.
pub fn page(report: &Report, roof: &Roof) -> String {
    let mut page = format!("{}.\n", report.title());
    let peak = |(dtype, rate): (&String, &f64)| format!("{dtype} {:.0}", rate / 1e6);
    let peaks: Vec<_> = roof.peaks.iter().map(peak).collect();
    if !peaks.is_empty() {
        let _ = writeln!(page, "Vendor's best product in TFLOP/s: {}.", peaks.join(", "));
    }
    if !report.peers.is_empty() {
        let _ = writeln!(page, "Beside it: {}.", report.peers.join("; "));
    }
    let _ = writeln!(page, "\n| family, operation, work | rows | {} | others |", DTYPES.join(" | "));
    page += "|---|---|---|---|---|---|\n";
    let mut groups: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in &report.rows {
        groups.entry(Group::of(row)).or_default().push(row);
    }
    for (group, rows) in groups {
        let cells = columns(&rows).map(|rows| medians(&rows, roof));
        let _ = writeln!(page, "| **{group}** | {} | {} |", rows.len(), cells.join(" | "));
        let shown = if group.place == Place::Host { usize::MAX } else { SHOWN };
        for entry in entries(&rows, roof).iter().take(shown) {
            let _ = writeln!(page, "| {} | | {} |", entry.name(), entry.cells(roof).join(" | "));
        }
    }
    page
}

/// The operations of a group, the furthest behind first.
fn entries<'a>(rows: &[&'a Row], roof: &Roof) -> Vec<Entry<'a>> {
    let mut order = Vec::new();
    let mut entries: BTreeMap<_, Entry<'_>> = BTreeMap::new();
    for &row in rows {
        let name = (row.op.as_str(), row.work.as_str());
        let entry = entries.entry(name).or_insert_with(|| {
            order.push(name);
            Entry::default()
        });
        entry.rows.push(row);
    }
    let mut entries: Vec<_> = order.iter().filter_map(|name| entries.remove(name)).collect();
    // To a thousandth, because numbers with a fraction have no order.
    entries.sort_by_key(|entry| {
        let furthest = entry.rows.iter().map(|row| behind(row, roof)).fold(0.0, f64::max);
        Reverse((furthest * 1e3) as u64)
    });
    entries
}

/// How many times as long a row takes as the best peer, or without one as the roof.
fn behind(row: &Row, roof: &Roof) -> f64 {
    peer(row).or_else(|| roof.time(row)).map_or(0.0, |time| row.us / time)
}

/// The time of the fastest peer.
fn peer(row: &Row) -> Option<f64> {
    row.peers_us.values().copied().reduce(f64::min)
}

/// Divides rows into the columns of the table.
fn columns<'a>(rows: &[&'a Row]) -> [Vec<&'a Row>; COLUMNS] {
    let mut columns: [Vec<_>; COLUMNS] = Default::default();
    for &row in rows {
        columns[DTYPES.iter().position(|dtype| *dtype == row.dtype).unwrap_or(DTYPES.len())].push(row);
    }
    columns
}

/// The medians of time / roof and, in brackets, of time / peer.
fn medians(rows: &[&Row], roof: &Roof) -> String {
    let of = |time: &dyn Fn(&Row) -> Option<f64>| {
        let ratios: Vec<f64> = rows.iter().filter_map(|row| time(row).map(|time| row.us / time)).collect();
        (!ratios.is_empty()).then(|| median(&ratios))
    };
    match (of(&|row| roof.time(row)), of(&peer)) {
        (None, None) => String::new(),
        (Some(roof), None) => ratio(roof),
        (roof, Some(peer)) => format!("{} ({})", roof.map_or("–".into(), ratio), ratio(peer)),
    }
}

impl Entry<'_> {
    fn name(&self) -> String {
        format!("`{}` {}", self.rows[0].op, self.rows[0].work)
    }

    fn cells(&self, roof: &Roof) -> [String; COLUMNS] {
        columns(&self.rows).map(|rows| {
            // Of the dtypes that share the last column, the one that is furthest behind.
            let furthest = rows.into_iter().max_by(|a, b| behind(a, roof).total_cmp(&behind(b, roof)));
            furthest.map_or(String::new(), |row| cell(row, roof))
        })
    }
}

/// Microseconds, and in brackets the ratio to the roof and the time of the peer.
fn cell(row: &Row, roof: &Roof) -> String {
    let to_roof = roof.time(row).map(|time| ratio(row.us / time));
    let beside: Vec<_> = to_roof.into_iter().chain(peer(row).map(time)).collect();
    let dtype = if DTYPES.contains(&row.dtype.as_str()) { String::new() } else { format!("{} ", row.dtype) };
    let beside = if beside.is_empty() { String::new() } else { format!(" ({})", beside.join("; ")) };
    format!("{dtype}{}{beside}", time(row.us))
}

/// Three or more digits of a time.
fn time(us: f64) -> String {
    let digits = if us < 10.0 { 2 } else { usize::from(us < 100.0) };
    format!("{us:.digits$}")
}

fn ratio(ratio: f64) -> String {
    let digits = if ratio < 10.0 { 2 } else { usize::from(ratio < 100.0) };
    format!("×{ratio:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The copy moves 4 MB/us, and the vendor's product makes 7e8 operations/us: at 4096 it takes
    /// 200 us, and with one row 8.4 us for its 33.6 MB.
    #[test]
    fn each_group_has_its_medians_and_what_is_furthest_behind() {
        let report = Report::small();
        let page = page(&report, &Roof::of(&report));
        let (head, table) = page.split_once("\n\n").unwrap();
        assert!(head.contains("f16 700.") && head.contains("Beside it: PyTorch 2.11.0; llama.cpp"), "{head}");
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines,
            [
                "| family, operation, work | rows | f32 | f16 | bf16 | others |",
                "|---|---|---|---|---|---|",
                // Of 1, 1.25, 1.5 and 2 the third; PyTorch has exp alone.
                "| **unary** | 6 | ×1.50 (×1.25) | ×1.25 (×0.80) |  | ×1.25 |",
                "| `cos` 64Mi | | 256 (×2.00) |  |  |  |",
                "| `sin` 64Mi | | 192 (×1.50) |  |  |  |",
                "| **matmul, vendor** | 2 |  | ×1.19 (×1.00) |  |  |",
                "| `matmul_vendor` 4096x4096x4096 | |  | 200 (×1.00; 200) |  |  |",
                "| `matmul_vendor` 1x4096x4096 | |  | 10.0 (×1.19; 16.0) |  |  |",
                "| **matmul** | 1 |  | ×10.0 (×10.0) |  |  |",
                "| `matmul` 4096x4096x4096 | |  | 2000 (×10.0; 200) |  |  |",
                "| **matmul, block** | 1 |  | ×2.50 (×2.50) |  |  |",
                "| `matmul_block` 4096x4096x4096 | |  | 500 (×2.50; 200) |  |  |",
                // No product of f32, so the row's own floor; llama.cpp is the faster peer.
                "| **quantized** | 1 | ×1.60 (×0.80) |  |  |  |",
                "| `qmatmul_q4_0` [1,4096]@[4096,4096] | | 4.00 (×1.60; 5.00) |  |  |  |",
                "| **host** | 2 | ×2.00 |  |  |  |",
                "| `host_add` 1024 | | 5.00 (×2.00) |  |  |  |",
                "| `host_cold_open` to the open device | | 250000 |  |  |  |",
            ]
        );
    }

    #[test]
    fn the_last_column_names_the_dtype() {
        let row = Row::new("abs", "f8e4m3", "64Mi", 40.0).with_floor(Some(32.0));
        assert_eq!(cell(&row, &Roof::of(&Report::example())), "f8e4m3 40.0 (×1.25)");
    }
}
