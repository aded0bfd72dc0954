//! `junit.xml`: a suite for each pair of devices and a test case for each cell, so that CI servers
//! list the failures.

use super::{Report, ResultRow, Status, matrix};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use std::io;
use std::time::Duration;

/// Returns the report in JUnit format.
///
/// # Errors
/// Returns the errors of the XML writer.
pub fn junit(report: &Report) -> io::Result<String> {
    let mut out = quick_junit::Report::new("isobit conformance");
    out.set_time(Duration::try_from_secs_f64(report.duration_s).unwrap_or_default());
    let mut suites: Vec<TestSuite> = Vec::new();
    for row in &report.results {
        let name = format!("{} vs {}", row.subject, row.reference);
        let at = suites.iter().position(|s| s.name.as_str() == name).unwrap_or_else(|| {
            let mut suite = TestSuite::new(&*name);
            suite.add_property(("seed", report.seed.to_string().as_str()));
            suites.push(suite);
            suites.len() - 1
        });
        suites[at].add_test_case(case_of(row));
    }
    for device in &report.not_run {
        let mut suite = TestSuite::new(&*device.id);
        suite.add_test_case(TestCase::new("not run", skipped(&device.reason)));
        suites.push(suite);
    }
    suites.push(memory(report));
    out.add_test_suites(suites);
    out.to_string().map_err(io::Error::other)
}

fn skipped(reason: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(reason);
    status
}

fn failure(kind: &str, message: &str, description: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind).set_message(message).set_description(description);
    status
}

fn case_of(row: &ResultRow) -> TestCase {
    let reason = row.reason.as_deref().unwrap_or("no reason was given");
    let details = [row.worst.as_deref(), row.reason.as_deref(), row.repro.as_deref()];
    let details = details.into_iter().flatten().collect::<Vec<_>>().join("\n");
    let status = match row.status {
        Status::Pass => TestCaseStatus::success(),
        Status::Unsupported => skipped(&format!("unsupported: {reason}")),
        Status::ExpectedFailure => skipped(&format!("expected failure: {reason}")),
        Status::Fail => failure("fail", &format!("{} of {} cases failed", row.failed, row.cases), &details),
        Status::UnexpectedPass => failure("unexpected_pass", &format!("unexpected pass: {reason}"), &details),
    };
    let numerics = row.numerics.map(|numerics| format!(" {numerics}")).unwrap_or_default();
    let mut case = TestCase::new(format!("{} {}{numerics}", row.op, row.dtypes), status);
    case.set_classname(format!("{} vs {}.{}", row.subject, row.reference, matrix::family(&row.op)));
    case
}

/// Returns the memory checks as a suite: one case for each kind of access, and one for faults if
/// there are any.
fn memory(report: &Report) -> TestSuite {
    let m = &report.memory;
    let mut suite = TestSuite::new("memory");
    let faults = report.findings.iter().filter(|f| f.kind == "fault").count() as u64;
    for (kind, count) in m.counts().into_iter().chain((faults > 0).then_some(("fault", faults))) {
        let details: Vec<_> = report.findings.iter().filter(|f| f.kind == kind).map(|f| f.to_string()).collect();
        let status = if count == 0 && details.is_empty() {
            TestCaseStatus::success()
        } else {
            failure(kind, &format!("{} found", count.max(details.len() as u64)), &details.join("\n"))
        };
        suite.add_test_case(TestCase::new(kind, status));
    }
    suite
}
