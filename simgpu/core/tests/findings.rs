//! The collector of findings: what is kept, suppressed and written to the report's file.

use isobit_simgpu_core::finding::report::{Counts, Format, Report, ReportFile};
use isobit_simgpu_core::finding::suppress::Suppressions;
use isobit_simgpu_core::finding::{Finding, FindingKind, Findings, KEPT_PER_INSTRUCTION};
use isobit_simgpu_core::settings::Response;
use serde_json::Value;
use std::path::Path;

fn finding(kind: FindingKind, kernel: &str, instruction: &str) -> Finding {
    let [thread, buffer, message] = ["block 0", "allocation #1 of 4 bytes", "a store of 4 bytes"].map(str::to_owned);
    Finding { kind, kernel: kernel.into(), instruction: instruction.into(), thread, buffer, offset: 4, message }
}

fn collector(path: &Path, suppressions: &str) -> Findings {
    let (rules, errors) = Suppressions::parse(suppressions);
    assert_eq!(errors, []);
    let file = ReportFile::new(path.to_str().unwrap(), "cuda").unwrap();
    Findings::with(Response::Record, rules, Some(file))
}

/// Pushes races of two kernels, one of them suppressed, and an access out of bounds.
fn push_all(findings: &Findings) {
    for _ in 0..KEPT_PER_INSTRUCTION + 3 {
        findings.push(finding(FindingKind::Race, "sum", "line 3: st.shared.u32 [%r1], %r2; (my sum.cu:17)"));
    }
    findings.push(finding(FindingKind::Race, "histogram", ""));
    findings.push(finding(FindingKind::OutOfBounds, "copy to the device", ""));
}

#[test]
fn the_file_is_complete_although_findings_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("findings.json");
    std::fs::write(&path, "of an earlier process").unwrap();
    let findings = collector(&path, "race:histogram\nrace:never");
    let read = || serde_json::from_slice::<Report>(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(read().findings, [], "the file of an earlier process is replaced at the start");
    push_all(&findings);
    assert_eq!(findings.counts().to_string(), "12 findings: 1 x out of bounds, 11 x race");
    assert_eq!(findings.take().len(), KEPT_PER_INSTRUCTION + 1);
    assert!(findings.is_empty() && findings.counts() == Counts::default());
    findings.save();
    let report = read();
    assert_eq!(report.counts.total(), KEPT_PER_INSTRUCTION + 4);
    assert_eq!(report.findings.len(), KEPT_PER_INSTRUCTION + 1);
    assert!(report.findings[KEPT_PER_INSTRUCTION - 1].message.ends_with("(3 more of this kind at this instruction)"));
    let uses: Vec<_> = report.suppressions.iter().map(|used| (used.text.as_str(), used.count)).collect();
    assert_eq!(uses, [("race:histogram", 1), ("race:never", 0)]);
    // Nothing new is found, so the file is not written again.
    std::fs::remove_file(&path).unwrap();
    findings.save();
    assert!(!path.exists());
    assert_eq!(findings.finish().unwrap().counts.total(), KEPT_PER_INSTRUCTION + 4);
    assert!(path.exists());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no part of a file is left: {left:?}");
}

#[test]
fn the_file_counts_what_suppressions_cover_although_the_process_does_not_finish() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("findings.json");
    let findings = collector(&path, "race:histogram");
    for count in 1..3 {
        findings.push(finding(FindingKind::Race, "histogram", ""));
        findings.save();
        let report = serde_json::from_slice::<Report>(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!((report.counts.total(), report.suppressions[0].count), (0, count));
    }
}

/// Runs `child` in a forked process after `parent` in this one. Returns the number of the child,
/// whose `child` must return true.
fn fork(child: impl FnOnce() -> bool, parent: impl FnOnce()) -> u32 {
    let mut ends = [0; 2];
    // SAFETY: the array has room for both ends. The child has only this thread, so it only uses
    // what no other thread of the test program holds, and ends without its exit handlers.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let process = libc::fork();
        assert_ne!(process, -1);
        if process == 0 {
            // Waits until the parent has closed both ends.
            libc::close(ends[1]);
            libc::read(ends[0], ends.as_mut_ptr().cast(), 1);
            let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            libc::_exit(i32::from(!good.unwrap_or(false)));
        }
        parent();
        ends.iter().for_each(|end| _ = libc::close(*end));
        let mut status = -1;
        assert_eq!((libc::waitpid(process, &mut status, 0), status), (process, 0), "the child's assertions hold");
        process as u32
    }
}

