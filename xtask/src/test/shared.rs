//! Tests that nothing is compiled twice: shared packages have the same features in the builds of
//! all tasks.

use super::package::{ALL, FEATURES_CRATE, features_of};
use super::{BINDINGS, EMBED, Tests};
use crate::conformance;
use crate::shell::cargo;
use std::collections::{BTreeMap, BTreeSet};

/// Returns each package of a selection with its set of features; there are several sets if macros
/// use the package too.
fn packages(edges: &str, selection: &[&str], features: &[String]) -> BTreeMap<String, BTreeSet<String>> {
    let mut tree = cargo();
    tree.args(["tree", "--edges", edges, "--prefix", "none", "--format", "{p}|{f}"]).args(selection).args(features);
    let output = tree.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut packages = BTreeMap::<_, BTreeSet<String>>::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some((package, features)) = line.trim_end_matches(" (*)").split_once('|') {
            packages.entry(package.to_string()).or_default().insert(features.to_string());
        }
    }
    packages
}

#[test]
fn no_package_is_compiled_for_the_report_and_with_other_features_for_the_tests() {
    let report = packages("normal,build", &conformance::SELECTION, &features_of(&["isobit-conformance"]));
    assert!(report.len() > 50, "{report:?}");
    let everything = ["--workspace", "--exclude", BINDINGS];
    let tests = Tests::default().selection(false, true).unwrap();
    let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
    let with = |package: &'static str| ["--package", package, "--package", FEATURES_CRATE];
    let mut differences = BTreeSet::new();
    for (what, selection, features) in [
        ("cargo xtask test", &tests[..], Vec::new()),
        ("cargo xtask test --full, its lints", &everything, features_of(ALL)),
        ("cargo xtask test -p isobit-hal", &with("isobit-hal"), Vec::new()),
        ("cargo xtask test -p isobit-kernels", &with("isobit-kernels"), features_of(&["isobit-kernels"])),
        ("cargo xtask test -p isobit-embed", &with(EMBED), features_of(&[EMBED])),
        ("cargo xtask test -p isobit-llama", &with("isobit-llama"), features_of(&["isobit-llama"])),
        ("cargo xtask onnx", &with("isobit-onnx"), features_of(&["isobit-onnx"])),
        ("cargo xtask doctor", &with("isobit"), features_of(&["isobit"])),
    ] {
        for (package, features) in packages("normal,build,dev", selection, &features) {
            let known = report.get(&package);
            for features in features.into_iter().filter(|f| known.is_some_and(|known| !known.contains(f))) {
                differences.insert(format!("{package}: {what} builds it with {features}, the report with {known:?}"));
            }
        }
    }
    let differences: Vec<String> = differences.into_iter().collect();
    assert!(
        differences.is_empty(),
        "add the missing features to xtask/features/Cargo.toml:\n{}",
        differences.join("\n")
    );
}
