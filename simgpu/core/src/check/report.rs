//! The text of findings.

use super::{Access, Describe, Launch, Place};
use crate::finding::{Finding, FindingKind};
use crate::memory::Named;

/// The instruction and the lane that a finding is about.
pub(crate) struct Subject<'a> {
    pub(crate) who: &'a Place,
    pub(crate) access: Access,
    pub(crate) site: u32,
    pub(crate) bytes: u32,
    pub(crate) lane: u32,
    pub(crate) describe: &'a dyn Describe,
    /// Number of further lanes of the instruction with the same error.
    pub(crate) more: u32,
}

impl Launch<'_> {
    /// Reports a finding. `what` completes the sentence "a load of 4 bytes ...".
    pub(crate) fn tell(&self, kind: FindingKind, subject: &Subject<'_>, named: Named, what: &str) {
        let instruction = subject.describe.instruction(subject.site);
        let thread = subject.describe.thread(subject.who, subject.lane);
        let message = subject.message(what);
        let (buffer, offset) = (named.buffer, named.offset);
        self.findings.push(Finding {
            kind,
            kernel: self.kernel.to_owned(),
            instruction,
            thread,
            buffer,
            offset,
            message,
        });
    }

    /// Reports a barrier that `lanes` of the wave at `who` go around: others of the wave wait at
    /// it, and these lanes come to another one or run on behind it. Threads that return before a
    /// barrier do not go around it.
    pub fn went_around_barrier(&self, who: &Place, site: u32, lanes: u64, describe: &dyn Describe) {
        let (instruction, thread) = (describe.instruction(site), describe.thread(who, lanes.trailing_zeros()));
        let what = match lanes.count_ones() {
            1 => format!("{thread} goes around the barrier"),
            count => format!("{count} threads of the wave go around the barrier, {thread} among them"),
        };
        self.findings.push(Finding {
            kind: FindingKind::DivergentBarrier,
            kernel: self.kernel.to_owned(),
            message: format!("{instruction}: {what}"),
            instruction,
            thread,
            buffer: String::new(),
            offset: 0,
        });
    }
}

impl Subject<'_> {
    /// Returns the sentence of a finding.
    pub(super) fn message(&self, what: &str) -> String {
        let instruction = self.describe.instruction(self.site);
        let thread = self.describe.thread(self.who, self.lane);
        let (access, bytes) = (self.access.noun(), self.bytes);
        let plural = if bytes == 1 { "" } else { "s" };
        let mut message = format!("{instruction}, {thread}: {access} of {bytes} byte{plural} {what}");
        match self.more {
            0 => {}
            1 => message += " (and so does another lane of the wave)",
            more => message += &format!(" (and so do {more} more lanes of the wave)"),
        }
        message
    }
}

impl Access {
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Load | Self::ComparedLoad => "a load",
            Self::Store => "a store",
            Self::Atomic => "an atomic",
            Self::AtomicLoad => "an atomic load",
            Self::AtomicStore => "an atomic store",
        }
    }
}

/// Returns the other side of a race, for example `a store by wave 1 of group 0`.
pub(crate) fn other(was: Access, place: &Place, any_wave: bool, any_group: bool, who: &Place) -> String {
    let noun = was.noun();
    let (group, wave) = (place.group, place.wave);
    if any_group {
        format!("{noun} by other groups")
    } else if group != who.group {
        format!("{noun} by wave {wave} of group {group}, and no atomics order the two groups")
    } else if any_wave {
        format!("{noun} by other waves of the group with no barrier between")
    } else {
        format!("{noun} by wave {wave} of the group with no barrier between")
    }
}