#[test]
fn a_forked_process_leaves_the_file_of_its_parent_alone() {
    let folder = tempfile::tempdir().unwrap();
    let read = |path: &Path| serde_json::from_slice::<Report>(&std::fs::read(path).unwrap()).unwrap();
    let race = || finding(FindingKind::Race, "sum", "");
    for name in ["one.json", "%p.json"] {
        let findings = collector(&folder.path().join(name), "race:histogram");
        let own = folder.path().join(name.replace("%p", &std::process::id().to_string()));
        findings.push(race());
        findings.push(finding(FindingKind::Race, "histogram", ""));
        let quiet = fork(
            || findings.counts() == Counts::default() && findings.finish().is_none(),
            || {
                findings.push(race());
                findings.save();
            },
        );
        assert_eq!(read(&own).counts.total(), 2, "what was found after the fork is still there");
        assert!(!folder.path().join(format!("{quiet}.json")).exists(), "it has nothing to say");
        let loud = fork(
            || {
                findings.push(finding(FindingKind::OutOfBounds, "copy", ""));
                findings.counts().total() == 1 && findings.finish().is_some() == (name == "%p.json")
            },
            || (),
        );
        assert_eq!(read(&own).counts.to_string(), "2 findings: 2 x race");
        let others = folder.path().join(format!("{loud}.json"));
        assert_eq!(others.exists(), name == "%p.json");
        if name == "%p.json" {
            let report = read(&others);
            assert_eq!(report.counts.to_string(), "1 finding: 1 x out of bounds", "its own findings only");
            assert_eq!(report.suppressions[0].count, 0);
        }
        assert_eq!(findings.finish().unwrap().counts.total(), 2);
    }
}

#[test]
fn the_text_has_a_line_for_each_finding_and_one_for_each_used_suppression() {
    let folder = tempfile::tempdir().unwrap();
    let findings = collector(&folder.path().join("%v.txt"), "race:histogram\nrace:never");
    push_all(&findings);
    findings.save();
    let text = std::fs::read_to_string(folder.path().join("cuda.txt")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), KEPT_PER_INSTRUCTION + 3, "{text}");
    assert_eq!(lines[0], "sum: race: a store of 4 bytes");
    assert_eq!(lines[KEPT_PER_INSTRUCTION + 1], "suppressed 1 by line 1: race:histogram");
    assert!(lines[KEPT_PER_INSTRUCTION + 2].ends_with(": 12 findings: 1 x out of bounds, 11 x race"), "{text}");
}

/// The properties that the schema of SARIF 2.1.0 requires of each object that the report has, and
/// the values that it allows.
fn is_sarif(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    for run in log["runs"].as_array().expect("a log has runs") {
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].is_string(), "a tool component has a name: {driver}");
        let rules = driver["rules"].as_array().unwrap();
        for rule in rules {
            assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string(), "{rule}");
            assert!(
                ["error", "warning", "note", "none"].map(Value::from).contains(&rule["defaultConfiguration"]["level"])
            );
        }
        for invocation in run["invocations"].as_array().unwrap() {
            assert!(invocation["executionSuccessful"].is_boolean(), "{invocation}");
        }
        for result in run["results"].as_array().unwrap() {
            assert!(result["message"]["text"].is_string(), "a result has a message: {result}");
            let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
            assert_eq!(rule["id"], result["ruleId"]);
            assert_eq!(rule["defaultConfiguration"]["level"], result["level"]);
            for location in result["locations"].as_array().unwrap() {
                let place = &location["physicalLocation"];
                if !place.is_null() {
                    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
                    assert!(uri.is_ascii() && !uri.contains(' '), "{uri} is not a URI");
                    assert!(place["region"]["startLine"].as_u64().unwrap() >= 1);
                }
                for logical in location["logicalLocations"].as_array().unwrap() {
                    assert!(logical["name"].is_string());
                }
            }
        }
    }
}

#[test]
fn the_sarif_log_has_what_the_schema_requires_and_where_the_findings_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("findings.sarif");
    let findings = collector(&path, "race:histogram");
    push_all(&findings);
    findings.push(finding(FindingKind::UninitialisedRead, "first", "line 1: ld.global.u32 %r1, [%rd1]; (a.cu:0)"));
    findings.save();
    let log: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    is_sarif(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), KEPT_PER_INSTRUCTION + 2);
    let location = &results[0]["locations"][0];
    assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "my%20sum.cu");
    assert_eq!(location["physicalLocation"]["region"]["startLine"], 17);
    assert_eq!(location["logicalLocations"][0]["name"], "sum");
    assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&"race".into(), &"error".into()));
    let copy = &results[KEPT_PER_INSTRUCTION];
    assert!(copy["locations"][0]["physicalLocation"].is_null(), "a host operation has no line: {copy}");
    assert_eq!(results[KEPT_PER_INSTRUCTION + 1]["level"], "warning");
    let names: Vec<_> =
        log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|r| &r["id"]).collect();
    assert_eq!(names, FindingKind::ALL.map(|kind| Value::from(kind.id())).iter().collect::<Vec<_>>());
}

#[test]
fn the_format_follows_from_the_name_of_the_file() {
    for (name, format) in [("a.txt", Format::Text), ("b.c.json", Format::Json), ("/x/d.sarif", Format::Sarif)] {
        assert_eq!(Format::of(Path::new(name)), Some(format));
    }
    for name in ["a", "txt", "a.xml", "a.JSON", ".json"] {
        assert_eq!(Format::of(Path::new(name)), None, "{name}");
    }
}
