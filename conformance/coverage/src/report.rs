//! The report: the numbers, what is left without a reason, and stale reasons.

use crate::reasons::Reasons;
use crate::sources::Sources;
use crate::tally::Tally;
use serde::Serialize;
use std::fmt::Write as _;

/// What was executed.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The numbers by card.
    pub cards: Vec<Card>,
    /// The numbers of lines.
    pub lines: Numbers,
    /// The numbers of kernels.
    pub kernels: Numbers,
    /// The numbers of lines by source.
    pub sources: Vec<Source>,
    /// The lines that were not executed.
    pub unexecuted: Vec<Unexecuted>,
    /// The kernels that were not launched.
    pub unlaunched: Vec<Unlaunched>,
    /// Entries of the table of reasons that nothing needs.
    pub stale: Vec<String>,
}

/// How many of what there is was reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Numbers {
    /// All.
    pub total: usize,
    /// Those that were executed or launched.
    pub reached: usize,
    /// The others for which there is a reason.
    pub excused: usize,
}

impl Numbers {
    fn left(&self) -> usize {
        self.total - self.reached - self.excused
    }
}

/// What ran on a card. What one card leaves out another may execute, so nothing is judged here.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Card {
    /// Its name, such as `sm_80`.
    pub name: String,
    /// Lines with instructions in the kernels that were loaded.
    pub lines: usize,
    /// Those that were executed.
    pub executed: usize,
    /// The kernels that were launched.
    pub launched: usize,
}

/// The numbers of a source.
#[derive(Debug, Serialize)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// The numbers of its lines with instructions.
    #[serde(flatten)]
    pub lines: Numbers,
}

/// A line that was not executed.
#[derive(Debug, Serialize)]
pub struct Unexecuted {
    /// The source.
    pub source: String,
    /// The line, from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// The cards whose code has it.
    pub cards: Vec<String>,
    /// Some launched kernels that have it.
    pub kernels: Vec<String>,
    /// Why it need not be executed, if there is a reason.
    pub reason: Option<String>,
}

/// A kernel that was not launched.
#[derive(Debug, Serialize)]
pub struct Unlaunched {
    /// Its symbol.
    pub kernel: String,
    /// Why it need not be launched, if there is a reason.
    pub reason: Option<String>,
}

impl Report {
    /// Makes the report.
    pub fn new(tally: &Tally, sources: &Sources, reasons: &Reasons) -> Self {
        let unexecuted: Vec<Unexecuted> = tally
            .unexecuted()
            .map(|(source, line, of)| {
                let text = sources.line(source, line).unwrap_or_default();
                Unexecuted {
                    source: source.into(),
                    line,
                    text: text.into(),
                    cards: of.cards.keys().cloned().collect(),
                    kernels: of.kernels.clone(),
                    reason: reasons.of_line(source, text).map(str::to_owned),
                }
            })
            .collect();
        let reason = |kernel: &str| reasons.of_kernel(kernel).map(str::to_owned);
        let unlaunched: Vec<Unlaunched> =
            tally.unlaunched().map(|kernel| Unlaunched { kernel: kernel.into(), reason: reason(kernel) }).collect();
        let by_source = tally.lines.iter().map(|(name, lines)| {
            let excused = unexecuted.iter().filter(|line| line.source == *name && line.reason.is_some()).count();
            let reached = lines.values().filter(|line| line.executed > 0).count();
            Source { name: name.clone(), lines: Numbers { total: lines.len(), reached, excused } }
        });
        let by_source: Vec<Source> = by_source.collect();
        let all = |number: fn(&Numbers) -> usize| by_source.iter().map(|source| number(&source.lines)).sum();
        let lines = Numbers { total: all(|n| n.total), reached: all(|n| n.reached), excused: all(|n| n.excused) };
        let kernels = Numbers {
            total: tally.kernels.len(),
            reached: tally.kernels.len() - unlaunched.len(),
            excused: unlaunched.iter().filter(|kernel| kernel.reason.is_some()).count(),
        };
        let needed = unexecuted.iter().map(|line| (line.source.as_str(), line.text.as_str()));
        let stale = reasons.stale(needed, unlaunched.iter().map(|of| of.kernel.as_str()));
        let cards = tally.cards.iter().map(|card| Card::new(card, tally)).collect();
        Self { cards, lines, kernels, sources: by_source, unexecuted, unlaunched, stale }
    }

