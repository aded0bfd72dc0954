//! What the documents say of the sources, compared with the sources: environment variables, links,
//! the length of the README, and the width of comments.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Comments are at most this wide, so that two files fit beside each other.
const COMMENT_WIDTH: usize = 100;
const README_LINES: usize = 200;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

fn files(endings: &[&str]) -> Vec<PathBuf> {
    fn walk(dir: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).expect("a folder of the checkout is readable") {
            let path = entry.expect("a folder of the checkout is readable").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                let is_ours = (!name.starts_with('.') || name == ".github") && name != "target";
                if is_ours {
                    walk(&path, endings, found);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), endings, &mut found);
    assert!(found.len() > 5, "only {} files end in {endings:?}", found.len());
    found
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}

/// The names that begin with `ISOBIT_` and stand between quotes, as a variable's name does where it
/// is read.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('"')
        .skip(1)
        .filter(|between| {
            between.starts_with("ISOBIT_")
                && between.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        })
        .map(str::to_string)
}

#[test]
fn the_table_of_environment_variables_is_complete_and_true() {
    let page = read(&root().join("docs/environment.md"));
    let documented: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.starts_with("ISOBIT_"))
        .map(str::to_string)
        .collect();
    assert!(documented.len() > 20, "the table was not found: {documented:?}");
    let mut sources = String::new();
    let mut read_somewhere = BTreeSet::new();
    for file in files(&[".rs"]).iter().filter(|file| !shown(file).starts_with("xtask/tests")) {
        let text = read(file);
        // Tests set variables of their own for the processes that they start, and the lists of
        // kernel instances name macros.
        let is_test = shown(file).contains("/tests/") || shown(file).starts_with("tests/");
        if !is_test && !file.ends_with("instances.rs") {
            let (code, _unit_tests) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
            read_somewhere.extend(quoted(code));
        }
        sources.push_str(&text);
    }
    let is_read = |name: &&String| sources.contains(&format!("\"{name}\""));
    let unread: Vec<&String> = documented.iter().filter(|name| !is_read(name)).collect();
    assert!(unread.is_empty(), "nothing reads {unread:?}, which docs/environment.md lists");
    let missing: Vec<&String> = read_somewhere.difference(&documented).collect();
    assert!(missing.is_empty(), "docs/environment.md lacks {missing:?}");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let online = "https://github.com/isobit/isobit/blob/main/";
    let online_folder = "https://github.com/isobit/isobit/tree/main/";
    let mut checked = 0;
    let mut broken = Vec::new();
    for file in files(&[".md"]) {
        let text = read(&file);
        let folder = file.parent().expect("a file is in a folder");
        // `[text](target)` and `[text]: target`, outside of code.
        let outside: String = text.split("```").step_by(2).collect();
        let inline = outside.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        let defined = outside.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: ").map(|(_, to)| to));
        for target in inline.chain(defined) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let ours = path.strip_prefix(online).or_else(|| path.strip_prefix(online_folder));
            let to = match ours {
                Some(path) => root().join(path),
                None if path.contains("://") || path.starts_with("mailto:") => continue,
                None if path.is_empty() => file.clone(),
                // Items of Rust, which rustdoc checks.
                None if path.contains("::") => continue,
                None => folder.join(path),
            };
            checked += 1;
            let has_anchor = anchor.is_empty() || to.is_dir() || {
                let slug = |heading: &str| -> String {
                    let kept = heading.trim_start_matches('#').trim().to_lowercase();
                    kept.chars()
                        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                        .collect::<String>()
                        .replace(' ', "-")
                };
                to.exists() && read(&to).lines().any(|line| line.starts_with('#') && slug(line) == anchor)
            };
            if !to.exists() || !has_anchor {
                broken.push(format!("{}: {target}", shown(&file)));
            }
        }
    }
    assert!(checked > 30, "only {checked} links were found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The names between backticks of a table's cell.
fn code_of(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn the_operations_of_burns_table_are_those_of_the_hal() {
    let cells = read(&root().join("conformance/cells.tsv"));
    let operations: BTreeSet<&str> = cells.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    let page = read(&root().join("docs/burn.md"));
    let rows: Vec<Vec<&str>> =
        page.lines().filter(|line| line.starts_with("| `")).map(|line| line.split(" | ").collect()).collect();
    let mut methods = BTreeSet::new();
    for row in &rows {
        let [method, named, _how] = row[..] else { panic!("a row of another form: {row:?}") };
        let method = code_of(method).next().expect("the row begins with a name");
        assert!(methods.insert(method), "{method} is there twice");
        for operation in code_of(named) {
            assert!(operations.contains(operation), "{method}: the HAL has no operation {operation}");
        }
    }
    let told = format!("the {} methods", rows.len());
    assert!(rows.len() > 200 && page.contains(&told), "the page does not tell of {told}");
}

#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(lines < README_LINES, "the README has {lines} lines; reference material belongs into docs/");
}

#[test]
fn comments_are_narrow() {
    let mut wide = Vec::new();
    for file in files(&[".rs", ".cu", ".cuh", ".py", ".toml", ".yml"]) {
        let is_hash = [".py", ".toml", ".yml"].iter().any(|ending| shown(&file).ends_with(ending));
        let mark = if is_hash { "#" } else { "//" };
        for (number, line) in read(&file).lines().enumerate() {
            let comment = line.trim_start().starts_with(mark) || line.contains(&format!(" {mark} "));
            // A URL cannot be broken, and a directive belongs to its line.
            let fixed = line.contains("://") || line.ends_with("# fmt: skip");
            if comment && line.chars().count() > COMMENT_WIDTH && !fixed {
                wide.push(format!("{}:{}", shown(&file), number + 1));
            }
        }
    }
    assert!(wide.is_empty(), "comments of more than {COMMENT_WIDTH} columns:\n{}", wide.join("\n"));
}

/// The checks above see what they are for.
#[test]
fn names_are_found_between_quotes_only() {
    let text = r#"var("ISOBIT_A") // ISOBIT_B "ISOBIT_c" "ISOBIT_D=1" x = "ISOBIT_E_2";"#;
    assert_eq!(quoted(text).collect::<Vec<_>>(), ["ISOBIT_A", "ISOBIT_E_2"]);
}
