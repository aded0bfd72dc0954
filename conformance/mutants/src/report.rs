//! The tables of a run: as text for readers, and as JSON.

use crate::list::{Class, Mutant};
use crate::outcome::{By, Outcome, Verdict};
use crate::results::{Results, kill};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// A mutant and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The mutant.
    #[serde(flatten)]
    pub mutant: Mutant,
    /// The list.
    pub list: String,
    /// The family or subject.
    pub family: String,
    /// The kind of its file.
    pub class: Class,
    /// How it counts; `None` if it has not run yet.
    pub verdict: Option<Verdict>,
    /// What the run showed.
    pub outcome: Option<Outcome>,
    /// How long it took.
    pub seconds: f64,
}

/// The numbers of mutants by what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// All of them.
    pub total: usize,
    /// Killed, by kind of check in the order of [`By::ALL`].
    pub killed_by: [usize; 4],
    /// Survived without an explanation.
    pub survived: usize,
    /// Survived, and the entry names what else kills it.
    pub killed_elsewhere: usize,
    /// Refused by a compiler.
    pub does_not_compile: usize,
    /// Proved to change nothing, and found by nothing.
    pub equivalent: usize,
    /// Killed although said to change nothing, or not run because of a wrong entry.
    pub wrong: usize,
    /// Not run yet.
    pub left: usize,
}

impl Tally {
    fn add(&mut self, row: &Row) {
        self.total += 1;
        match row.verdict {
            None => self.left += 1,
            Some(Verdict::Killed) => {
                let by = row.outcome.as_ref().and_then(kill).map_or(By::Results, |kill| kill.by);
                self.killed_by[by as usize] += 1;
            }
            Some(Verdict::Survived) => self.survived += 1,
            Some(Verdict::KilledElsewhere) => self.killed_elsewhere += 1,
            Some(Verdict::Equivalent) => self.equivalent += 1,
            Some(Verdict::DoesNotCompile) => self.does_not_compile += 1,
            Some(Verdict::NotEquivalent | Verdict::NotRun) => self.wrong += 1,
        }
    }

    fn killed(&self) -> usize {
        self.killed_by.iter().sum()
    }

    fn line(&self, name: &str) -> String {
        let [results, memory, test, hang] = self.killed_by;
        format!(
            "| {name} | {} | {} | {results} | {memory} | {test} | {hang} | {} | {} | {} | {} |",
            self.total,
            self.killed(),
            self.survived,
            self.killed_elsewhere,
            self.does_not_compile,
            self.equivalent
        )
    }
}

const HEAD: &str = "| | total | killed | results | memory | test | hang | survived | killed elsewhere | does not compile | equivalent |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|";

/// The report of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The hash of the sources.
    pub build: String,
    /// The devices.
    pub devices: Vec<String>,
    /// The seconds of this call; earlier calls are not part of it.
    pub wall_s: f64,
    /// The seconds of all mutants together, also those of earlier calls.
    pub mutants_s: f64,
    /// The kills that an earlier build showed.
    pub from_earlier_builds: usize,
    /// The numbers by list and class.
    pub classes: BTreeMap<String, Tally>,
    /// The numbers by class and family.
    pub families: BTreeMap<String, Tally>,
    /// The kills by device, or `cargo test`.
    pub devices_killed: BTreeMap<String, usize>,
    /// Every mutant.
    pub rows: Vec<Row>,
}

impl Report {
    /// Makes the report of some mutants.
    pub fn new(mutants: &[Mutant], results: &Results, (build, devices): (String, &[String]), wall: Duration) -> Self {
        let rows: Vec<Row> = mutants.iter().map(|m| row(m, results)).collect();
        let mut classes = BTreeMap::<String, Tally>::new();
        let mut families = BTreeMap::<String, Tally>::new();
        let mut devices_killed = BTreeMap::<String, usize>::new();
        for row in &rows {
            classes.entry(format!("{} {}", row.list, row.class)).or_default().add(row);
            families.entry(format!("{} {}", row.class, row.family)).or_default().add(row);
            if let (Some(Verdict::Killed), Some(kill)) = (row.verdict, row.outcome.as_ref().and_then(kill)) {
                let by = kill.device.clone().unwrap_or_else(|| "cargo test".into());
                *devices_killed.entry(by).or_default() += 1;
            }
        }
        Self {
            build,
            devices: devices.to_vec(),
            wall_s: wall.as_secs_f64(),
            mutants_s: rows.iter().map(|row| row.seconds).sum(),
            from_earlier_builds: results.from_earlier_builds(mutants),
            classes,
            families,
            devices_killed,
            rows,
        }
    }

    /// Whether nothing survived that should not, and every entry is right.
    pub fn passed(&self) -> bool {
        self.rows.iter().all(|row| row.verdict.is_none_or(|verdict| !verdict.is_bad()))
    }

