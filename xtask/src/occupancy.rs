//! `cargo xtask kernels --resources --occupancy`: judges the compiled kernels for AMD without a
//! card. The compiler says what they use; a program of the simulated GPUs, which have the rules,
//! the decoder and the counters, says how much of a card they fill. What misses a goal needs a
//! reason in `kernels-common/resources.tsv`.

use crate::marked;
use crate::resources::{self, Row};
use crate::shell::{self, cargo, root, target_dir};
use crate::test::{FEATURES_CRATE, features_of};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The simulated architectures, for which kernels are judged.
const TARGETS: [&str; 3] = ["gfx90a", "gfx942", "gfx1100"];

/// The page with the table, and the command that writes it there.
const PAGE: &str = "docs/performance.md";
const COMMAND: &str = "cargo xtask kernels --resources --occupancy --table";

/// The file with the reasons.
const REASONS: &str = "kernels-common/resources.tsv";

/// The goals of a kernel.
const LEAST_OCCUPANCY: f64 = 0.25;
const WIDEST_ACCESS: u64 = 16;

/// A kernel for one target.
#[derive(Debug, Default, Clone)]
struct Kernel {
    target: String,
    uses: Row,
    /// The folder of its source.
    family: String,
    /// The threads of its largest block.
    threads: u64,
    /// The part of a card's waves that such blocks can fill.
    occupancy: f64,
    /// Whether launches give it shared memory that the code does not declare.
    is_dynamic: bool,
    /// The bytes of its widest load and store of global memory.
    load: u64,
    store: u64,
    /// The instructions per element, if it is for contiguous operands.
    per_element: Option<f64>,
}

/// What a kernel misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Goal {
    /// A quarter of the waves.
    Occupancy,
    /// No register that is spilled to memory.
    Spills,
    /// No scalar register that is spilled to a lane of a vector register.
    Scalars,
    /// No variable in memory.
    Memory,
    /// Accesses of 16 bytes to contiguous operands.
    Loads,
}

impl Goal {
    const ALL: [Self; 5] = [Self::Occupancy, Self::Spills, Self::Scalars, Self::Memory, Self::Loads];
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Occupancy => "occupancy",
            Self::Spills => "spills",
            Self::Scalars => "scalars",
            Self::Memory => "memory",
            Self::Loads => "loads",
        })
    }
}

impl Kernel {
    /// Returns whether it misses a goal.
    fn misses(&self, goal: Goal) -> bool {
        match goal {
            Goal::Occupancy => self.occupancy < LEAST_OCCUPANCY,
            Goal::Spills => self.uses.spills > 0,
            Goal::Scalars => self.uses.scalar_spills > 0,
            // Spills need memory, too.
            Goal::Memory => self.uses.memory > 0 && self.uses.spills == 0,
            Goal::Loads => self.per_element.is_some() && !self.has_wide_access(),
        }
    }

    /// Returns how far it is from a goal.
    fn found(&self, goal: Goal) -> String {
        match goal {
            Goal::Occupancy => format!("{:.0} % of the waves", 100. * self.occupancy),
            Goal::Spills => format!("{} registers", self.uses.spills),
            Goal::Scalars => format!("{} scalar registers", self.uses.scalar_spills),
            Goal::Memory => format!("{} bytes per thread", self.uses.memory),
            Goal::Loads => format!("loads of {} bytes, stores of {}", self.load, self.store),
        }
    }

    fn has_wide_access(&self) -> bool {
        self.load.max(self.store) >= WIDEST_ACCESS
    }
}

/// Why some kernels miss a goal.
#[derive(Debug, PartialEq, Eq)]
struct Reason {
    /// Patterns with `*`.
    target: String,
    kernel: String,
    goal: Goal,
    line: usize,
}

impl Reason {
    fn explains(&self, kernel: &Kernel, goal: Goal) -> bool {
        self.goal == goal && fits(&self.target, &kernel.target) && fits(&self.kernel, &kernel.uses.kernel)
    }
}

