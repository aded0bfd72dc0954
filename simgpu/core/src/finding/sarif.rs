//! The SARIF 2.1.0 format of a report (OASIS, "Static Analysis Results Interchange Format").

use super::report::Report;
use super::{Finding, FindingKind};
use serde_json::{Value, json};

/// Returns the report as a SARIF log with one run.
pub(super) fn of(report: &Report) -> Value {
    let rules: Vec<Value> = FindingKind::ALL.into_iter().map(rule).collect();
    let results: Vec<Value> = report.findings.iter().map(result).collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Isobit simulated GPUs",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "invocations": [{ "commandLine": report.program, "executionSuccessful": true }],
            "results": results,
        }],
    })
}

fn rule(kind: FindingKind) -> Value {
    json!({
        "id": kind.id(),
        "shortDescription": { "text": kind.to_string() },
        "fullDescription": { "text": description(kind) },
        "defaultConfiguration": { "level": level(kind) },
    })
}

fn result(finding: &Finding) -> Value {
    let mut location = json!({ "logicalLocations": [{ "name": finding.kernel, "kind": "function" }] });
    if let Some((file, line)) = finding.source() {
        location["physicalLocation"] = json!({
            "artifactLocation": { "uri": uri(file) },
            // Lines of SARIF begin with 1; compilers use 0 for code without a line.
            "region": { "startLine": line.max(1) },
        });
    }
    json!({
        "ruleId": finding.kind.id(),
        "ruleIndex": FindingKind::ALL.iter().position(|kind| *kind == finding.kind),
        "level": level(finding.kind),
        "message": { "text": finding.message },
        "locations": [location],
        "properties": {
            "instruction": finding.instruction,
            "thread": finding.thread,
            "buffer": finding.buffer,
            "offset": finding.offset,
        },
    })
}

/// The value of such a read may be unused, so it is a warning; everything else is an error.
fn level(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::OverRead | FindingKind::UninitialisedRead => "warning",
        _ => "error",
    }
}

fn description(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::OutOfBounds => "An access to bytes outside every live allocation, or a write to read-only bytes.",
        FindingKind::OverRead => {
            "A read that starts in an allocation and ends in the bytes by which a GPU rounds its size up."
        }
        FindingKind::UninitialisedRead => "A read of bytes that nothing has written.",
        FindingKind::Race => "Two unordered accesses of one byte, at least one of which writes.",
        FindingKind::Misaligned => "An address that is not aligned as the access requires.",
        FindingKind::DivergentBarrier => {
            "A barrier that some threads of a wave go around while others of it wait there."
        }
        FindingKind::Deadlock => "Threads that wait for ever.",
        FindingKind::Fault => "Work that could not be completed.",
    }
}

/// Returns a file's name as a relative URI.
fn uri(file: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    file.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