    /// Formats the report for readers.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut all = Tally::default();
        self.rows.iter().for_each(|row| all.add(row));
        let count = all.total - all.equivalent - all.does_not_compile - all.left;
        writeln!(out, "# Mutants\n\n{} of {count} killed on {}", all.killed(), self.devices.join(", ")).expect("text");
        writeln!(out, "\n{HEAD}").expect("text");
        for (name, tally) in &self.classes {
            writeln!(out, "{}", tally.line(name)).expect("text");
        }
        writeln!(out, "{}", all.line("all")).expect("text");
        writeln!(out, "\n## Families\n\n{HEAD}").expect("text");
        for (name, tally) in &self.families {
            writeln!(out, "{}", tally.line(name)).expect("text");
        }
        writeln!(out, "\n## Killed by\n\n| | mutants |\n|---|---|").expect("text");
        for (name, count) in &self.devices_killed {
            writeln!(out, "| {name} | {count} |").expect("text");
        }
        self.section(&mut out, "Survived", Verdict::Survived);
        self.section(&mut out, "Killed elsewhere", Verdict::KilledElsewhere);
        self.section(&mut out, "Said to be equivalent, and killed", Verdict::NotEquivalent);
        self.section(&mut out, "Not run", Verdict::NotRun);
        self.section(&mut out, "Does not compile", Verdict::DoesNotCompile);
        if all.left > 0 {
            writeln!(out, "\n{} mutants have not run yet: the same command continues", all.left).expect("text");
        }
        if self.from_earlier_builds > 0 {
            writeln!(out, "\n{} of the kills are those of earlier builds", self.from_earlier_builds).expect("text");
        }
        writeln!(out, "\nThis call took {}, all mutants together {}", time(self.wall_s), time(self.mutants_s))
            .expect("text");
        out
    }

    fn section(&self, out: &mut String, title: &str, verdict: Verdict) {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.verdict == Some(verdict)).collect();
        if rows.is_empty() {
            return;
        }
        writeln!(out, "\n## {title}").expect("text");
        for Row { mutant, outcome, .. } in rows {
            let Mutant { id, file, find, replace, thought, run, real_card, .. } = mutant;
            let minus = find.lines().map(|line| format!("-{line}\n")).collect::<String>();
            let plus = replace.lines().map(|line| format!("+{line}\n")).collect::<String>();
            writeln!(out, "\n`{id}` in {file}: {thought}\n\n```diff\n{minus}{plus}```").expect("text");
            for what in [run, real_card].into_iter().flatten() {
                writeln!(out, "\nKilled by {what}").expect("text");
            }
            match outcome {
                Some(Outcome::Killed(kill)) => writeln!(out, "\n{}: {}", kill.check, kill.message).expect("text"),
                Some(Outcome::DoesNotCompile { message } | Outcome::NotRun { message }) => {
                    writeln!(out, "\n{message}").expect("text");
                }
                _ => {}
            }
        }
    }
}

fn row(mutant: &Mutant, results: &Results) -> Row {
    let line = results.of(mutant);
    Row {
        mutant: mutant.clone(),
        list: mutant.list.clone(),
        family: mutant.family.clone(),
        class: mutant.class(),
        verdict: line.map(|line| Verdict::of(mutant, &line.outcome)),
        outcome: line.map(|line| line.outcome.clone()),
        seconds: line.map_or(0.0, |line| line.seconds),
    }
}

/// Formats seconds.
pub fn time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Kill;

    fn mutant(id: &str, file: &str) -> Mutant {
        let entry = serde_json::json!({ "id": id, "file": file, "find": id, "replace": "y", "thought": "t" });
        Mutant { list: "first".into(), family: "sum".into(), ..serde_json::from_value(entry).unwrap() }
    }

    #[test]
    fn each_mutant_is_counted_once_and_survivors_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        let devices = ["sim-cuda".to_string()];
        let mut results = Results::read(folder.path(), "b".into(), &devices, false).unwrap();
        let mutants = vec![
            mutant("killed", "a.cu"),
            mutant("alive", "a.cu"),
            Mutant { real_card: Some("--huge".into()), ..mutant("huge", "a.cu") },
            Mutant { equivalent: Some("p".into()), ..mutant("same", "a.cu") },
            mutant("refused", "b.rs"),
            mutant("later", "b.rs"),
        ];
        let kill =
            Kill { by: By::Memory, device: Some("sim-cuda".into()), check: "sum f32".into(), message: "".into() };
        let refused = Outcome::DoesNotCompile { message: "error[E0308]".into() };
        let outcomes = [Outcome::Killed(kill), Outcome::Survived, Outcome::Survived, Outcome::Survived, refused];
        for (mutant, outcome) in mutants.iter().zip(outcomes) {
            results.add(mutant, outcome, 10.0).unwrap();
        }
        let report = Report::new(&mutants, &results, ("b".into(), &devices), Duration::from_secs(3700));
        assert!(!report.passed());
        let kernels = &report.classes["first kernels"];
        assert_eq!((kernels.total, kernels.killed_by), (4, [0, 1, 0, 0]));
        assert_eq!((kernels.survived, kernels.killed_elsewhere, kernels.equivalent), (1, 1, 1));
        let text = report.text();
        for line in [
            "1 of 3 killed on sim-cuda",
            "| first kernels | 4 | 1 | 0 | 1 | 0 | 0 | 1 | 1 | 0 | 1 |",
            "| first host | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 0 |",
            "`alive` in a.cu: t",
            "-alive\n+y",
            "Killed by --huge",
            "1 mutants have not run yet",
            "This call took 1 h 01 min, all mutants together 50 s",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        let fine = Report::new(&mutants[2..], &results, ("b".into(), &devices), Duration::ZERO);
        assert!(fine.passed(), "{}", fine.text());
    }
}
