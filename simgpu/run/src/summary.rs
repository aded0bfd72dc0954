//! The findings of a program's processes: gathered, counted and written.

use anyhow::{Context, Result};
use isobit_simgpu_core::finding::report::{Format, OfKernel, Report, replace};
use isobit_simgpu_core::finding::suppress::Use;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Findings that are printed if no file gets them.
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

    /// Writes the findings to files, and prints how many there are.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn tell(&self, program: &str, files: &[PathBuf], unused: bool) -> Result<()> {
        let report = Report { program: program.to_owned(), ..self.report.clone() };
        for path in files {
            let format = Format::of(path)
                .with_context(|| format!("{}: the name must end in .txt, .json or .sarif", path.display()))?;
            replace(path, &report.to_text(format)).with_context(|| format!("the report {}", path.display()))?;
        }
        eprint!("{}", self.text(files, unused));
        Ok(())
    }

    fn text(&self, files: &[PathBuf], unused: bool) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let mut line = |words: &dyn std::fmt::Display| _ = writeln!(text, "isobit-sim: {words}");
        if self.processes == 0 {
            line(&"the program used no simulated GPU");
        }
        if files.is_empty() {
            self.report.findings.iter().take(PRINTED).for_each(|finding| line(finding));
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
        for path in files {
            let _ = writeln!(text, "isobit-sim: the findings are in {}", path.display());
        }
        text
    }
}
