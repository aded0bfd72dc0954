//! `cargo xtask test --filter NAME` and `--package`: selects the packages and targets that contain
//! such tests, and sets up only what they need.

use super::package::{self, FEATURES_CRATE, Needs, Package, features_of};
use super::{Tests, finish, set_up};
use crate::conformance;
use crate::shell::{self, cargo, root};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The selected tests of one package.
#[derive(Debug)]
struct Chosen<'a> {
    package: &'a Package,
    /// The selected targets; empty for all.
    targets: BTreeSet<Target>,
}

/// A target of a package that has tests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// The unit tests of the library or the program.
    Source,
    /// A file or folder in `tests`.
    Test(String),
}

/// Runs the tests whose name contains the filter, of some packages or of all.
pub fn run(tests: &mut Tests, filter: Option<&str>, packages: &[String]) -> Result<ExitCode> {
    let all = package::all(root())?;
    for name in packages {
        if !all.iter().any(|package| package.name == *name) {
            let names: Vec<&str> = all.iter().map(|package| package.name.as_str()).collect();
            bail!("{name} is not a package of the workspace; the packages are {}", names.join(", "));
        }
    }
    let among = all.iter().filter(|package| packages.is_empty() || packages.contains(&package.name));
    let chosen: Vec<Chosen> = match filter {
        None => among.map(|package| Chosen { package, targets: BTreeSet::new() }).collect(),
        Some(filter) => holding(among, filter)?,
    };
    if chosen.is_empty() {
        bail!("no test has `{}` in its name", filter.unwrap_or_default());
    }
    let needs = chosen.iter().map(|c| c.package.needs(&all)).reduce(both).unwrap_or_default();
    let fetching = tests.steps.run("set-up", || Ok(set_up(&needs, &mut tests.left_out)?.fetching))?;
    let simulators = match needs.simulators {
        true => Some(tests.steps.run("build of the simulated GPUs", conformance::build)?),
        false => None,
    };
    let variables = finish(fetching, &mut tests.left_out);
    for Chosen { package, targets } in &chosen {
        let mut test = cargo();
        test.args(["test", "--package", &package.name, "--package", FEATURES_CRATE])
            .args(features_of(&[&package.name]));
        test.args(arguments(package, targets)).envs(variables.iter().cloned());
        if let Some(simulators) = &simulators {
            test.env("ISOBIT_SIMGPU", simulators);
        }
        tests.steps.run(&package.name, || shell::run(test.args(filter)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn both(a: Needs, b: Needs) -> Needs {
    let more = b.tools.into_iter().filter(|tool| !a.tools.contains(tool)).collect::<Vec<_>>();
    Needs {
        tools: [a.tools.clone(), more].concat(),
        simulators: a.simulators || b.simulators,
        nvrtc: a.nvrtc || b.nvrtc,
        rocrand: a.rocrand || b.rocrand,
        model: a.model || b.model,
    }
}

/// Returns the cargo arguments for some targets. Doc tests run only if a whole package is selected;
/// they have no names to filter by.
fn arguments(package: &Package, targets: &BTreeSet<Target>) -> Vec<String> {
    let is_library = package.folder.join("src/lib.rs").exists();
    let arguments = targets.iter().flat_map(|target| match target {
        Target::Source if is_library => vec!["--lib".to_string()],
        Target::Source => vec!["--bins".to_string()],
        Target::Test(name) => vec!["--test".to_string(), name.clone()],
    });
    arguments.collect()
}

/// Returns the packages that have a test with the filter in its name, and the targets with these
/// tests.
fn holding<'a>(packages: impl Iterator<Item = &'a Package>, filter: &str) -> Result<Vec<Chosen<'a>>> {
    let mut chosen = Vec::new();
    for package in packages {
        let mut targets = BTreeSet::new();
        for (target, files) in targets_of(&package.folder)? {
            let holds = |file: &PathBuf| {
                let text = std::fs::read_to_string(file).unwrap_or_default();
                has_test(&file.with_extension("").to_string_lossy(), &text, filter)
            };
            if files.iter().any(holds) {
                targets.insert(target);
            }
        }
        if !targets.is_empty() {
            chosen.push(Chosen { package, targets });
        }
    }
    Ok(chosen)
}

/// Returns the targets of a package and their files, including files of other packages that are
/// included with `#[path]`.
fn targets_of(folder: &Path) -> Result<Vec<(Target, Vec<PathBuf>)>> {
    let mut targets = vec![(Target::Source, sources(&folder.join("src"))?)];
    for entry in std::fs::read_dir(folder.join("tests")).into_iter().flatten() {
        let path = entry.with_context(|| format!("cannot read {}", folder.join("tests").display()))?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.join("main.rs").exists() {
            targets.push((Target::Test(name), sources(&path)?));
        } else if path.extension().is_some_and(|e| e == "rs") {
            // Folders without a main file are modules that any of the files may include.
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let mut files = vec![path.clone()];
            for module in modules(&text) {
                let inner = folder.join("tests").join(module);
                files.extend(if inner.is_dir() { sources(&inner)? } else { Vec::new() });
            }
            targets.push((Target::Test(name), files));
        }
    }
    for (_, files) in &mut targets {
        let mut taken_in = Vec::new();
        for file in files.iter() {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            for path in paths(&text) {
                let other = file.parent().unwrap_or(folder).join(path);
                let is_folder = other.file_name().is_some_and(|name| name == "mod.rs");
                taken_in.extend(if is_folder { sources(other.parent().unwrap_or(folder))? } else { vec![other] });
            }
        }
        files.extend(taken_in);
    }
    Ok(targets)
}

/// Returns every Rust file below a folder.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the files that `#[path = "…"]` names.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[path = \"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// Returns the names in `mod name;` declarations.
fn modules(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.trim().trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
}

/// Whether a file has a test whose full name may contain the filter: the test's name, a module's
/// name or the file's name contains it. Too many matches do no harm, because cargo filters again.
fn has_test(place: &str, text: &str, filter: &str) -> bool {
    if !["#[test]", "proptest!", "_test!"].iter().any(|mark| text.contains(mark)) {
        return false;
    }
    let last = filter.rsplit("::").next().unwrap_or(filter);
    let names = |keyword: &'static str| {
        text.split(keyword)
            .skip(1)
            .map(|rest| rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default())
    };
    names("fn ").chain(names("mod ")).any(|name| name.contains(last))
        || place.split('/').any(|part| part.contains(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(filter: &str) -> Vec<(String, BTreeSet<Target>)> {
        let all = package::all(root()).unwrap();
        let chosen = holding(all.iter(), filter).unwrap();
        chosen.into_iter().map(|c| (c.package.name.clone(), c.targets)).collect()
    }

    #[test]
    fn a_test_is_found_where_it_is_and_nowhere_else() {
        let here = chosen("a_test_is_found_where_it_is_and_nowhere_else");
        assert_eq!(here, [("xtask".to_string(), BTreeSet::from([Target::Source]))]);
        assert!(chosen("no_test_has_this_name_".repeat(2).as_str()).is_empty());
    }

    #[test]
    fn a_test_that_drivers_share_is_found_in_both() {
        let both: Vec<String> = chosen("one_source_gives_the_hosts_bits").into_iter().map(|(name, _)| name).collect();
        assert!(both.contains(&"isobit-cuda".into()) && both.contains(&"isobit-rocm".into()), "{both:?}");
    }

    #[test]
    fn names_of_tests_modules_and_files_match() {
        let text = "mod inner {\n    #[test]\n    fn softmax_of_nothing() {}\n}\n";
        for filter in ["softmax", "inner", "inner::softmax_of", "places", "places::inner::softmax"] {
            assert!(has_test("src/places", text, filter), "{filter}");
        }
        assert!(!has_test("src/places", text, "layer_norm"));
        assert!(!has_test("src/softmax", "fn softmax() {}", "softmax"), "no test is in it");
        assert_eq!(paths("#[path = \"../x/mod.rs\"]\nmod x;").collect::<Vec<_>>(), ["../x/mod.rs"]);
        assert_eq!(modules("mod common;\npub mod more;\nmod inline {}\n").collect::<Vec<_>>(), ["common", "more"]);
    }

    #[test]
    fn targets_are_named_as_cargo_takes_them() {
        let all = package::all(root()).unwrap();
        let of = |name: &str| all.iter().find(|p| p.name == name).unwrap();
        let targets = BTreeSet::from([Target::Source, Target::Test("trace".into())]);
        assert_eq!(arguments(of("isobit-hal"), &targets), ["--lib", "--test", "trace"]);
        assert_eq!(arguments(of("xtask"), &BTreeSet::from([Target::Source])), ["--bins"]);
    }
}
