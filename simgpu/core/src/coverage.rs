//! Which instructions of which kernels ran, by the lines of their sources: what a program's tests
//! leave out shows in the file that `ISOBIT_SIM_COVERAGE` names.
//!
//! A simulator registers each module that it loads while this is wanted, and marks the steps that
//! it runs. A module that is loaded again has the same marks. The file is written when the process
//! ends; a process that is killed leaves none.

mod file;

pub use file::{File, KernelLines, LineCount, merge};

use crate::settings::settings;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The modules that were loaded, in their order.
static LOADED: Mutex<Vec<Arc<Module>>> = Mutex::new(Vec::new());
/// The vendor whose simulator this is.
static VENDOR: OnceLock<String> = OnceLock::new();

/// Whether coverage is wanted (`ISOBIT_SIM_COVERAGE`).
pub fn wanted() -> bool {
    settings().coverage.is_some()
}

/// Sets the vendor that the file names.
pub fn begin(vendor: &str) {
    VENDOR.get_or_init(|| vendor.to_owned());
}

/// Writes the file, if it is wanted and a module was loaded, and returns its path. A failure is
/// printed to stderr.
pub fn write() -> Option<PathBuf> {
    let name = settings().coverage.as_ref()?;
    let vendor = VENDOR.get().map_or("", String::as_str);
    let loaded = LOADED.lock();
    if loaded.is_empty() {
        return None;
    }
    let file = merge(loaded.iter().map(|module| module.to_file(vendor)));
    let path = crate::finding::report::path(name, vendor);
    let text = serde_json::to_string(&file).unwrap_or_default() + "\n";
    if let Err(error) = crate::finding::report::replace(&path, &text) {
        eprintln!("simulated GPU: the coverage cannot be written to {}: {error}", path.display());
        return None;
    }
    Some(path)
}

/// The code of a module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Code {
    /// The card, such as `sm_80`.
    pub card: String,
    /// The names of the kernels and the steps that are theirs.
    pub kernels: Vec<(String, Range<usize>)>,
    /// The paths of the source files.
    pub files: Vec<String>,
    /// For each step the index of a file and a line from 1, if they are known.
    pub lines: Vec<Option<(u32, u32)>>,
}

/// A registered module.
#[derive(Debug)]
struct Module {
    code: Code,
    ran: Box<[AtomicBool]>,
    launches: Box<[AtomicU64]>,
}

/// The marks of one kernel.
#[derive(Debug, Clone)]
pub struct Marks {
    module: Arc<Module>,
    kernel: usize,
    /// Added to the numbers of steps.
    first: usize,
}

impl Marks {
    /// Records a launch.
    pub fn launched(&self) {
        self.module.launches[self.kernel].fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a step ran. The number counts from the start of the kernel's program.
    #[inline]
    pub fn ran(&self, step: usize) {
        // Most steps have already run. A write would take the line from the other threads' caches.
        if let Some(mark) = self.module.ran.get(self.first + step)
            && !mark.load(Ordering::Relaxed)
        {
            mark.store(true, Ordering::Relaxed);
        }
    }
}

/// How the steps of a module's kernels are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// Each kernel has a program of its own, whose first step is 0.
    PerKernel,
    /// One program has the steps of all kernels.
    PerModule,
}

/// Registers a module, and returns the marks of its kernels in their order. The same module on the
/// same card has the same marks.
pub fn register(code: Code, numbering: Numbering) -> Vec<Marks> {
    let mut loaded = LOADED.lock();
    let module = loaded.iter().find(|module| module.code == code).cloned().unwrap_or_else(|| {
        let ran = code.lines.iter().map(|_| AtomicBool::new(false)).collect();
        let launches = code.kernels.iter().map(|_| AtomicU64::new(0)).collect();
        let module = Arc::new(Module { code, ran, launches });
        loaded.push(module.clone());
        module
    });
    let kernels = module.code.kernels.iter().enumerate();
    let first = |steps: &Range<usize>| if numbering == Numbering::PerKernel { steps.start } else { 0 };
    kernels.map(|(kernel, (_, steps))| Marks { module: module.clone(), kernel, first: first(steps) }).collect()
}

