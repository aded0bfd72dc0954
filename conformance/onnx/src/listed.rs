//! The cases that are known to disagree, with the reasons.

use anyhow::{Result, ensure};
use std::collections::BTreeMap;

/// The committed list, one case a line: its name, a tab, and the reason.
const LIST: &str = include_str!("../listed.tsv");

/// Returns the reason of each listed case.
///
/// # Errors
/// Fails if a line has no reason, or names a case for the second time.
pub fn reasons() -> Result<BTreeMap<&'static str, &'static str>> {
    parse(LIST)
}

fn parse(list: &str) -> Result<BTreeMap<&str, &str>> {
    let mut reasons = BTreeMap::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let (name, reason) = line.split_once('\t').unwrap_or((line, ""));
        ensure!(!reason.trim().is_empty(), "listed.tsv has no reason for `{name}`");
        ensure!(reasons.insert(name, reason).is_none(), "listed.tsv has {name} twice");
    }
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_reason_for_each_case() {
        assert!(reasons().unwrap().keys().all(|name| name.starts_with("test_")));
        assert!(parse("test_a\twhy\n# note\n").unwrap().contains_key("test_a"));
        assert!(
            parse("test_a\n").is_err() && parse("test_a\t \n").is_err() && parse("test_a\tb\ntest_a\tc\n").is_err()
        );
    }
}
