//! The lines that need not be executed and the kernels that need not be launched, with the reasons:
//! a committed table. A line is named by its text, so that it is found again when it moves.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// What stands in the first column for a kernel instead of a source.
const KERNEL: &str = "kernel";

/// The table.
#[derive(Debug, Default)]
pub struct Reasons(BTreeMap<(String, String), String>);

impl Reasons {
    /// Reads a table.
    ///
    /// # Errors
    /// Fails if the file cannot be read or a line of it is not three columns.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// Parses a table: source or `kernel`, the text of the line or the symbol, the reason, with
    /// tabs between them. Lines that begin with `#` are comments.
    fn parse(text: &str) -> Result<Self> {
        let mut all = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
            let [place, text, reason] = columns[..] else {
                bail!(
                    "line {number} has {} columns; it needs source, line and reason, with tabs between",
                    columns.len()
                )
            };
            ensure!(!reason.is_empty(), "line {number} has no reason");
            let before = all.insert((place.to_owned(), text.to_owned()), reason.to_owned());
            ensure!(before.is_none(), "line {number} says again what a line before it says");
        }
        Ok(Self(all))
    }

    /// Returns why a line need not be executed.
    pub fn of_line(&self, source: &str, text: &str) -> Option<&str> {
        self.0.get(&(source.to_owned(), text.to_owned())).map(String::as_str)
    }

    /// Returns why a kernel need not be launched.
    pub fn of_kernel(&self, symbol: &str) -> Option<&str> {
        self.of_line(KERNEL, symbol)
    }

    /// Returns the entries that none of these lines and kernels needs.
    pub fn stale<'a>(
        &'a self,
        lines: impl Iterator<Item = (&'a str, &'a str)>,
        kernels: impl Iterator<Item = &'a str>,
    ) -> Vec<String> {
        let needed: Vec<(&str, &str)> = lines.chain(kernels.map(|symbol| (KERNEL, symbol))).collect();
        let stale = self.0.keys().filter(|(place, text)| !needed.contains(&(place.as_str(), text.as_str())));
        stale.map(|(place, text)| format!("{place}: {text}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_stale_entries_are_found() {
        let reasons = Reasons::parse("# comment\n\nops/a.cu\treturn 0;\tnever\nkernel\tk_f32\trare\n").unwrap();
        assert_eq!(reasons.of_line("ops/a.cu", "return 0;"), Some("never"));
        assert_eq!((reasons.of_line("ops/b.cu", "return 0;"), reasons.of_kernel("k_f32")), (None, Some("rare")));
        let stale =
            |lines: &[(&'static str, &'static str)]| reasons.stale(lines.iter().copied(), ["k_f32"].into_iter());
        assert!(stale(&[("ops/a.cu", "return 0;")]).is_empty());
        assert_eq!(stale(&[]), ["ops/a.cu: return 0;"]);
    }

    #[test]
    fn a_table_with_a_mistake_is_refused() {
        for (text, says) in
            [("a\tb\n", "line 1 has 2 columns"), ("a\tb\t \n", "no reason"), ("a\tb\tc\na\tb\td\n", "again")]
        {
            let error = Reasons::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_committed_table_is_sound() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("reasons.tsv");
        let reasons = Reasons::read(&file).unwrap();
        let sources = crate::sources::Sources::of_tree().unwrap();
        for (place, text) in reasons.0.keys() {
            let exists = if place == KERNEL {
                isobit_kernels::KERNELS.iter().any(|entry| entry.symbol == text)
            } else {
                sources.lines(place).iter().any(|line| line.trim() == text)
            };
            assert!(exists, "{place} has no {text:?} any more: remove it from {}", file.display());
        }
    }
}
