//! The kernel sources, by the names under which they are included.

use anyhow::Result;
use std::collections::BTreeMap;

/// The sources of the kernel tree.
#[derive(Debug, Default)]
pub struct Sources(BTreeMap<String, Vec<String>>);

impl Sources {
    /// Returns the sources that are embedded in this program.
    ///
    /// # Errors
    /// Fails if they are damaged.
    pub fn of_tree() -> Result<Self> {
        Ok(Self::new(isobit_kernels::headers()?.iter().map(|(name, text)| (*name, text.as_str()))))
    }

    /// Creates a tree of named texts.
    pub fn new<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Self(texts.into_iter().map(|(name, text)| (name.to_owned(), lines(text))).collect())
    }

    /// Returns the name of the source that a compiler means with a path: the longest name with
    /// which the path ends. Returns `None` for other sources, such as kernels of users.
    pub fn named(&self, path: &str) -> Option<&str> {
        let ends = |name: &&String| {
            path.strip_suffix(name.as_str()).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
        };
        self.0.keys().filter(ends).max_by_key(|name| name.len()).map(String::as_str)
    }

    /// Returns a line, from 1, without the blanks around it.
    pub fn line(&self, name: &str, line: u32) -> Option<&str> {
        Some(self.0.get(name)?.get((line as usize).checked_sub(1)?)?.trim())
    }

    /// Returns the lines of a source.
    pub fn lines(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_means_the_source_with_the_longest_name() {
        let sources = Sources::new([("ops/a.cu", "x\n  y  \n"), ("a.cu", "z"), ("isobit.cuh", "")]);
        assert_eq!(sources.named("/tmp/build/ops/a.cu"), Some("ops/a.cu"));
        assert_eq!(sources.named("ops/a.cu"), Some("ops/a.cu"));
        assert_eq!(sources.named("/tmp/a.cu"), Some("a.cu"));
        assert_eq!(sources.named("/tmp/ba.cu"), None);
        assert_eq!(sources.line("ops/a.cu", 2), Some("y"));
        assert_eq!((sources.line("ops/a.cu", 0), sources.line("ops/a.cu", 3)), (None, None));
    }
}
