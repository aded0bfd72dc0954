//! The lists of mutants: TOML files in `lists/first` and `lists/second`, one per family or subject.

use crate::suite::GROUP;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// Where the lists are, below the root of the checkout.
pub const FOLDER: &str = "conformance/mutants/lists";

/// A mutant: a small change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// Its name, unique among all lists.
    pub id: String,
    /// The changed file, relative to the root of the checkout.
    pub file: String,
    /// A text that occurs once in the file ...
    pub find: String,
    /// ... and what replaces it.
    pub replace: String,
    /// Why somebody would write this.
    pub thought: String,
    /// The operations and groups of the suite that run, such as `sum` or `device.streams`.
    #[serde(default)]
    pub ops: Vec<String>,
    /// The value dtypes with which they run first; empty for all.
    #[serde(default)]
    pub dtypes: Vec<String>,
    /// Whether it shows for few inputs only.
    #[serde(default)]
    pub subtle: bool,
    /// The proof that no behaviour changes. It must then survive.
    pub equivalent: Option<String>,
    /// Arguments of `cargo test` that may kill it, each a command of its own, run after the cells.
    #[serde(default)]
    pub tests: Vec<String>,
    /// What kills it where a default run cannot, such as `cargo xtask test --full`.
    pub run: Option<String>,
    /// The run on a real card that kills it, if nothing else can.
    pub real_card: Option<String>,
    /// Whether only clang sees the text. AMD's run-time compiler is clang too; for NVIDIA the
    /// kernels are built again.
    #[serde(default)]
    pub clang_only: bool,
    /// The list: `first` or `second`.
    #[serde(skip)]
    pub list: String,
    /// The family or subject, which is the name of its file.
    #[serde(skip)]
    pub family: String,
}

/// The kind of file that a mutant changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Kernels and the device library.
    Kernels,
    /// Launch code, streams, memory, and the checks of hal.
    Host,
    /// The CUDA and ROCm drivers.
    Drivers,
    /// The simulators and the suite itself.
    Checkers,
}

impl Class {
    /// Every class, in the order of reports.
    pub const ALL: [Class; 4] = [Class::Kernels, Class::Host, Class::Drivers, Class::Checkers];

    /// Returns the class of a file of the checkout.
    pub fn of(file: &str) -> Self {
        match file {
            f if f.ends_with(".cu") || f.ends_with(".cuh") => Self::Kernels,
            f if f.starts_with("driver-") => Self::Drivers,
            f if f.starts_with("simgpu/") || f.starts_with("conformance/") => Self::Checkers,
            _ => Self::Host,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kernels => "kernels",
            Self::Host => "host",
            Self::Drivers => "drivers",
            Self::Checkers => "checkers",
        })
    }
}

/// The folder of the sources that a device compiles itself.
pub const KERNELS: &str = "kernels-common/src/";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    mutant: Vec<Mutant>,
}

impl Mutant {
    /// The kind of file that it changes.
    pub fn class(&self) -> Class {
        Class::of(&self.file)
    }

    /// Returns its file's path below the kernel tree, if a device compiles the file itself.
    pub fn kernel_source(&self) -> Option<&str> {
        self.file.strip_prefix(KERNELS).filter(|_| self.class() == Class::Kernels)
    }

    /// Whether it runs without any build.
    pub fn needs_no_build(&self) -> bool {
        self.kernel_source().is_some() && self.tests.is_empty() && !self.clang_only
    }

    /// Returns a file's text with the change.
    ///
    /// # Errors
    /// Fails if the text to find does not occur exactly once.
    pub fn applied_to(&self, text: &str) -> Result<String> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            0 => bail!("{}: {} does not contain the text to find:\n{}", self.id, self.file, self.find),
            n => bail!("{}: {} contains the text to find {n} times:\n{}", self.id, self.file, self.find),
        }
    }

    /// Whether it may survive: it changes nothing, or the list names what else kills it.
    pub fn may_survive(&self) -> bool {
        self.equivalent.is_some() || self.run.is_some() || self.real_card.is_some()
    }
}

/// Reads every mutant of the lists, in the order of list, file and entry.
///
/// # Errors
/// Fails if a file cannot be read or is no list.
pub fn read(root: &Path) -> Result<Vec<Mutant>> {
    let mut all = Vec::new();
    for list in ["first", "second"] {
        let folder = root.join(FOLDER).join(list);
        let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut files = entries.map(|e| Ok(e?.path())).collect::<Result<Vec<_>>>()?;
        files.retain(|file| file.extension().is_some_and(|e| e == "toml"));
        files.sort();
        for path in files {
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let file: File = toml::from_str(&text).with_context(|| format!("{} is no list", path.display()))?;
            let family = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            all.extend(file.mutant.into_iter().map(|m| Mutant { list: list.into(), family: family.clone(), ..m }));
        }
    }
    Ok(all)
}

