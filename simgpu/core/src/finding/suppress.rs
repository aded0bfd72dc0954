//! Suppressions: findings that the user knows and does not want to see, by kind, kernel and place.
//!
//! Each line of the file is one suppression, `KIND:KERNEL`, then any of `buffer=`, `instruction=`
//! and `source=` after semicolons. A `*` stands for any text, in every part. A pattern is compared
//! with the whole text and not with a part of it: a suppression that covers more than its author
//! saw would hide new errors.
//!
//! ```text
//! # The histogram is approximate by design.
//! race:histogram_*
//! uninitialised_read:*; source=padding.cuh:*
//! out_of_bounds:copy to the device; buffer=allocation #3 *
//! ```

use super::{Finding, FindingKind};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The suppressions of a file.
#[derive(Debug, Default)]
pub struct Suppressions(Vec<Rule>);

#[derive(Debug, Default)]
struct Rule {
    line: usize,
    text: String,
    /// `None` for every kind.
    kind: Option<FindingKind>,
    kernel: String,
    buffer: Option<String>,
    instruction: Option<String>,
    source: Option<String>,
    covered: AtomicUsize,
}

/// How often a suppression was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The line of the file.
    pub line: usize,
    /// What the line says.
    pub text: String,
    /// The number of findings that it covered.
    pub count: usize,
}

impl Suppressions {
    /// Reads a file. Also returns one sentence per line that is not a suppression, or one about the
    /// file.
    pub fn read(path: &Path) -> (Self, Vec<String>) {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let (rules, errors) = Self::parse(&text);
                (rules, errors.into_iter().map(|(line, why)| format!("{}:{line}: {why}", path.display())).collect())
            }
            Err(error) => {
                (Self::default(), vec![format!("the suppressions in {} cannot be read: {error}", path.display())])
            }
        }
    }

    /// Parses the text of a file. Also returns the number of each line that is not a suppression,
    /// and the reason.
    pub fn parse(text: &str) -> (Self, Vec<(usize, String)>) {
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text.trim())) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            match Rule::parse(line, text) {
                Ok(rule) => rules.push(rule),
                Err(why) => errors.push((line, why)),
            }
        }
        (Self(rules), errors)
    }

    /// Whether a suppression covers the finding; counts it.
    pub(super) fn cover(&self, finding: &Finding) -> bool {
        let Some(rule) = self.0.iter().find(|rule| rule.covers(finding)) else { return false };
        rule.covered.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Counts from 0 again.
    pub(super) fn forget_uses(&self) {
        self.0.iter().for_each(|rule| rule.covered.store(0, Ordering::Relaxed));
    }

    /// Returns how often each suppression was used, in the order of the file.
    pub fn uses(&self) -> Vec<Use> {
        let used =
            |rule: &Rule| Use { line: rule.line, text: rule.text.clone(), count: rule.covered.load(Ordering::Relaxed) };
        self.0.iter().map(used).collect()
    }
}

impl Rule {
    fn parse(line: usize, text: &str) -> Result<Self, String> {
        let mut parts = text.split(';').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let Some((kind, kernel)) = first.split_once(':').filter(|(_, kernel)| !kernel.trim().is_empty()) else {
            return Err(format!("{first:?} is not a kind and a kernel, such as race:histogram_*"));
        };
        let kind = match kind.trim() {
            "*" => None,
            name => Some(FindingKind::ALL.into_iter().find(|kind| kind.id() == name).ok_or_else(|| {
                let known = FindingKind::ALL.map(FindingKind::id).join(", ");
                format!("{name:?} is not a kind of finding; there are {known}, and * for all")
            })?),
        };
        let mut rule = Self { line, text: text.to_owned(), kind, kernel: kernel.trim().to_owned(), ..Self::default() };
        for part in parts.filter(|part| !part.is_empty()) {
            let (name, pattern) = part.split_once('=').unwrap_or((part, ""));
            let into = match name.trim() {
                "buffer" => &mut rule.buffer,
                "instruction" => &mut rule.instruction,
                "source" => &mut rule.source,
                _ => return Err(format!("{part:?} is none of buffer=, instruction= and source= with a pattern")),
            };
            if pattern.trim().is_empty() || into.replace(pattern.trim().to_owned()).is_some() {
                return Err(format!("{part:?} has no pattern, or is there twice"));
            }
        }
        Ok(rule)
    }

