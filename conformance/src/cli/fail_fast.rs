//! `--fail-fast`: the first failure on any device ends the run on all of them.

use isobit_conformance::report::{ResultRow, Status};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the run should end at the first failure, and whether there was one. Shared by everything
/// that listens to workers.
#[derive(Debug, Default)]
pub struct FailFast {
    on: bool,
    failed: AtomicBool,
}

impl FailFast {
    /// Creates the state of a run; if `on` is false, it never stops.
    pub fn new(on: bool) -> Self {
        Self { on, failed: AtomicBool::new(false) }
    }

    /// Whether failures end the run.
    pub fn on(&self) -> bool {
        self.on
    }

    /// Takes note of a finished row.
    pub fn saw(&self, row: &ResultRow) {
        if self.on && is_failure(row) {
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a failure has ended the run.
    pub fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

/// Whether a row makes the report fail; expected failures do not.
pub fn is_failure(row: &ResultRow) -> bool {
    matches!(row.status, Status::Fail | Status::UnexpectedPass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_conformance::report::Class;

    #[test]
    fn only_an_unexpected_failure_stops_a_run_and_only_if_asked() {
        let row = |status| ResultRow { status, ..ResultRow::new("exp", "f32", "sim:0", "cpu", Class::Defined) };
        for (on, status, stops) in [
            (true, Status::Pass, false),
            (true, Status::ExpectedFailure, false),
            (true, Status::Unsupported, false),
            (true, Status::Fail, true),
            (true, Status::UnexpectedPass, true),
            (false, Status::Fail, false),
        ] {
            let fast = FailFast::new(on);
            fast.saw(&row(status));
            assert_eq!(fast.stopped(), stops, "{on} {status:?}");
        }
    }
}
