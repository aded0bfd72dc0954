//! The generated parts of pages, which stand between two lines that do not show.

use crate::shell::root;
use anyhow::{Context, Result, ensure};

/// The line after a generated part.
const END: &str = "<!-- end -->\n";

/// Returns the line before the part that a command generates.
fn begin(command: &str) -> String {
    format!("<!-- begin: {command} -->\n")
}

/// Writes what a command generates to its place in a page, or only compares the two.
///
/// # Errors
/// The page lacks the place; it is to be compared only, and differs.
pub fn put(page: &str, command: &str, part: &str, check: bool) -> Result<()> {
    let file = root().join(page);
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let new = with_part(&text, command, part).with_context(|| format!("{page} has no place for it"))?;
    if check {
        ensure!(new == text, "{page} is not current: run `{command}`");
    } else if new != text {
        std::fs::write(&file, new).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn with_part(text: &str, command: &str, part: &str) -> Result<String> {
    let begin = begin(command);
    let missing = || format!("the lines {begin}and {END}are missing");
    let (before, rest) = text.split_once(&begin).with_context(missing)?;
    let (_, after) = rest.split_once(END).with_context(missing)?;
    Ok(format!("{before}{begin}{part}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stands_between_its_own_marks() {
        let page = format!("a\n{}other\n{END}{}old\n{END}b\n", begin("cargo xtask one"), begin("cargo xtask two"));
        let new = with_part(&page, "cargo xtask two", "new\n").unwrap();
        assert_eq!(new, page.replace("old", "new"));
        assert!(with_part("no marks", "cargo xtask two", "new").is_err());
    }
}
