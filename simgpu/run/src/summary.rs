//! The findings of a program's processes: gathered, counted and written.

use anyhow::{Context, Result, anyhow};
use isobit_simgpu_core::finding::report::{Format, OfKernel, Report, replace};
use isobit_simgpu_core::finding::suppress::Use;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Findings that are printed if no file has them.
const PRINTED: usize = 20;

/// The findings of all processes.
pub struct Summary {
    report: Report,
    processes: usize,
}

/// Reads the reports of all processes in a folder.
///
/// # Errors
/// Fails if one cannot be read.
pub fn of(folder: &Path) -> Result<Summary> {
    let files = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let files = files.with_context(|| format!("the reports in {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = files.into_iter().map(|file| file.path()).collect();
    // A process that was killed may leave a part of a file.
    paths.retain(|path| Format::of(path) == Some(Format::Json));
    paths.sort();
    let mut all = Summary { report: Report::default(), processes: paths.len() };
    for path in paths {
        let text = std::fs::read(&path).with_context(|| format!("the report {}", path.display()))?;
        all.join(serde_json::from_slice(&text).with_context(|| format!("the report {}", path.display()))?);
    }
    Ok(all)
}

impl Summary {
    fn join(&mut self, other: Report) {
        let own = &mut self.report;
        own.counts.join(&other.counts);
        own.findings.extend(other.findings);
        for Use { line, text, count } in other.suppressions {
            match own.suppressions.iter_mut().find(|used| used.line == line && used.text == text) {
                Some(used) => used.count += count,
                None => own.suppressions.push(Use { line, text, count }),
            }
        }
        for OfKernel { kind, kernel, count } in other.kernels {
            match own.kernels.iter_mut().find(|of| of.kind == kind && of.kernel == kernel) {
                Some(of) => of.count += count,
                None => own.kernels.push(OfKernel { kind, kernel, count }),
            }
        }
    }

    /// Whether there are findings.
    pub fn any(&self) -> bool {
        self.report.counts.total() > 0
    }

    /// Prints the findings, or how many there are if files get them, and writes the files. Prints
    /// why a file cannot be written, and the findings then if no file has them.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn tell(&self, program: &str, files: &[PathBuf], unused: bool) -> Result<()> {
        if files.is_empty() {
            eprint!("{}", self.lines());
        }
        eprint!("{}", self.text(unused));
        let report = Report { program: program.to_owned(), ..self.report.clone() };
        let mut written = 0;
        for path in files {
            match write(&report, path) {
                Ok(()) => {
                    written += 1;
                    if self.any() {
                        eprintln!("isobit-sim: the findings are in {}", path.display());
                    }
                }
                Err(error) => eprintln!("isobit-sim: the findings cannot be written to {}: {error}", path.display()),
            }
        }
        if written == 0 && !files.is_empty() {
            eprint!("{}", self.lines());
        }
        if written == files.len() { Ok(()) } else { Err(anyhow!("a report could not be written")) }
    }

    /// Returns a line for each of the first findings.
    fn lines(&self) -> String {
        self.report.findings.iter().take(PRINTED).map(|finding| format!("isobit-sim: {finding}\n")).collect()
    }

    fn text(&self, unused: bool) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let mut line = |words: &dyn std::fmt::Display| _ = writeln!(text, "isobit-sim: {words}");
        if self.processes == 0 {
            line(&"the program used no simulated GPU");
        }
        for used in &self.report.suppressions {
            match used.count {
                0 if unused => line(&format_args!("unused suppression in line {}: {}", used.line, used.text)),
                0 => {}
                count => line(&format_args!("suppressed {count} by line {}: {}", used.line, used.text)),
            }
        }
        if !self.any() {
            return text;
        }
        line(&self.report.counts);
        let mut kernels: Vec<&OfKernel> = self.report.kernels.iter().collect();
        kernels.sort_by_key(|of| (std::cmp::Reverse(of.count), of.kind, &of.kernel));
        let width = kernels.iter().map(|of| of.kind.to_string().len()).max().unwrap_or(0);
        let _ = writeln!(text, "{:>10}  {:<width$}  kernel", "count", "kind");
        for OfKernel { kind, kernel, count } in kernels {
            let _ = writeln!(text, "{count:>10}  {:<width$}  {kernel}", kind.to_string());
        }
        text
    }
}

fn write(report: &Report, path: &Path) -> Result<()> {
    let format = Format::of(path).context("the name must end in .txt, .json or .sarif")?;
    Ok(replace(path, &report.to_text(format))?)
}
