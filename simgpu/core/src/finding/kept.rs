//! Findings kept for a report: all of different instructions, the first few of similar ones.

use super::report::{Counts, OfKernel};
use super::{Finding, FindingKind};
use std::collections::{BTreeMap, HashMap};

/// Number of findings kept per kind, instruction and kernel; further ones are only counted.
pub const KEPT_PER_INSTRUCTION: usize = 8;

#[derive(Debug, Default, Clone)]
pub(super) struct Kept {
    findings: Vec<Finding>,
    /// By kind, kernel and instruction: the number of findings, and the index of the last kept one.
    seen: HashMap<(FindingKind, String, String), (usize, usize)>,
}

impl Kept {
    pub(super) fn add(&mut self, finding: Finding) {
        let place = self.findings.len();
        let key = (finding.kind, finding.kernel.clone(), finding.instruction.clone());
        let (count, last) = self.seen.entry(key).or_insert((0, place));
        *count += 1;
        if *count <= KEPT_PER_INSTRUCTION {
            *last = place;
            self.findings.push(finding);
        }
    }

    /// Returns the kept findings. The last of similar ones says how many were not kept.
    pub(super) fn into_findings(self) -> Vec<Finding> {
        let mut findings = self.findings;
        for (count, last) in self.seen.into_values().filter(|(count, _)| *count > KEPT_PER_INSTRUCTION) {
            let more = count - KEPT_PER_INSTRUCTION;
            findings[last].message += &format!(" ({more} more of this kind at this instruction)");
        }
        findings
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.seen.iter().for_each(|((kind, _, _), (count, _))| counts.add(*kind, *count));
        counts
    }

    /// Returns the number of findings of each kind in each kernel.
    pub(super) fn of_kernels(&self) -> Vec<OfKernel> {
        let mut counts = BTreeMap::new();
        for ((kind, kernel, _), (count, _)) in &self.seen {
            *counts.entry((*kind, kernel)).or_default() += count;
        }
        counts.into_iter().map(|((kind, kernel), count)| OfKernel { kind, kernel: kernel.clone(), count }).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }
}