/// Returns what is wrong with the lists: a sentence for each fault.
pub fn faults(root: &Path, mutants: &[Mutant]) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut files = BTreeMap::new();
    let known = known_ops(root);
    for m in mutants {
        if !seen.insert(&m.id) {
            found.push(format!("{}: another mutant has this id", m.id));
        }
        let text = files.entry(&m.file).or_insert_with(|| std::fs::read_to_string(root.join(&m.file)));
        match text {
            Err(e) => found.push(format!("{}: {} cannot be read: {e}", m.id, m.file)),
            Ok(text) => found.extend(m.applied_to(text).err().map(|e| e.to_string())),
        }
        if m.find == m.replace {
            found.push(format!("{}: the replacement is the text itself", m.id));
        }
        if m.thought.trim().is_empty() {
            found.push(format!("{}: it lacks the thought behind it", m.id));
        }
        let unknown = m.ops.iter().filter(|op| !known.contains(*op));
        found.extend(unknown.map(|op| format!("{}: the suite has no operation and no group {op}", m.id)));
        if m.ops.is_empty() && (m.tests.is_empty() || m.kernel_source().is_some()) {
            found.push(format!("{}: nothing runs that could kill it: give `ops`, or for host code `tests`", m.id));
        }
        if !m.dtypes.is_empty() && m.ops.iter().all(|op| op.starts_with(GROUP)) {
            found.push(format!("{}: groups have no dtypes, and no operation is named", m.id));
        }
        if m.equivalent.is_some() && (m.run.is_some() || m.real_card.is_some()) {
            found.push(format!("{}: what is equivalent is killed by nothing", m.id));
        }
    }
    found
}

/// Returns the names of the suite's operations and groups.
fn known_ops(root: &Path) -> BTreeSet<String> {
    let cells = std::fs::read_to_string(root.join("conformance/cells.tsv")).unwrap_or_default();
    let ops = cells.lines().skip(1).filter_map(|line| Some(line.split('\t').next()?.to_string()));
    // A group is named after its file.
    let files = std::fs::read_dir(root.join("conformance/src/runtime_tests")).into_iter().flatten().flatten();
    let groups = files.filter_map(|f| Some(format!("device.{}", f.path().file_stem()?.to_string_lossy())));
    ops.chain(groups).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(text: &str) -> Mutant {
        let file: File = toml::from_str(text).unwrap();
        file.mutant.into_iter().next().unwrap()
    }

    const ENTRY: &str = "[[mutant]]\nid = \"a\"\nfile = \"hal/src/lib.rs\"\nfind = '''x < y'''\nreplace = 'x <= y'\n\
                         thought = \"t\"\ntests = [\"-p isobit-hal\"]\n";

    #[test]
    fn a_text_is_replaced_only_where_it_is_unique() {
        let m = mutant(ENTRY);
        assert_eq!(m.applied_to("if x < y {").unwrap(), "if x <= y {");
        assert!(m.applied_to("if x > y {").unwrap_err().to_string().contains("does not contain"));
        assert!(m.applied_to("x < y, x < y").unwrap_err().to_string().contains("2 times"));
    }

    #[test]
    fn an_unknown_key_is_refused() {
        assert!(toml::from_str::<File>(&format!("{ENTRY}opps = [\"sum\"]\n")).is_err());
    }

    #[test]
    fn the_class_follows_from_the_file() {
        for (file, class) in [
            ("kernels-common/src/ops/reduce/reduce.cu", Class::Kernels),
            ("kernels-common/src/device_lib/arith.cuh", Class::Kernels),
            ("kernels-common/src/ops/reduce/mod.rs", Class::Host),
            ("hal/src/validate.rs", Class::Host),
            ("driver-rocm/hip-sys/src/dl.rs", Class::Drivers),
            ("simgpu/core/src/race/mod.rs", Class::Checkers),
            ("conformance/src/compare/mod.rs", Class::Checkers),
        ] {
            assert_eq!(Class::of(file), class, "{file}");
        }
    }

    #[test]
    fn each_fault_of_a_list_is_named() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("hal/src")).unwrap();
        std::fs::write(root.path().join("hal/src/lib.rs"), "x < y").unwrap();
        let good = mutant(ENTRY);
        assert_eq!(faults(root.path(), std::slice::from_ref(&good)), Vec::<String>::new());
        let wrong = [
            (vec![good.clone(), good.clone()], "another mutant"),
            (vec![Mutant { file: "no.rs".into(), ..good.clone() }], "cannot be read"),
            (vec![Mutant { find: "z".into(), ..good.clone() }], "does not contain"),
            (vec![Mutant { replace: good.find.clone(), ..good.clone() }], "the text itself"),
            (vec![Mutant { thought: " ".into(), ..good.clone() }], "the thought"),
            (vec![Mutant { ops: vec!["summ".into()], ..good.clone() }], "no operation"),
            (vec![Mutant { tests: Vec::new(), ..good.clone() }], "nothing runs"),
            (vec![Mutant { dtypes: vec!["f32".into()], ..good.clone() }], "groups have no dtypes"),
            (vec![Mutant { equivalent: Some("p".into()), run: Some("r".into()), ..good.clone() }], "equivalent"),
        ];
        for (list, says) in wrong {
            let found = faults(root.path(), &list);
            assert!(found.len() == 1 && found[0].contains(says), "{says}: {found:?}");
        }
    }
}
