//! `cargo xtask hardware`: the table of what was run on which card, in `docs/hardware.md`, from the
//! reports in `docs/hardware/`. No sentence of the project claims more than that table.

use crate::conformance;
use crate::kernels::packaged;
use crate::marked;
use crate::shell::{self, root};
use crate::submit;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Writes the table, after adding a submitted report; or only compares it.
///
/// # Errors
/// The report does not agree with the CPU of this machine; the table is not current.
pub fn run(check: bool, add: Option<&Path>) -> Result<ExitCode> {
    if let Some(submitted) = add {
        self::add(submitted)?;
    }
    marked::put("docs/hardware.md", "cargo xtask hardware", &table(&reports()?), check)?;
    Ok(ExitCode::SUCCESS)
}

/// Checks a submitted run against the CPU reference of this machine, digest by digest, and keeps
/// its summary.
fn add(submitted: &Path) -> Result<()> {
    let unpacked = shell::target_dir().join("submit").join("unpacked");
    let folder = if submitted.is_dir() { submitted.to_path_buf() } else { unpack(submitted, &unpacked)? };
    let report = submit::read(&folder.join("report.json"))?;
    let date = submit::read(&folder.join("submission.json"))?["date"].clone();
    let gpus: Vec<&Value> = submit::gpus(&report).collect();
    ensure!(!gpus.is_empty(), "{} has no GPU", folder.display());
    let simulators = conformance::build()?;
    let mut compare = conformance::program(&simulators);
    compare.arg("--compare").arg(&folder).args(["--devices", "cpu", "--out"]).arg(unpacked.with_extension("joined"));
    for (flag, field) in [("--seed", "seed"), ("--cases", "cases")] {
        compare.arg(flag).arg(report[field].to_string());
    }
    shell::run(&mut compare).context("the report does not agree with the CPU reference of this machine")?;
    let name = match gpus[0]["simulated"] == true {
        true => "simulated".to_string(),
        false => submit::file_name(gpus[0]["name"].as_str().context("a device has a name")?),
    };
    let file = root().join("docs/hardware").join(format!("{}-{name}.json", date.as_str().unwrap_or("undated")));
    std::fs::write(&file, format!("{:#}\n", summary(&report, &gpus, &date)))
        .with_context(|| format!("cannot write {}", file.display()))?;
    println!("{}", file.display());
    Ok(())
}

fn unpack(archive: &Path, to: &Path) -> Result<PathBuf> {
    if to.exists() {
        std::fs::remove_dir_all(to)?;
    }
    std::fs::create_dir_all(to)?;
    // GNU tar refuses members that would leave the folder.
    shell::quietly(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(to))?;
    let mut inside = std::fs::read_dir(to)?;
    Ok(inside.next().context("the archive is empty")??.path())
}

/// What the table needs of a report.
fn summary(report: &Value, gpus: &[&Value], date: &Value) -> Value {
    let device = |gpu: &&Value| {
        // Pairs with other GPUs say nothing more about this one.
        let mine = |row: &&Value| row["subject"] == gpu["id"] && row["reference"] == "cpu";
        let rows: Vec<&Value> = report["results"].as_array().into_iter().flatten().filter(mine).collect();
        let count = |status: &str| rows.iter().filter(|row| row["status"] == status).count();
        let findings = report["findings"].as_array().into_iter().flatten();
        json!({
            "name": gpu["name"],
            "arch": gpu["arch"],
            "driver": gpu["driver"],
            "driver_version": gpu["driver_version"],
            "simulated": gpu["simulated"],
            "passed": count("pass"),
            "unsupported": count("unsupported"),
            "cells": rows.len(),
            "findings": findings.filter(|finding| finding["device"] == gpu["id"]).count(),
        })
    };
    json!({
        "date": date,
        "build": report["build"],
        "seed": report["seed"],
        "cases": report["cases"],
        "devices": gpus.iter().map(device).collect::<Vec<_>>(),
    })
}

/// The summaries, the newest first.
fn reports() -> Result<Vec<Value>> {
    let folder = root().join("docs/hardware");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().rev().map(|file| submit::read(file)).collect()
}

/// An architecture's name as people say it.
fn generation(arch: &str) -> &'static str {
    match arch {
        "sm_75" => "NVIDIA Turing",
        "sm_80" => "NVIDIA Ampere",
        "sm_90" => "NVIDIA Hopper",
        "gfx90a" => "AMD CDNA 2",
        "gfx942" => "AMD CDNA 3",
        "gfx1030" => "AMD RDNA 2",
        "gfx1100" => "AMD RDNA 3",
        "gfx1201" => "AMD RDNA 4",
        _ => "",
    }
}

fn table(reports: &[Value]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let mut lines = Vec::new();
    let mut simulated = Vec::new();
    let mut executed = Vec::new();
    for report in reports {
        for device in report["devices"].as_array().into_iter().flatten() {
            // An AMD card's features, such as `:sramecc+`, follow the architecture.
            let arch = text(&device["arch"]).split(':').next().unwrap_or_default().to_string();
            let generation = generation(&arch);
            let is_simulated = device["simulated"] == true;
            let known = (arch.clone(), is_simulated, text(&device["name"]));
            if executed.contains(&known) {
                continue;
            }
            executed.push(known);
            let (card, how) = match is_simulated {
                true => ("any".to_string(), "simulated".to_string()),
                false => (text(&device["name"]), format!("**real card**, {}", text(&device["driver_version"]))),
            };
            let date = text(&report["date"]);
            let result = format!(
                "{} of {} cells, {} unsupported, {} findings; {} cases per cell",
                device["passed"], device["cells"], device["unsupported"], device["findings"], report["cases"]
            );
            let line = format!("| {generation} | `{arch}` | {card} | {how} | {date} | {result} |");
            if is_simulated { &mut simulated } else { &mut lines }.push(line);
        }
    }
    simulated.sort();
    lines.append(&mut simulated);
    let never = |arch: &&str| !executed.iter().any(|(known, ..)| known == arch);
    lines.extend(
        packaged().filter(never).map(|arch| format!("| {} | `{arch}` | | compiled, no report | | |", generation(arch))),
    );
    lines.push("| every other | | | untried | | |".into());
    let head = "| generation | architecture | card | how it was run | date | passed |\n|---|---|---|---|---|---|";
    format!("{head}\n{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(date: &str, name: &str, arch: &str, simulated: bool) -> Value {
        json!({ "date": date, "cases": 64, "devices": [{
            "name": name, "arch": arch, "simulated": simulated, "driver_version": "1.2",
            "passed": 9, "cells": 10, "unsupported": 1, "findings": 0,
        }] })
    }

    #[test]
    fn a_real_card_stands_first_and_an_architecture_that_nobody_ran_is_compiled_only() {
        let reports = [
            report("2026-02-02", "simulated", "gfx90a:sramecc+:xnack-", true),
            report("2026-02-01", "H200", "sm_90", false),
            report("2026-01-01", "H200", "sm_90", false),
        ];
        let table = table(&reports);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows[0],
            "| NVIDIA Hopper | `sm_90` | H200 | **real card**, 1.2 | 2026-02-01 | 9 of 10 cells, 1 unsupported, 0 findings; 64 cases per cell |"
        );
        assert!(rows[1].starts_with("| AMD CDNA 2 | `gfx90a` | any | simulated |"), "{table}");
        assert_eq!(table.matches("`sm_90`").count(), 1, "only the newest report of a card: {table}");
        assert!(table.contains("| `gfx942` | | compiled, no report |"), "{table}");
    }

    #[test]
    fn the_page_is_what_the_reports_say() {
        run(true, None).unwrap();
    }
}