/// Compiles the kernels, prints and judges them, and writes the table if requested.
pub fn run(with_archs: impl Fn(Command) -> Command, table: bool) -> Result<ExitCode> {
    if std::env::var_os("ISOBIT_ROCM_ARCHS").is_none() {
        shell::tell("ISOBIT_ROCM_ARCHS", TARGETS.join(","));
    }
    let mut build = with_archs(cargo());
    let packages = ["isobit-simgpu-amd", "isobit-kernels", FEATURES_CRATE];
    build.arg("build").args(packages.iter().flat_map(|package| ["--package", package]));
    build.args(["--example", "export_code", "--example", "occupancy"]).args(features_of(&packages));
    shell::build(&mut build)?;
    let examples = target_dir().join("debug").join("examples");
    let folder = target_dir().join("kernel-code");
    shell::run(Command::new(examples.join("export_code")).arg(&folder))?;
    let printed = shell::output(Command::new(examples.join("occupancy")).args(TARGETS))?;
    let kernels = joined(uses(&folder)?, &printed)?;
    print(&kernels);
    let text = std::fs::read_to_string(root().join(REASONS)).with_context(|| format!("cannot read {REASONS}"))?;
    let is_whole = TARGETS.iter().all(|target| kernels.iter().any(|kernel| kernel.target == *target));
    let wrong = judged(&kernels, &reasons(&text)?, is_whole);
    if table {
        ensure!(is_whole, "the table needs {}: unset ISOBIT_ROCM_ARCHS", TARGETS.join(", "));
        marked::put(PAGE, COMMAND, &self::table(&kernels), false)?;
    }
    if wrong.is_empty() {
        println!("\n{} kernels: each reaches its goals or has a reason in {REASONS}", kernels.len());
        return Ok(ExitCode::SUCCESS);
    }
    println!("\nimprove these, or say in {REASONS} why they are as they should be:\n{}", wrong.join("\n"));
    Ok(ExitCode::FAILURE)
}

/// Returns what the kernels of each target use.
fn uses(folder: &Path) -> Result<Vec<(String, Row)>> {
    let mut uses = Vec::new();
    for file in resources::exported(folder)? {
        let [_, target, ending] = resources::parts(&file)?;
        if ending == "co" && TARGETS.contains(&&*target) {
            let rows = resources::of_code_object(&file).with_context(|| format!("reading {}", file.display()))?;
            uses.extend(rows.into_iter().map(|row| (target.clone(), row)));
        }
    }
    Ok(uses)
}

/// Adds what the simulators' program printed of each kernel.
fn joined(uses: Vec<(String, Row)>, printed: &str) -> Result<Vec<Kernel>> {
    let mut lines = printed.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = lines.next().context("the simulators' program prints a head")?;
    let column =
        |name: &str| head.iter().position(|column| *column == name).with_context(|| format!("no column {name}"));
    let names = ["target", "kernel", "family", "threads", "occupancy", "dynamic", "load", "store", "contiguous"];
    let columns: Vec<usize> = names.into_iter().map(column).collect::<Result<_>>()?;
    let mut judged = HashMap::new();
    for line in lines {
        let [target, kernel, values @ ..] = &columns.iter().map(|&at| line.get(at).copied()).collect::<Vec<_>>()[..]
        else {
            unreachable!("there are more names")
        };
        judged.insert((*target, *kernel), values.to_vec());
    }
    let kernel = |(target, uses): (String, Row)| {
        let read = || -> Option<Kernel> {
            let values: Option<Vec<&str>> =
                judged.get(&(Some(&*target), Some(&*uses.kernel)))?.iter().copied().collect();
            let [family, threads, occupancy, dynamic, load, store, contiguous] = values?[..] else { return None };
            Some(Kernel {
                target: target.clone(),
                uses: uses.clone(),
                family: family.into(),
                threads: threads.parse().ok()?,
                occupancy: occupancy.parse().ok()?,
                is_dynamic: dynamic == "true",
                load: load.parse().ok()?,
                store: store.parse().ok()?,
                per_element: contiguous.parse().ok(),
            })
        };
        read().with_context(|| format!("the simulators' program says nothing about {} for {target}", uses.kernel))
    };
    uses.into_iter().map(kernel).collect()
}

