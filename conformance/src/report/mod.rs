//! Reports: what a run found, as a value, as files and on the terminal.
//!
//! [`Report`] is schema 1 of `report.json`. [`matrix`] arranges its rows for readers, and [`merged`] makes one table of all pairs; with the
//! feature `cli`, [`write`](fn@write) makes the files and [`terminal`] what the screen shows.

#[cfg(feature = "cli")]
mod html;
#[cfg(feature = "cli")]
mod junit;
pub mod matrix;
pub mod merged;
mod schema;
#[cfg(feature = "cli")]
pub mod terminal;
#[cfg(feature = "cli")]
mod write;

#[cfg(feature = "cli")]
pub use html::html;
#[cfg(feature = "cli")]
pub use junit::junit;
pub use schema::{Build, Class, DeviceRow, Finding, Memory, NotRun, Report, ResultRow, SCHEMA, Status, Totals};
#[cfg(feature = "cli")]
pub use write::{Written, write};

impl Report {
    /// A report of these parts, with the totals counted.
    #[allow(clippy::too_many_arguments)]
    pub fn assemble(
        seed: u64,
        cases: u64,
        build: Build,
        devices: Vec<DeviceRow>,
        not_run: Vec<NotRun>,
        results: Vec<ResultRow>,
        memory: Memory,
        findings: Vec<Finding>,
        duration: std::time::Duration,
    ) -> Self {
        let totals = Totals::of(&results);
        let duration_s = duration.as_secs_f64();
        Self { schema: SCHEMA, seed, cases, build, devices, not_run, results, memory, findings, totals, duration_s }
    }

    /// True where cells ran, none of them failed, and no memory check fired.
    pub fn passed(&self) -> bool {
        let t = &self.totals;
        t.executed > 0
            && t.failed == 0
            && t.unexpected_passes == 0
            && self.findings.is_empty()
            && self.memory == Memory::default()
    }
}
