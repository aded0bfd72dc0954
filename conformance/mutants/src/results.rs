//! What earlier calls found: one line per mutant in a file, so that a second call continues.

use crate::list::Mutant;
use crate::outcome::{Kill, Outcome};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the file.
pub const FILE: &str = "results.jsonl";

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The mutant's name, for readers.
    pub id: String,
    /// A hash of what the mutant changes and of what runs.
    pub mutant: String,
    /// A hash of the sources of everything that is built.
    pub build: String,
    /// The devices.
    pub devices: Vec<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
}

/// The results of this build and, for kills, of earlier builds.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    build: String,
    devices: Vec<String>,
    known: HashMap<String, Line>,
}

impl Results {
    /// Reads the results of earlier calls. With `keep_kills`, a mutant that an earlier build killed
    /// counts as killed.
    ///
    /// # Errors
    /// Fails if the file cannot be read. A line that is cut off, as an interrupted call leaves one,
    /// is skipped.
    pub fn read(folder: &Path, build: String, devices: &[String], keep_kills: bool) -> Result<Self> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let mut known = HashMap::new();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            let is_kill = matches!(line.outcome, Outcome::Killed(_));
            // Its entry was wrong, or the sources.
            if matches!(line.outcome, Outcome::NotRun { .. }) {
                continue;
            }
            if (line.build == build && line.devices == devices) || (keep_kills && is_kill) {
                known.insert(line.mutant.clone(), line);
            }
        }
        Ok(Self { path, build, devices: devices.to_vec(), known })
    }

    /// Returns what is known of a mutant.
    pub fn of(&self, mutant: &Mutant) -> Option<&Line> {
        self.known.get(&hash(mutant))
    }

    /// The number of kills of earlier builds among some mutants.
    pub fn from_earlier_builds(&self, mutants: &[Mutant]) -> usize {
        let lines = mutants.iter().filter_map(|m| self.of(m));
        lines.filter(|line| line.build != self.build || line.devices != self.devices).count()
    }

    /// Adds a result and appends it to the file.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn add(&mut self, mutant: &Mutant, outcome: Outcome, seconds: f64) -> Result<()> {
        let (build, devices) = (self.build.clone(), self.devices.clone());
        let line = Line { id: mutant.id.clone(), mutant: hash(mutant), build, devices, outcome, seconds };
        let text = serde_json::to_string(&line)? + "\n";
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.known.insert(line.mutant.clone(), line);
        Ok(())
    }
}

/// Returns a hash of what a mutant changes and of what runs. What its entry says about the outcome
/// is not part of it.
pub fn hash(mutant: &Mutant) -> String {
    let Mutant { file, find, replace, ops, dtypes, tests, clang_only, .. } = mutant;
    let parts = serde_json::json!([file, find, replace, ops, dtypes, tests, clang_only]);
    blake3::hash(parts.to_string().as_bytes()).to_hex()[..32].to_string()
}

/// Returns a hash of the sources of a checkout, without the lists of mutants and without documents:
/// what the suite finds depends on nothing else.
///
/// # Errors
/// Fails if git does not list the files.
pub fn build_of(root: &Path) -> Result<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = git.output().context("`git` does not start")?;
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut names: Vec<&str> = names.split('\0').filter(|name| counts(name)).collect();
    names.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for name in names {
        let Ok(bytes) = std::fs::read(root.join(name)) else { continue };
        hasher.update(name.as_bytes()).update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    Ok(hasher.finalize().to_hex()[..32].to_string())
}

fn counts(name: &str) -> bool {
    let built = [".rs", ".cu", ".cuh", ".toml", ".lock", ".tsv", ".jsonl"].iter().any(|ending| name.ends_with(ending));
    let apart = ["conformance/mutants/", "integrations/", "bench/", "docs/"];
    built && !apart.iter().any(|folder| name.starts_with(folder))
}

/// Returns a kill, if the outcome is one.
pub fn kill(outcome: &Outcome) -> Option<&Kill> {
    match outcome {
        Outcome::Killed(kill) => Some(kill),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::By;

    fn mutant(id: &str) -> Mutant {
        serde_json::from_value(serde_json::json!({
            "id": id, "file": "hal/src/lib.rs", "find": id, "replace": "y", "thought": "t"
        }))
        .unwrap()
    }

    fn killed() -> Outcome {
        Outcome::Killed(Kill { by: By::Test, device: None, check: "c".into(), message: "m".into() })
    }

    #[test]
    fn a_second_call_knows_what_the_first_found() {
        let folder = tempfile::tempdir().unwrap();
        let devices = ["sim-cuda".to_string()];
        let read = |build: &str, devices: &[String], keep| Results::read(folder.path(), build.into(), devices, keep);
        let mut first = read("one", &devices, false).unwrap();
        first.add(&mutant("a"), killed(), 1.0).unwrap();
        first.add(&mutant("b"), Outcome::Survived, 2.0).unwrap();
        let mut text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        text.push_str("{\"id\":\"c\",\"mut");
        std::fs::write(folder.path().join(FILE), text).unwrap();

        let again = read("one", &devices, false).unwrap();
        assert_eq!(again.of(&mutant("a")).unwrap().outcome, killed());
        assert_eq!(again.of(&mutant("b")).unwrap().outcome, Outcome::Survived);
        assert!(again.of(&mutant("c")).is_none());
        // Another build, or another device, may find more.
        assert!(read("two", &devices, false).unwrap().of(&mutant("a")).is_none());
        assert!(read("one", &["cuda:0".to_string()], false).unwrap().of(&mutant("a")).is_none());
        let kept = read("two", &devices, true).unwrap();
        assert!(kept.of(&mutant("a")).is_some() && kept.of(&mutant("b")).is_none());
        assert_eq!(kept.from_earlier_builds(&[mutant("a"), mutant("b")]), 1);
    }

    #[test]
    fn what_an_entry_says_about_the_outcome_does_not_count() {
        let said = Mutant { subtle: true, equivalent: Some("p".into()), thought: "other".into(), ..mutant("a") };
        assert_eq!(hash(&said), hash(&mutant("a")));
        assert_ne!(hash(&Mutant { ops: vec!["sum".into()], ..mutant("a") }), hash(&mutant("a")));
    }

    #[test]
    fn documents_and_lists_do_not_change_the_build() {
        assert!(counts("hal/src/lib.rs") && counts("kernels-common/src/isobit.cuh") && counts("Cargo.lock"));
        assert!(!counts("docs/mutants.md") && !counts("conformance/mutants/lists/first/host.toml"));
    }
}