impl Module {
    fn to_file(&self, vendor: &str) -> File {
        let kernel = |(index, (name, steps)): (usize, &(String, Range<usize>))| {
            let mut counts: BTreeMap<(u32, u32), [u32; 2]> = BTreeMap::new();
            let (mut instructions, mut executed) = (0, 0);
            for (line, ran) in self.code.lines[steps.clone()].iter().zip(&self.ran[steps.clone()]) {
                let ran = u32::from(ran.load(Ordering::Relaxed));
                (instructions, executed) = (instructions + 1, executed + ran);
                if let Some(line) = line {
                    let count = counts.entry(*line).or_default();
                    *count = [count[0] + 1, count[1] + ran];
                }
            }
            let line = |((file, line), [instructions, executed]): (_, [u32; 2])| LineCount {
                file,
                line,
                instructions,
                executed,
            };
            KernelLines {
                name: name.clone(),
                card: self.code.card.clone(),
                launches: self.launches[index].load(Ordering::Relaxed),
                instructions,
                executed,
                lines: counts.into_iter().map(line).collect(),
            }
        };
        let program = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
        let kernels = self.code.kernels.iter().enumerate().map(kernel).collect();
        File { program, vendor: vendor.to_owned(), files: self.code.files.clone(), kernels }
    }
}

/// Numbers paths in the order of their first use.
#[derive(Debug, Default)]
pub struct Paths {
    numbers: HashMap<String, u32>,
    paths: Vec<String>,
}

impl Paths {
    /// Returns the number of a path.
    pub fn number(&mut self, path: &str) -> u32 {
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        let number = self.paths.len() as u32;
        self.numbers.insert(path.to_owned(), number);
        self.paths.push(path.to_owned());
        number
    }

    /// Returns all paths.
    pub fn into_paths(self) -> Vec<String> {
        self.paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(card: &str) -> Code {
        Code {
            card: card.into(),
            kernels: vec![("a".into(), 0..3), ("b".into(), 3..5)],
            files: vec!["x.cu".into()],
            lines: vec![Some((0, 7)), Some((0, 8)), Some((0, 8)), None, Some((0, 9))],
        }
    }

    #[test]
    fn marks_are_of_the_kernel_that_ran_and_stay_when_the_module_is_loaded_again() {
        let marks = register(code("sm_1"), Numbering::PerKernel);
        marks[0].launched();
        marks[0].ran(1);
        let again = register(code("sm_1"), Numbering::PerKernel);
        again[1].launched();
        again[1].launched();
        again[1].ran(1);
        // A step beyond the code is not a panic in the middle of a launch.
        again[1].ran(100);
        let other = register(code("sm_2"), Numbering::PerModule);
        other[1].ran(3);
        let file = marks[0].module.to_file("cuda");
        let [a, b] = &file.kernels[..] else { panic!("{file:?}") };
        assert_eq!((a.launches, a.instructions, a.executed), (1, 3, 1));
        let line = |line, instructions, executed| LineCount { file: 0, line, instructions, executed };
        assert_eq!(a.lines, [line(7, 1, 0), line(8, 2, 1)]);
        assert_eq!((b.launches, b.instructions, b.executed), (2, 2, 1));
        assert_eq!(b.lines, [line(9, 1, 1)]);
        let file = other[0].module.to_file("rocm");
        assert_eq!(file.kernels[1].executed, 1);
        assert_eq!(file.kernels[1].lines, [line(9, 1, 0)]);
    }

    #[test]
    fn paths_have_numbers() {
        let mut paths = Paths::default();
        assert_eq!([paths.number("b"), paths.number("a"), paths.number("b")], [0, 1, 0]);
        assert_eq!(paths.into_paths(), ["b", "a"]);
    }
}