fn print(kernels: &[Kernel]) {
    println!(
        "{:<48} {:<8} {:>16} {:>7} {:>7} {:>7} {:>7} {:>8} {:>10} {:>5} {:>6} {:>12}",
        "kernel",
        "target",
        "registers",
        "spills",
        "scalars",
        "memory",
        "shared",
        "threads",
        "occupancy",
        "load",
        "store",
        "per element"
    );
    for kernel in kernels {
        let Row { kernel: name, spills, scalar_spills, memory, shared, .. } = &kernel.uses;
        let registers = kernel.uses.registers();
        let shared = if kernel.is_dynamic { "launch".into() } else { shared.to_string() };
        let occupancy = format!("{:.0} %", 100. * kernel.occupancy);
        let per_element = kernel.per_element.map_or_else(String::new, |count| format!("{count:.1}"));
        println!(
            "{name:<48} {:<8} {registers:>16} {spills:>7} {scalar_spills:>7} {memory:>7} {shared:>7} {:>8} \
             {occupancy:>10} {:>5} {:>6} {per_element:>12}",
            kernel.target, kernel.threads, kernel.load, kernel.store
        );
    }
}

/// Returns a line for each kernel that misses a goal without a reason, and, if all targets are
/// there, for each reason that explains nothing.
fn judged(kernels: &[Kernel], reasons: &[Reason], is_whole: bool) -> Vec<String> {
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for kernel in kernels {
        for goal in Goal::ALL.into_iter().filter(|&goal| kernel.misses(goal)) {
            let explaining: Vec<usize> =
                reasons.iter().filter(|reason| reason.explains(kernel, goal)).map(|reason| reason.line).collect();
            if explaining.is_empty() {
                let found = kernel.found(goal);
                wrong.push(format!("{}\t{}\t{goal}\t{found}", kernel.target, kernel.uses.kernel));
            }
            used.extend(explaining);
        }
    }
    let unused = reasons.iter().filter(|reason| is_whole && !used.contains(&reason.line));
    wrong.extend(unused.map(|reason| format!("{REASONS}:{}: no kernel needs this reason any more", reason.line)));
    wrong
}

/// Reads the reasons.
fn reasons(text: &str) -> Result<Vec<Reason>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    let reason = |(at, line): (usize, &str)| {
        let read = || -> Option<Reason> {
            let [target, kernel, goal, why] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
            let goal = Goal::ALL.into_iter().find(|known| known.to_string() == goal)?;
            let (target, kernel) = (target.to_string(), kernel.to_string());
            (!why.is_empty()).then_some(Reason { target, kernel, goal, line: at + 1 })
        };
        let form =
            "target, kernel, one of occupancy, spills, scalars, memory and loads, and the reason, with tabs between";
        read().with_context(|| format!("{REASONS}:{}: `{line}` is not {form}", at + 1))
    };
    lines.map(reason).collect()
}

/// Whether a text fits a pattern, in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| fits(after, &rest[at..]))
        }),
    }
}

