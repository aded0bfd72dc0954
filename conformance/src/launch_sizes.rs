//! The sizes at which a driver's launch code changes its path, and which side of each the cases of
//! a run took: a path that no case takes is tested by nothing.

use crate::schema::{Class, ResultRow, Status};
use serde::{Deserialize, Serialize};

/// The name of the row that says whether every path was taken.
pub const LAUNCHES: &str = "device.launches";

/// A size at which launch code changes its path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSize {
    /// The name, such as `copy.run_from`.
    pub name: String,
    /// The value; `None` if it varies with the device, the dtype or the operands.
    pub value: Option<u64>,
    /// How often launch code met a smaller number; for a limit, one within it.
    pub below: u64,
    /// How often it met the size or, for a limit, exceeded it.
    pub reached: u64,
    /// Why no case gets to the size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_reach: Option<String>,
}

impl LaunchSize {
    /// Returns the side that no case took, in words.
    pub fn missing(&self) -> Option<String> {
        let Self { name, below, reached, .. } = self;
        match (below, reached, &self.out_of_reach) {
            (0, 0, _) => Some(format!("{name} (never asked)")),
            (0, _, _) => Some(format!("{name} (never below)")),
            (_, 0, None) => Some(format!("{name} (never reached)")),
            _ => None,
        }
    }
}

/// Adds the counts of another process.
pub fn add(all: &mut Vec<LaunchSize>, more: Vec<LaunchSize>) {
    for size in more {
        match all.iter_mut().find(|s| s.name == size.name) {
            Some(sum) => (sum.below, sum.reached) = (sum.below + size.below, sum.reached + size.reached),
            None => all.push(size),
        }
    }
}

/// Returns the row of a complete run on a device, which fails if a path was never taken. Returns
/// `None` for a device whose launch code declares no sizes.
pub fn row(device: &str, sizes: &[LaunchSize]) -> Option<ResultRow> {
    if sizes.is_empty() {
        return None;
    }
    let missing: Vec<String> = sizes.iter().filter_map(LaunchSize::missing).collect();
    let mut row = ResultRow::new(LAUNCHES, "mixed", device, "cpu", Class::Exact);
    (row.cases, row.failed) = (sizes.len() as u64, missing.len() as u64);
    if !missing.is_empty() {
        (row.status, row.bit_exact, row.max_ulp) = (Status::Fail, false, None);
        row.worst = Some(format!("no case took one side of these sizes of launch code: {}", missing.join(", ")));
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(name: &str, below: u64, reached: u64) -> LaunchSize {
        LaunchSize { name: name.into(), value: Some(8), below, reached, out_of_reach: None }
    }

    #[test]
    fn a_path_that_no_case_takes_fails_the_row_and_is_named() {
        let mut all = vec![size("copy.a", 1, 0), size("copy.b", 2, 3)];
        assert_eq!(row("sim:0", &all).unwrap().worst.unwrap().split(": ").nth(1), Some("copy.a (never reached)"));
        add(&mut all, vec![size("copy.a", 0, 4), size("copy.c", 0, 1)]);
        let failed = row("sim:0", &all).unwrap();
        assert_eq!((failed.status, failed.cases, failed.failed), (Status::Fail, 3, 1));
        assert!(failed.worst.unwrap().ends_with(": copy.c (never below)"));
        add(&mut all, vec![size("copy.c", 1, 0)]);
        assert_eq!(row("sim:0", &all).unwrap().status, Status::Pass);
        assert_eq!((all[0].below, all[0].reached), (1, 4));
    }

    #[test]
    fn a_size_out_of_reach_needs_its_other_side_alone() {
        let why = Some("needs 2^32 elements".to_string());
        assert_eq!(LaunchSize { out_of_reach: why.clone(), ..size("a", 5, 0) }.missing(), None);
        assert!(LaunchSize { out_of_reach: why, ..size("a", 0, 0) }.missing().is_some());
        assert!(row("cpu", &[]).is_none());
    }
}
