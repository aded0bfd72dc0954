//! Lists of what is known of a foreign program: one line each, with a kind, a name and a reason.

use anyhow::{Result, bail};

/// A line of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// What the line says of the name.
    pub kind: &'a str,
    /// A test, or a part of a finding.
    pub name: &'a str,
    /// Why.
    pub reason: &'a str,
}

/// Reads a list, whose lines may be of these kinds.
///
/// # Errors
/// Returns an error that shows a line that is not in this form.
pub fn read<'a>(text: &'a str, kinds: &[&str]) -> Result<Vec<Listed<'a>>> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let read = |line: &'a str| match line.split('\t').collect::<Vec<_>>()[..] {
        [kind, name, reason] if kinds.contains(&kind) && !reason.is_empty() => Ok(Listed { kind, name, reason }),
        _ => bail!("`{line}` is not one of {}, a name and a reason with tabs between", kinds.join(", ")),
    };
    lines.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_kind_a_name_and_a_reason() {
        let text = "# why\n\nfails\ta::b\tit is absent\n";
        assert_eq!(read(text, &["fails"]).unwrap(), [Listed { kind: "fails", name: "a::b", reason: "it is absent" }]);
        for wrong in ["passes\ta\tb", "fails\ta", "fails\ta\t"] {
            let e = read(wrong, &["fails"]).unwrap_err().to_string();
            assert!(e.contains(wrong), "{e}");
        }
    }
}