    fn covers(&self, finding: &Finding) -> bool {
        let fits = |pattern: &Option<String>, text: &str| pattern.as_ref().is_none_or(|p| matches(p, text));
        let at_source = || {
            let Some(pattern) = &self.source else { return true };
            finding.source().is_some_and(|(file, line)| matches(pattern, &format!("{file}:{line}")))
        };
        self.kind.is_none_or(|kind| kind == finding.kind)
            && matches(&self.kernel, &finding.kernel)
            && fits(&self.buffer, &finding.buffer)
            && fits(&self.instruction, &finding.instruction)
            && at_source()
    }
}

/// Whether a text is what a pattern says; `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        // The first place is as good as any other, because a star follows.
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: FindingKind, kernel: &str, instruction: &str, buffer: &str) -> Finding {
        let [kernel, instruction, buffer] = [kernel, instruction, buffer].map(str::to_owned);
        Finding { kind, kernel, instruction, buffer, thread: String::new(), offset: 0, message: String::new() }
    }

    #[test]
    fn a_star_stands_for_any_text() {
        let yes = [
            ("*", ""),
            ("a*", "a"),
            ("a*c", "abc"),
            ("*b*", "abc"),
            ("a*b*c", "a-b-b-c"),
            ("abc", "abc"),
            ("*aab", "aaab"),
        ];
        let no = [("a", "ab"), ("", "a"), ("a*c", "abcd"), ("*b", "abc"), ("a*b*c", "acb"), ("ab*ba", "aba")];
        assert!(yes.iter().all(|(pattern, text)| matches(pattern, text)));
        assert!(!no.iter().any(|(pattern, text)| matches(pattern, text)));
    }

    #[test]
    fn a_finding_is_covered_by_kind_kernel_and_place() {
        let text = "# known\n\nrace:sum_*\n*:copy to the device ; buffer=allocation #3 *\n\
                    misaligned:*;source=pad.cuh:7;instruction=*ld.*\n";
        let (rules, errors) = Suppressions::parse(text);
        assert_eq!(errors, []);
        let race = |kernel| finding(FindingKind::Race, kernel, "", "");
        assert!(rules.cover(&race("sum_f32")) && rules.cover(&race("sum_")));
        assert!(!rules.cover(&race("a_sum_f32")) && !rules.cover(&finding(FindingKind::OverRead, "sum_f32", "", "")));
        let copy = |buffer| finding(FindingKind::OutOfBounds, "copy to the device", "", buffer);
        assert!(rules.cover(&copy("allocation #3 of 4 bytes")) && !rules.cover(&copy("allocation #30 of 4 bytes")));
        let load = |instruction| finding(FindingKind::Misaligned, "k", instruction, "");
        assert!(rules.cover(&load("line 9: ld.global.u32 %r1, [%rd1]; (pad.cuh:7)")));
        assert!(!rules.cover(&load("line 9: ld.global.u32 %r1, [%rd1]; (pad.cuh:70)")));
        assert!(!rules.cover(&load("line 9: ld.global.u32 %r1, [%rd1];")));
        let counts: Vec<_> = rules.uses().into_iter().map(|used| (used.line, used.count)).collect();
        assert_eq!(counts, [(3, 2), (4, 1), (5, 1)]);
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_hold() {
        let (rules, errors) = Suppressions::parse("race\nraces:k\nrace:\nrace:k;where=x\nrace:k;buffer=\nrace:k");
        let lines: Vec<_> = errors.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 5]);
        assert!(errors[1].1.contains("\"races\"") && errors[1].1.contains("divergent_barrier"), "{errors:?}");
        assert!(rules.cover(&finding(FindingKind::Race, "k", "", "")));
        let (_, errors) = Suppressions::read(Path::new("/no such file"));
        assert!(errors.len() == 1 && errors[0].contains("/no such file"), "{errors:?}");
    }

    #[test]
    fn the_names_of_kinds_are_those_in_json() {
        for kind in FindingKind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("{:?}", kind.id()));
        }
    }
}
