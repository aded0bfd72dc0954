//! The steps of a task and their times.

use anyhow::Result;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// A table is printed only if the steps took at least this long.
const WORTH_A_TABLE: Duration = Duration::from_secs(5);

/// The steps of a task. Their times are printed on drop, so that a failing task also prints them.
#[derive(Default)]
pub struct Steps {
    done: Vec<(String, Duration, bool)>,
}

impl Steps {
    /// Runs a step and prints when it is finished.
    pub fn run<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("\n== {name}");
        let began = Instant::now();
        let result = step();
        let took = began.elapsed();
        eprintln!("== {name}: {}{}", if result.is_ok() { "" } else { "failed after " }, text(took));
        self.done.push((name.into(), took, result.is_ok()));
        result
    }

    fn table(&self) -> String {
        let mut table = String::new();
        let width = self.done.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
        for (name, took, passed) in &self.done {
            writeln!(table, "  {name:<width$}  {:>10}{}", text(*took), if *passed { "" } else { "  failed" })
                .expect("text");
        }
        write!(table, "  {:<width$}  {:>10}", "total", text(self.together())).expect("text");
        table
    }

    fn together(&self) -> Duration {
        self.done.iter().map(|(_, took, _)| *took).sum()
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if self.together() >= WORTH_A_TABLE {
            eprintln!("\nsteps\n{}", self.table());
        }
    }
}

/// Formats a time for display.
pub fn text(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 60.0 => format!("{s:.1} s"),
        s => format!("{} min {:02} s", s as u64 / 60, s as u64 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_a_line_and_so_is_their_sum() {
        let mut steps = Steps::default();
        steps.run("quick", || Ok(())).unwrap();
        assert!(steps.run("broken", || -> Result<()> { anyhow::bail!("no") }).is_err());
        steps.done[0].1 = Duration::from_millis(1_250);
        steps.done[1].1 = Duration::from_secs(185);
        let table = steps.table();
        let lines: Vec<Vec<&str>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["quick", "1.2", "s"]);
        assert_eq!(lines[1], ["broken", "3", "min", "05", "s", "failed"]);
        assert_eq!(lines[2], ["total", "3", "min", "06", "s"]);
    }
}
