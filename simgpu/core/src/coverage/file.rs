//! The file of a process's coverage, in JSON, and how the files of several processes become one.

use super::Paths;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What ran in a process, or in several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The program.
    pub program: String,
    /// The vendor of the simulated card, `cuda` or `rocm`; empty if there are several.
    pub vendor: String,
    /// The paths of the sources, as the compiler wrote them.
    pub files: Vec<String>,
    /// The kernels of all modules that were loaded.
    pub kernels: Vec<KernelLines>,
}

/// What ran of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLines {
    /// Its name.
    pub name: String,
    /// The card, such as `sm_80`.
    pub card: String,
    /// The number of launches.
    pub launches: u64,
    /// The number of instructions ...
    pub instructions: u32,
    /// ... and of those that at least one thread executed.
    pub executed: u32,
    /// The same for each line of a source, if the code has line information.
    pub lines: Vec<LineCount>,
}

/// The instructions of a line in a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u32; 4]", into = "[u32; 4]")]
pub struct LineCount {
    /// The index of the file in [`File::files`].
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
    /// The number of instructions ...
    pub instructions: u32,
    /// ... and of those that at least one thread executed.
    pub executed: u32,
}

impl From<[u32; 4]> for LineCount {
    fn from([file, line, instructions, executed]: [u32; 4]) -> Self {
        Self { file, line, instructions, executed }
    }
}

impl From<LineCount> for [u32; 4] {
    fn from(of: LineCount) -> Self {
        [of.file, of.line, of.instructions, of.executed]
    }
}

/// The numbers of instructions, and of those that were executed, by file and line.
type Counts = BTreeMap<(u32, u32), [u32; 2]>;

/// Merges files. The launches of a kernel are added. Of the numbers of instructions the largest are
/// kept, because the processes may have run the same ones: what a line has executed in total is at
/// least that. An index of a file that does not exist is left out.
pub fn merge(files: impl IntoIterator<Item = File>) -> File {
    let mut merged = File::default();
    let mut paths = Paths::default();
    let mut kernels: BTreeMap<(String, String), (KernelLines, Counts)> = BTreeMap::new();
    let mut first = true;
    for file in files {
        if std::mem::take(&mut first) {
            (merged.program, merged.vendor) = (file.program, file.vendor);
        } else if merged.vendor != file.vendor {
            merged.vendor.clear();
        }
        let numbers: Vec<u32> = file.files.iter().map(|path| paths.number(path)).collect();
        for kernel in file.kernels {
            let key = (kernel.name.clone(), kernel.card.clone());
            let (all, lines) = kernels.entry(key).or_default();
            all.launches += kernel.launches;
            all.instructions = all.instructions.max(kernel.instructions);
            all.executed = all.executed.max(kernel.executed);
            for of in kernel.lines {
                let Some(&file) = numbers.get(of.file as usize) else { continue };
                let count = lines.entry((file, of.line)).or_default();
                *count = [count[0].max(of.instructions), count[1].max(of.executed)];
            }
        }
    }
    merged.files = paths.into_paths();
    let line =
        |((file, line), [instructions, executed]): (_, [u32; 2])| LineCount { file, line, instructions, executed };
    let kernel = |((name, card), (kernel, lines)): (_, (KernelLines, Counts))| KernelLines {
        name,
        card,
        lines: lines.into_iter().map(line).collect(),
        ..kernel
    };
    merged.kernels = kernels.into_iter().map(kernel).collect();
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, launches: u64, lines: &[[u32; 4]]) -> File {
        let lines = lines.iter().map(|&line| line.into()).collect();
        let kernel = KernelLines { name: "k".into(), card: "c".into(), launches, lines, ..Default::default() };
        File {
            program: path.into(),
            vendor: "cuda".into(),
            files: vec![path.into(), "b".into()],
            kernels: vec![kernel],
        }
    }

    #[test]
    fn merged_lines_have_run_if_they_ran_anywhere() {
        let one = file("a", 2, &[[0, 5, 3, 0], [1, 6, 2, 2]]);
        let two = file("c", 3, &[[0, 5, 4, 1], [1, 6, 2, 0], [9, 1, 1, 1]]);
        let merged = merge([one, two]);
        assert_eq!(merged.files, ["a", "b", "c"]);
        let [kernel] = &merged.kernels[..] else { panic!("{merged:?}") };
        assert_eq!(kernel.launches, 5);
        assert_eq!(kernel.lines, [[0, 5, 3, 0].into(), [1, 6, 2, 2].into(), [2, 5, 4, 1].into()]);
        assert_eq!(merged.vendor, "cuda");
        let text = serde_json::to_string(&merged).unwrap();
        assert!(text.contains("[2,5,4,1]"), "{text}");
        assert_eq!(serde_json::from_str::<File>(&text).unwrap(), merged);
    }
}
