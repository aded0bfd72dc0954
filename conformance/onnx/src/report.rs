//! The counts of a run, and what is wrong with it.

use crate::run::Verdict;
use crate::stop::Reason;
use std::collections::BTreeMap;
use std::fmt;

/// What came of the cases of a run.
#[derive(Debug, Default)]
pub struct Report {
    passed: usize,
    /// Cases that disagree as the list says.
    listed: Vec<String>,
    unexpressed: BTreeMap<Reason, Vec<String>>,
    /// What makes the run fail.
    wrong: Vec<String>,
}

impl Report {
    /// Adds a case. `reason` is that of the list.
    pub fn add(&mut self, name: &str, verdict: Verdict, reason: Option<&str>) {
        match (verdict, reason) {
            (Verdict::Passed, None) => self.passed += 1,
            (Verdict::Passed, Some(_)) => self.wrong.push(format!("{name} passes: remove it from listed.tsv")),
            (Verdict::Parted(why), _) => self.wrong.push(format!("{name}: {why}")),
            (Verdict::Failed(_), Some(reason)) => self.listed.push(format!("{name}: {reason}")),
            (Verdict::Failed(why), None) => self.wrong.push(format!("{name}: {why}")),
            (Verdict::Unexpressed(why), None) => self.unexpressed.entry(why).or_default().push(name.into()),
            (Verdict::Unexpressed(why), Some(_)) => {
                self.wrong.push(format!("{name} is not expressed ({}: {why}), and is listed", why.kind()));
            }
        }
    }

    /// Adds a line of the list that names no case.
    pub fn add_unknown(&mut self, name: &str) {
        self.wrong.push(format!("{name} is listed, and the package has no such case"));
    }

    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.wrong.is_empty()
    }

    /// Returns what is wrong, one line each.
    pub fn wrong(&self) -> &[String] {
        &self.wrong
    }

    /// Returns the cases that disagree as the list says, with the reasons.
    pub fn listed(&self) -> &[String] {
        &self.listed
    }

    /// Returns the cases that are not expressed, by reason.
    pub fn unexpressed(&self) -> impl Iterator<Item = (&Reason, &[String])> {
        self.unexpressed.iter().map(|(reason, names)| (reason, names.as_slice()))
    }

    fn left_out(&self) -> usize {
        self.unexpressed.values().map(Vec::len).sum()
    }
}

/// The counts as a table.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expressed = self.passed + self.listed.len() + self.wrong.len();
        writeln!(f, "{:>6}  cases", expressed + self.left_out())?;
        writeln!(f, "{expressed:>6}  expressed by operations of the HAL")?;
        writeln!(f, "{:>6}    passed", self.passed)?;
        writeln!(f, "{:>6}    listed as different, with reasons", self.listed.len())?;
        writeln!(f, "{:>6}    wrong", self.wrong.len())?;
        write!(f, "{:>6}  not expressed", self.left_out())?;
        let mut kinds = BTreeMap::<&str, (usize, Vec<String>)>::new();
        for (reason, names) in &self.unexpressed {
            let (count, reasons) = kinds.entry(reason.kind()).or_default();
            *count += names.len();
            reasons.push(format!("{reason} {}", names.len()));
        }
        for (kind, (count, reasons)) in kinds {
            write!(f, "\n{count:>6}    {kind}: {}", reasons.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_case_that_passes_is_wrong() {
        let mut report = Report::default();
        report.add("test_a", Verdict::Passed, None);
        report.add("test_b", Verdict::Failed("1 instead of 2".into()), Some("rounds elsewhere"));
        report.add("test_c", Verdict::Unexpressed(Reason::Dtype("uint16".into())), None);
        assert!(report.is_good());
        let table = report.to_string();
        assert!(table.contains("3  cases") && table.contains("2  expressed"), "{table}");
        assert!(table.contains("1    dtype missing: uint16 1"), "{table}");
        report.add("test_d", Verdict::Passed, Some("rounds elsewhere"));
        report.add("test_e", Verdict::Failed("1 instead of 2".into()), None);
        report.add("test_f", Verdict::Unexpressed(Reason::Scope("strings")), Some("rounds elsewhere"));
        report.add_unknown("test_g");
        report.add("test_h", Verdict::Parted("other bits than on the CPU".into()), Some("rounds elsewhere"));
        assert_eq!(report.wrong().len(), 5);
    }
}