    /// Whether everything was reached or has a reason, and no reason is stale.
    pub fn passes(&self) -> bool {
        self.lines.left() == 0 && self.kernels.left() == 0 && self.stale.is_empty()
    }

    /// Returns the report as text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |words: String| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{words}");
        };
        let numbers = |what: &str, done: &str, of: &Numbers| {
            let Numbers { total, reached, excused } = *of;
            format!("{what}: {reached} of {total} {done}, {excused} with a reason not to be, {} left", of.left())
        };
        line(numbers("lines of kernel sources", "executed", &self.lines));
        line(numbers("kernels", "launched", &self.kernels));
        for Card { name, lines, executed, launched } in &self.cards {
            line(format!("{name}: {executed} of {lines} lines executed, {launched} kernels launched"));
        }
        line(format!("{:40} {:>6} {:>9} {:>9} {:>5}", "source", "lines", "executed", "explained", "left"));
        for Source { name, lines: of } in &self.sources {
            line(format!("{name:40} {:>6} {:>9} {:>9} {:>5}", of.total, of.reached, of.excused, of.left()));
        }
        for of in self.unexecuted.iter().filter(|of| of.reason.is_none()) {
            let seen =
                if of.kernels.is_empty() { "in kernels that were not launched".into() } else { of.kernels.join(", ") };
            line(format!("not executed: {}:{}: {}  [{}; {seen}]", of.source, of.line, of.text, of.cards.join(", ")));
        }
        for of in self.unlaunched.iter().filter(|of| of.reason.is_none()) {
            line(format!("not launched: {}", of.kernel));
        }
        for entry in &self.stale {
            line(format!("stale reason: {entry} was reached or is not compiled; remove it from reasons.tsv"));
        }
        text
    }
}

impl Card {
    fn new(name: &str, tally: &Tally) -> Self {
        let of_card = || tally.lines.values().flat_map(|lines| lines.values()).filter_map(|line| line.cards.get(name));
        let launched = tally.kernels.values().filter(|launches| launches.get(name).is_some_and(|&n| n > 0)).count();
        Self { name: name.into(), lines: of_card().count(), executed: of_card().filter(|&&ran| ran).count(), launched }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::example;

    fn report(reasons: &str) -> Report {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("reasons.tsv");
        std::fs::write(&file, reasons).unwrap();
        let (sources, tally) = example();
        Report::new(&tally, &sources, &Reasons::read(&file).unwrap())
    }

    #[test]
    fn what_is_left_is_named() {
        let report = report("");
        assert!(!report.passes());
        assert_eq!(report.lines, Numbers { total: 4, reached: 3, excused: 0 });
        assert_eq!(report.kernels, Numbers { total: 4, reached: 2, excused: 0 });
        let card =
            |name: &str, [lines, executed, launched]: [usize; 3]| Card { name: name.into(), lines, executed, launched };
        // The kernel that one card leaves out is the other's.
        assert_eq!(report.cards, [card("gfx90a", [0; 3]), card("sm_80", [4, 3, 2])]);
        let text = report.to_text();
        let row = text.lines().find(|line| line.starts_with("ops/a.cu ")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["ops/a.cu", "3", "2", "0", "1"]);
        for says in ["ops/a.cu:3: three <&>  [sm_80; k (sm_80)]", "not launched: rare", "not launched: never_loaded"] {
            assert!(text.contains(says), "{text}");
        }
    }

    #[test]
    fn reasons_excuse_and_become_stale() {
        let all = "ops/a.cu\tthree <&>\twhy\nkernel\trare\twhy\nkernel\tnever_loaded\twhy\n";
        assert!(report(all).passes());
        assert_eq!(report(all).sources[1].lines, Numbers { total: 3, reached: 2, excused: 1 });
        let stale = report(&format!("{all}ops/a.cu\ttwo\twhy\n"));
        assert!(!stale.passes());
        assert!(stale.to_text().contains("stale reason: ops/a.cu: two"), "{}", stale.to_text());
        assert!(!report("kernel\trare\twhy\nkernel\tnever_loaded\twhy\n").passes());
    }
}
