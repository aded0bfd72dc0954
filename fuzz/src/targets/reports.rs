//! The files that runs exchange: what one program wrote, another reads.

use isobit_conformance::regress;
use isobit_conformance::report::Report;
use isobit_conformance::report::matrix::Matrix;
use isobit_conformance::report::merged::Merged;
use isobit_conformance::run::{Digests, KnownResults};
use isobit_simgpu_core::coverage;

/// Reads saved failures, and finds the cells of their cases.
pub(crate) fn regressions(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let failures = match regress::parse(text) {
        Ok(failures) => failures,
        Err(error) => return assert!(error.line() > 0 || !error.to_string().is_empty()),
    };
    for failure in &failures {
        let again = regress::parse(&regress::line(failure));
        assert!(again.is_ok(), "a failure that was read is written so that it can be read");
    }
    for case in regress::cases(failures) {
        let _ = case.cell();
    }
}

/// Reads the digests of a run, and looks results up.
pub(crate) fn digests(data: &[u8]) {
    let digests = match Digests::parse(data) {
        Ok(digests) => digests,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for device in digests.devices {
        assert!(device.cells.iter().all(|cell| cell.get(u64::MAX).is_none()));
        drop(KnownResults::new(device.cells));
    }
}

/// Reads a report and arranges its rows.
pub(crate) fn report(data: &[u8]) {
    let Ok(report) = serde_json::from_slice::<Report>(data) else { return };
    let matrix = Matrix::of(&report);
    drop(Merged::of(&matrix));
    let _ = report.passed();
    report.findings.iter().for_each(|finding| drop(finding.place()));
}

/// Reads and merges files of coverage.
pub(crate) fn coverage(data: &[u8]) {
    let Ok(file) = serde_json::from_slice::<coverage::File>(data) else { return };
    let merged = coverage::merge([file.clone(), file]);
    let text = serde_json::to_string(&merged).expect("it is plain data");
    assert_eq!(serde_json::from_str::<coverage::File>(&text).expect("it was just written"), merged);
}