/// Returns the table of families, in Markdown.
fn table(kernels: &[Kernel]) -> String {
    let mut groups = BTreeMap::<_, Vec<&Kernel>>::new();
    for kernel in kernels {
        let target = TARGETS.iter().position(|target| *target == kernel.target);
        groups.entry((&*kernel.family, target)).or_default().push(kernel);
    }
    let mut text = String::from(
        "| family | target | kernels | registers: median, most | spilling: vector, scalar | in memory | \
         occupancy: least, median | 16-byte accesses | instructions per element |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for ((family, _), group) in groups {
        let sorted = |value: fn(&Kernel) -> f64| {
            let mut values: Vec<f64> = group.iter().map(|kernel| value(kernel)).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let registers = sorted(|kernel| kernel.uses.registers as f64);
        let occupancy = sorted(|kernel| 100. * kernel.occupancy);
        let mut counts: Vec<f64> = group.iter().filter_map(|kernel| kernel.per_element).collect();
        counts.sort_by(f64::total_cmp);
        let number = |goal| group.iter().filter(|kernel| kernel.misses(goal)).count();
        let wide = group.iter().filter(|kernel| kernel.has_wide_access()).count();
        text.push_str(&format!(
            "| {family} | `{}` | {} | {}, {} | {}, {} | {} | {:.0} %, {:.0} % | {:.0} % | {} |\n",
            group[0].target,
            group.len(),
            median(&registers),
            registers[registers.len() - 1],
            number(Goal::Spills),
            number(Goal::Scalars),
            number(Goal::Memory),
            occupancy[0],
            median(&occupancy),
            100. * wide as f64 / group.len() as f64,
            if counts.is_empty() { String::new() } else { format!("{:.1}", median(&counts)) },
        ));
    }
    text
}

/// Returns the middle of sorted values, the lower one of two.
fn median(sorted: &[f64]) -> f64 {
    sorted[(sorted.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, target: &str) -> Kernel {
        let uses = Row { kernel: name.into(), registers: 24, ..Row::default() };
        Kernel { target: target.into(), uses, family: "unary".into(), occupancy: 1., load: 16, ..Kernel::default() }
    }

    #[test]
    fn what_both_say_of_a_kernel_is_joined() {
        let uses = vec![("gfx90a".to_string(), Row { kernel: "exp_f32".into(), memory: 8, ..Row::default() })];
        let head = "target\tkernel\tfamily\tthreads\toccupancy\tdynamic\tload\tstore\tcontiguous\n";
        let printed = format!("{head}gfx90a\texp_f32\tunary\t256\t0.875\ttrue\t16\t8\t21.50");
        let kernels = joined(uses.clone(), &printed).unwrap();
        let [Kernel { family, threads: 256, is_dynamic: true, load: 16, store: 8, uses: Row { memory: 8, .. }, .. }] =
            &kernels[..]
        else {
            panic!("{kernels:?}")
        };
        assert_eq!((&**family, kernels[0].occupancy, kernels[0].per_element), ("unary", 0.875, Some(21.5)));
        let e = joined(uses, head).unwrap_err().to_string();
        assert!(e.ends_with("nothing about exp_f32 for gfx90a"), "{e}");
    }

    #[test]
    fn a_kernel_that_misses_a_goal_needs_a_reason() {
        let slow = Kernel { occupancy: 0.125, ..kernel("matmul_f32_tile", "gfx1100") };
        let narrow = Kernel { load: 4, store: 4, per_element: Some(9.), ..kernel("exp_f32", "gfx90a") };
        let spilling = |memory| Row { spills: 3, memory, ..Row::default() };
        let spills = Kernel { uses: spilling(16), ..kernel("", "gfx942") };
        let kernels = [slow, narrow, spills, kernel("sum_f32", "gfx942")];
        let wrong = judged(&kernels, &[], true);
        assert_eq!(
            wrong,
            [
                "gfx1100\tmatmul_f32_tile\toccupancy\t12 % of the waves",
                "gfx90a\texp_f32\tloads\tloads of 4 bytes, stores of 4",
                "gfx942\t\tspills\t3 registers"
            ]
        );
        let text = "# comment\n*\tmatmul_*_tile\toccupancy\twhy\n*\texp*\tloads\twhy\ngfx942\t*\tspills\twhy\n";
        assert_eq!(judged(&kernels, &reasons(text).unwrap(), true), [""; 0]);
    }

    #[test]
    fn a_reason_that_explains_nothing_is_an_error_if_every_target_is_there() {
        let known = reasons("gfx90a\texp_f32\tspills\twhy\n").unwrap();
        let kernels = [kernel("exp_f32", "gfx90a")];
        assert_eq!(
            judged(&kernels, &known, true),
            ["kernels-common/resources.tsv:1: no kernel needs this reason any more"]
        );
        assert_eq!(judged(&kernels, &known, false), [""; 0]);
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        for line in ["*\t*\tspills", "*\t*\tspills\t", "*\t*\tspeed\twhy"] {
            let e = reasons(&format!("# head\n{line}\n")).unwrap_err().to_string();
            assert!(e.starts_with("kernels-common/resources.tsv:2: "), "{e}");
        }
        assert!(reasons(&std::fs::read_to_string(root().join(REASONS)).unwrap()).is_ok());
    }

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(fits("*", "") && fits("a*c", "abc") && fits("a*c*", "ac") && fits("*b*b", "abb"));
        assert!(!fits("a*c", "abcd") && !fits("abc", "ab") && !fits("*b*b", "ab"));
    }

    #[test]
    fn the_table_has_a_line_for_each_family_and_target() {
        let mut wide = kernel("b", "gfx90a");
        wide.uses.registers = 96;
        wide.per_element = Some(2.);
        let narrow = Kernel { load: 4, occupancy: 0.5, ..kernel("a", "gfx90a") };
        let table = table(&[kernel("c", "gfx1100"), wide, narrow]);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| unary | `gfx90a` | 2 | 24, 96 | 0, 0 | 0 | 50 %, 50 % | 50 % | 2.0 |",
                "| unary | `gfx1100` | 1 | 24, 24 | 0, 0 | 0 | 100 %, 100 % | 100 % |  |"
            ]
        );
    }
}
