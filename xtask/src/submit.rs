//! `cargo xtask conformance --submit`: one archive of a run on a real card, to be attached to an
//! issue. `docs/hardware.md` says how such a report is checked.

use crate::shell::{quietly, root, target_dir};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flag, which this program handles itself once the report's program is done.
pub const FLAG: &str = "--submit";

/// The issue template for such reports.
const TEMPLATE: &str = "https://github.com/isobit/isobit/issues/new?template=card.yml";

/// Packs the run in `out` and prints where the archive is and where to send it.
///
/// # Errors
/// The run has no real card, or a file cannot be read or written.
pub fn pack(out: &Path) -> Result<()> {
    let report = read(&out.join("report.json"))?;
    let cards = cards(&report);
    let missing = || format!("{FLAG} is for runs on a real GPU, and this run has none: name one with --devices");
    let first = cards.first().with_context(missing)?;
    let date = quietly(Command::new("date").args(["-u", "+%F"]))?;
    let name = format!("isobit-{}-{date}", file_name(first["name"].as_str().unwrap_or("gpu")));
    let folder = target_dir().join("submit").join(&name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let private = Private::of_this_machine();
    for file in ["report.json", "digests.json"] {
        let from = out.join(file);
        let text = std::fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
        write(&folder.join(file), &private.removed(&text))?;
    }
    let doctor = Command::new(std::env::current_exe()?).arg("doctor").output().context("doctor does not start")?;
    write(&folder.join("doctor.txt"), &private.removed(&String::from_utf8_lossy(&doctor.stdout)))?;
    write(&folder.join("submission.json"), &format!("{:#}\n", json!({ "date": date })))?;
    let archive = folder.with_extension("tar.gz");
    let parent = folder.parent().expect("it lies in the target folder");
    // An archive would name the owner of its files.
    let anonymous = ["--owner=0", "--group=0", "--numeric-owner"];
    quietly(Command::new("tar").args(anonymous).arg("-czf").arg(&archive).arg("-C").arg(parent).arg(&name))?;
    println!("\n{}", archive.display());
    println!("holds report.json, digests.json and the output of doctor, without paths and names of this machine.");
    println!("Attach it here: {TEMPLATE}");
    Ok(())
}

/// The folder that the report's program writes: the one it is told, or the default one. Like that
/// program, this takes a relative path as one from the current folder.
pub fn out_of(args: &[&String]) -> PathBuf {
    let joined = args.iter().find_map(|arg| arg.strip_prefix("--out="));
    let apart = args.iter().position(|arg| *arg == "--out").and_then(|at| args.get(at + 1)).map(|out| out.as_str());
    joined.or(apart).unwrap_or("target/conformance").into()
}

/// The GPUs of a report.
pub fn gpus(report: &Value) -> impl Iterator<Item = &Value> {
    report["devices"].as_array().into_iter().flatten().filter(|device| device["driver"] != "cpu")
}

/// The GPUs of a report that are not simulated.
fn cards(report: &Value) -> Vec<&Value> {
    gpus(report).filter(|gpu| gpu["simulated"] == false).collect()
}

/// A file of JSON.
///
/// # Errors
/// It cannot be read, or is not JSON.
pub fn read(file: &Path) -> Result<Value> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", file.display()))
}

/// A card's name in the name of a file.
pub fn file_name(card: &str) -> String {
    let words = card.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// What says who ran it or where, and what stands in its place.
struct Private(Vec<(String, &'static str)>);

impl Private {
    fn of_this_machine() -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self(vec![
            (root().display().to_string(), "."),
            (variable("HOME"), "~"),
            (variable("USER"), "USER"),
            (host.trim().to_string(), "HOST"),
        ])
    }

    /// The text without it. Short names are found as whole words only, so that a user named `sm`
    /// does not change `sm_90`.
    fn removed(&self, text: &str) -> String {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut text = text.to_string();
        for (found, instead) in self.0.iter().filter(|(found, _)| found.len() > 1) {
            let mut kept = String::with_capacity(text.len());
            let mut rest = text.as_str();
            while let Some(at) = rest.find(found.as_str()) {
                let (before, after) = (&rest[..at], &rest[at + found.len()..]);
                let inside = before.ends_with(is_word) || after.starts_with(is_word);
                kept.push_str(before);
                kept.push_str(if inside { found } else { instead });
                rest = after;
            }
            kept.push_str(rest);
            text = kept;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_of_the_machine_are_removed() {
        let private = Private(vec![
            ("/home/ann/isobit".into(), "."),
            ("/home/ann".into(), "~"),
            ("ann".into(), "USER"),
            ("box".into(), "HOST"),
        ]);
        let text = "--replay /home/ann/isobit/target/x.json, /home/ann/.cache, ann@box, annotated boxes, a_box";
        assert_eq!(private.removed(text), "--replay ./target/x.json, ~/.cache, USER@HOST, annotated boxes, a_box");
    }

    /// A run of one device, as the report's program leaves it.
    fn run_of(device: Value) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("isobit-submit-{}-{}", std::process::id(), device["name"]));
        std::fs::create_dir_all(&folder).unwrap();
        write(&folder.join("report.json"), &json!({ "devices": [device] }).to_string()).unwrap();
        write(&folder.join("digests.json"), "{}").unwrap();
        folder
    }

    #[test]
    fn an_archive_has_three_files_and_a_date_and_no_owner() {
        let run = run_of(json!({ "name": "Test Card", "driver": "rocm", "simulated": false }));
        pack(&run).unwrap();
        let submitted = target_dir().join("submit");
        let is_archive = |name: &str| name.starts_with("isobit-test-card-2") && name.ends_with(".tar.gz");
        let names = std::fs::read_dir(&submitted).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let archive = submitted.join(names.into_iter().find(|name| is_archive(name)).unwrap());
        let listed = quietly(Command::new("tar").arg("-tvzf").arg(&archive)).unwrap();
        for file in ["report.json", "digests.json", "doctor.txt", "submission.json"] {
            assert!(listed.contains(file), "{listed}");
        }
        assert!(listed.lines().all(|line| line.contains(" 0/0 ")), "{listed}");
        std::fs::remove_dir_all(run).unwrap();
    }

    #[test]
    fn a_run_without_a_card_is_not_packed() {
        let run = run_of(json!({ "name": "simulated", "driver": "cuda", "simulated": true }));
        let refused = pack(&run).unwrap_err().to_string();
        assert!(refused.contains("this run has none"), "{refused}");
        std::fs::remove_dir_all(run).unwrap();
    }

    #[test]
    fn a_simulated_gpu_is_not_a_card() {
        let device = |driver: &str, simulated: bool| json!({ "driver": driver, "simulated": simulated });
        let report = json!({ "devices": [device("cpu", false), device("cuda", true), device("rocm", false)] });
        assert_eq!(cards(&report), [&device("rocm", false)]);
    }

    #[test]
    fn the_folder_is_the_one_that_was_asked_for() {
        let out =
            |args: &[&str]| out_of(&args.iter().map(|a| a.to_string()).collect::<Vec<_>>().iter().collect::<Vec<_>>());
        assert_eq!(out(&["--devices", "cpu"]), PathBuf::from("target/conformance"));
        assert_eq!(out(&["--out", "a"]), PathBuf::from("a"));
        assert_eq!(out(&["--out=/b"]), PathBuf::from("/b"));
    }
}
