//! Counts what ran: by line of a source over all kernels, and by kernel of the table over all
//! cards.

use crate::sources::Sources;
use isobit_simgpu_core::coverage::File;
use std::collections::{BTreeMap, BTreeSet};

/// What ran of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The number of instructions of this line in all kernels ...
    pub instructions: u64,
    /// ... and of those that were executed.
    pub executed: u64,
    /// Some kernels that have the line, with the cards: the first ones that were launched.
    pub kernels: Vec<String>,
    /// The cards whose code has the line, and whether each executed it.
    pub cards: BTreeMap<String, bool>,
}

/// What ran.
#[derive(Debug, Default)]
pub struct Tally {
    /// By source, then by line from 1.
    pub lines: BTreeMap<String, BTreeMap<u32, Line>>,
    /// The launches of each kernel of the table, by card.
    pub kernels: BTreeMap<String, BTreeMap<String, u64>>,
    /// The cards.
    pub cards: BTreeSet<String>,
}

/// The number of kernels that a line names.
const NAMED: usize = 3;

impl Tally {
    /// Counts what is in a file. `table` has the symbols of all kernels. Kernels and sources of
    /// others, which the suite also runs, do not count. A kernel that a card does not launch counts
    /// on the cards that do: a card may run a part of the suite.
    pub fn new<'a>(sources: &Sources, file: &File, table: impl IntoIterator<Item = &'a str>) -> Self {
        let mut tally = Self::default();
        tally.kernels.extend(table.into_iter().map(|symbol| (symbol.to_owned(), BTreeMap::new())));
        let launched: BTreeSet<&str> =
            file.kernels.iter().filter(|kernel| kernel.launches > 0).map(|kernel| kernel.name.as_str()).collect();
        let names: Vec<Option<&str>> = file.files.iter().map(|path| sources.named(path)).collect();
        for kernel in &file.kernels {
            let Some(launches) = tally.kernels.get_mut(&kernel.name) else { continue };
            *launches.entry(kernel.card.clone()).or_default() += kernel.launches;
            tally.cards.insert(kernel.card.clone());
            if kernel.launches == 0 && launched.contains(kernel.name.as_str()) {
                continue;
            }
            for of in &kernel.lines {
                let Some(name) = names.get(of.file as usize).copied().flatten() else { continue };
                if sources.line(name, of.line).is_none() {
                    continue;
                }
                let line = tally.lines.entry(name.to_owned()).or_default().entry(of.line).or_default();
                line.instructions += u64::from(of.instructions);
                line.executed += u64::from(of.executed);
                *line.cards.entry(kernel.card.clone()).or_default() |= of.executed > 0;
                if line.kernels.len() < NAMED && kernel.launches > 0 {
                    line.kernels.push(format!("{} ({})", kernel.name, kernel.card));
                }
            }
        }
        tally
    }

    /// Returns the lines that were not executed, with their sources.
    pub fn unexecuted(&self) -> impl Iterator<Item = (&str, u32, &Line)> {
        let all =
            self.lines.iter().flat_map(|(name, lines)| lines.iter().map(move |(at, line)| (name.as_str(), *at, line)));
        all.filter(|(_, _, line)| line.executed == 0)
    }

    /// Returns the kernels that were launched on no card.
    pub fn unlaunched(&self) -> impl Iterator<Item = &str> {
        let never = |launches: &BTreeMap<String, u64>| launches.values().all(|&n| n == 0);
        self.kernels.iter().filter(move |(_, launches)| never(launches)).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use isobit_simgpu_core::coverage::KernelLines;

    /// Two sources and three kernels: the second line of `ops/a.cu` ran in one kernel only, the
    /// third in none, and the kernel `rare` was not launched.
    pub(crate) fn example() -> (Sources, Tally) {
        let sources = Sources::new([("ops/a.cu", "one\ntwo\n three <&>\nfour"), ("b.cuh", "five")]);
        let kernel = |name: &str, card: &str, launches, lines: &[[u32; 4]]| KernelLines {
            name: name.into(),
            card: card.into(),
            launches,
            lines: lines.iter().map(|&line| line.into()).collect(),
            ..KernelLines::default()
        };
        let file = File {
            files: vec!["/x/ops/a.cu".into(), "/x/b.cuh".into(), "/x/module.cu".into()],
            kernels: vec![
                kernel("k", "sm_80", 4, &[[0, 1, 2, 2], [0, 2, 3, 0], [0, 3, 1, 0], [2, 1, 9, 0]]),
                kernel("l", "sm_80", 1, &[[0, 2, 3, 1], [1, 1, 1, 1], [1, 99, 1, 0]]),
                kernel("rare", "sm_80", 0, &[[0, 3, 1, 0]]),
                kernel("of_a_user", "sm_80", 1, &[[0, 4, 1, 0]]),
                kernel("l", "gfx90a", 0, &[[0, 4, 1, 0]]),
            ],
            ..File::default()
        };
        let tally = Tally::new(&sources, &file, ["k", "l", "rare", "never_loaded"]);
        (sources, tally)
    }

    #[test]
    fn a_line_counts_as_executed_if_any_kernel_executed_it() {
        let (_, tally) = example();
        let unexecuted: Vec<_> = tally.unexecuted().map(|(name, line, of)| (name, line, of.kernels.clone())).collect();
        assert_eq!(unexecuted, [("ops/a.cu", 3, vec!["k (sm_80)".to_string()])]);
        assert_eq!((tally.lines["ops/a.cu"].len(), tally.lines["b.cuh"].len()), (3, 1));
        assert_eq!(tally.lines["ops/a.cu"][&1].cards, BTreeMap::from([("sm_80".to_string(), true)]));
        assert_eq!(tally.lines["ops/a.cu"][&3].cards, BTreeMap::from([("sm_80".to_string(), false)]));
        let two = &tally.lines["ops/a.cu"][&2];
        assert_eq!((two.instructions, two.executed), (6, 1));
        assert_eq!(tally.unlaunched().collect::<Vec<_>>(), ["never_loaded", "rare"]);
    }
}
