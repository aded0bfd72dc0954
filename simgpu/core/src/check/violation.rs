//! Invalid accesses after which a card reports an error, and the error of their launch.
//!
//! The kernel continues after such an access, so that a run finds more than the first one. At its
//! end the launch fails as on a card. Only the slow path of the checks comes here.

use super::Launch;
use crate::finding::{Fault, FaultKind, Finding, FindingKind};
use std::sync::OnceLock;

/// An invalid access that some cards report. Cards differ in which they report, so the vendor
/// chooses at the end of the launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// To global memory outside every live allocation, whose sizes are rounded up.
    Outside,
    /// To the shared memory of the block or the private memory of the thread, outside it.
    OutsideOwn,
    /// A write to global memory that kernels may only read.
    ReadOnly,
    /// To an address that is not aligned as the instruction requires.
    Misaligned,
}

/// The first violation of each sort in a launch, as a sentence.
#[derive(Debug, Default)]
pub(super) struct Violations([OnceLock<String>; 4]);

impl Launch<'_> {
    /// Reports a finding of the launch about memory that belongs to a block or a thread.
    pub fn report(&self, finding: Finding) {
        match finding.kind {
            FindingKind::OutOfBounds => self.note(Violation::OutsideOwn, || finding.message.clone()),
            FindingKind::Misaligned => self.note(Violation::Misaligned, || finding.message.clone()),
            _ => {}
        }
        self.findings.push(finding);
    }

    /// Reports a finding that no card notices, so that the launch does not fail.
    pub fn remark(&self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Records a violation; the first of its sort is kept.
    pub(crate) fn note(&self, violation: Violation, message: impl FnOnce() -> String) {
        self.violations.0[violation as usize].get_or_init(message);
    }

    /// Returns the outcome of the launch on a card that reports the violations in `reported`. `ran`
    /// is the outcome of the simulation, whose error a card would not reach after a violation.
    ///
    /// # Errors
    /// A violation, unless findings are only recorded; the error of `ran`.
    pub fn outcome(&self, ran: Result<(), Fault>, reported: &[Violation]) -> Result<(), Fault> {
        let first =
            reported.iter().find_map(|violation| Some((violation, self.violations.0[*violation as usize].get()?)));
        let Some((violation, message)) = first.filter(|_| self.findings.fails_like_a_card()) else { return ran };
        if let Some(fault) = ran.err().filter(|fault| !fault.is_found()) {
            self.findings.push(Finding::fault(self.kernel, &fault));
        }
        let kind = if *violation == Violation::Misaligned { FaultKind::Misaligned } else { FaultKind::Address };
        Err(Fault::found(kind, message.clone()))
    }
}

/// The report's file is complete after every launch.
impl Drop for Launch<'_> {
    fn drop(&mut self) {
        self.findings.save();
    }
}
